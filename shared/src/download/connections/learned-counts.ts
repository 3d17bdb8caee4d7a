/** Remembers how many connections downloads from each host have needed, so that the next begin there. */

import type { Millis } from '../../base/clock.ts';

/** Most hosts remembered; the host that was used longest ago is forgotten first. */
const MAX_HOSTS = 1000;
/** Age at which a count no longer says anything: the user may be on another line by then. */
const FORGET_AFTER_MS = 3600_000;

export class LearnedCounts {
  /** Counts by `URL.host`, in the order in which they were noted. */
  readonly #hosts = new Map<string, { readonly count: number; readonly at: Millis }>();

  /** Returns the connections that downloads from the host needed lately; undefined: unknown. */
  needed(host: string, now: Millis): number | undefined {
    const entry = this.#hosts.get(host);
    if (entry === undefined || now < entry.at || now - entry.at > FORGET_AFTER_MS) return undefined;
    return entry.count;
  }

  /** Notes the connections that a download from the host has needed. */
  onNeeded(host: string, count: number, now: Millis): void {
    this.#hosts.delete(host);
    this.#hosts.set(host, { count, at: now });
    if (this.#hosts.size <= MAX_HOSTS) return;
    const [oldest] = this.#hosts.keys();
    if (oldest !== undefined) this.#hosts.delete(oldest);
  }
}
