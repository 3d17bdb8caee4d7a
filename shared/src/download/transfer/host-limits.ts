/**
 * Learns from refusals how many requests at a time each host accepts: 429 and 503 lower the
 * number, long good service raises it slowly, and it is remembered. Additive increase,
 * multiplicative decrease, as for windows (NSDI 3.3), but over minutes and days.
 */

import type { Millis } from '../../base/clock.ts';

/** Knowledge of one host. */
export interface HostLimit {
  readonly host: string;
  /** Requests at a time. */
  readonly limit: number;
  /** When the host refused last, Unix milliseconds. */
  readonly refusedAt: Millis;
  /** When the limit last changed, Unix milliseconds. */
  readonly changedAt: Millis;
  /** When the host may be asked again (Retry-After), Unix milliseconds. */
  readonly restsUntil: Millis;
}

/** Highest limit for any host, requests at a time. */
export const MAX_PER_HOST = 32;
/** Most hosts remembered; the host that refused longest ago is forgotten first. */
export const MAX_HOSTS = 1000;
/** Time within which further refusals count as one: hosts refuse connections in bunches. */
const BUNCH_MS = 2000;
/** Time of good service at the limit before one more request is tried. */
const RAISE_AFTER_MS = 60_000;
/** Age at which a host's refusal no longer counts. */
const FORGET_AFTER_MS = 14 * 24 * 3600_000;
/** Longest rest that is granted to a host. */
const MAX_REST_MS = 24 * 3600_000;

type Mutable = { -readonly [K in keyof HostLimit]: HostLimit[K] };

export class LearnedHostLimits {
  readonly #hosts = new Map<string, Mutable>();

  /** @param known remembered entries; impossible ones are skipped */
  constructor(known: Iterable<HostLimit> = []) {
    for (const entry of known) {
      const limit = Math.floor(entry.limit);
      if (limit >= 1 && limit <= MAX_PER_HOST && this.#hosts.size < MAX_HOSTS) {
        this.#hosts.set(entry.host, { ...entry, limit });
      }
    }
  }

  /** Copies of all entries, to store and to show. */
  get known(): readonly HostLimit[] {
    return [...this.#hosts.values()].map((entry) => ({ ...entry }));
  }

  get(host: string): HostLimit | undefined {
    return this.#hosts.get(host);
  }

  /** Returns the most requests at a time that the host accepts, 1 to MAX_PER_HOST. */
  limit(host: string, now: Millis): number {
    const entry = this.#hosts.get(host);
    if (entry === undefined) return MAX_PER_HOST;
    const stale = now - Math.max(entry.refusedAt, entry.changedAt) > FORGET_AFTER_MS;
    return stale ? MAX_PER_HOST : entry.limit;
  }

  /** Returns when the host may be asked again: the end of its Retry-After, or now. */
  restsUntil(host: string, now: Millis): Millis {
    // An entry noted while the clock was wrong must not block downloads for ever.
    const until = this.#hosts.get(host)?.restsUntil ?? 0;
    return until > now + MAX_REST_MS ? now : Math.max(now, until);
  }

  /**
   * Notes that the host refused a request as one too many (429, 503, or a refused connection).
   *
   * @param active requests at that host at that time, this one included
   * @returns true if something changed that is worth remembering
   */
  onRefused(host: string, active: number, now: Millis, retryAfterMs = 0): boolean {
    // A refusal of the only request cannot be about the number of requests.
    if (active <= 1 && retryAfterMs <= 0) return false;
    const entry = this.#hosts.get(host) ?? this.#create(host, now);
    if (retryAfterMs > 0) {
      const rest = now + Math.min(MAX_REST_MS, retryAfterMs);
      entry.restsUntil = Math.max(this.restsUntil(host, now), rest);
    }
    const bunch = now >= entry.refusedAt && now - entry.refusedAt < BUNCH_MS;
    if (active <= 1 || bunch) return retryAfterMs > 0;
    entry.limit = Math.max(1, Math.floor(Math.min(entry.limit, active) / 2));
    entry.refusedAt = now;
    entry.changedAt = now;
    return true;
  }

  /**
   * Notes that the host served a request completely.
   *
   * @param active requests at that host at that time, this one included
   * @returns true if something changed that is worth remembering
   */
  onServed(host: string, active: number, now: Millis): boolean {
    const entry = this.#hosts.get(host);
    if (entry === undefined) return false;
    // Service below the limit shows nothing about higher limits.
    if (active < entry.limit || entry.limit >= MAX_PER_HOST) return false;
    if (now < entry.changedAt) entry.changedAt = now;
    if (now - entry.changedAt < RAISE_AFTER_MS) return false;
    entry.limit++;
    entry.changedAt = now;
    return true;
  }

  /** Forgets one host, or all. */
  forget(host?: string): void {
    if (host === undefined) this.#hosts.clear();
    else this.#hosts.delete(host);
  }

  #create(host: string, now: Millis): Mutable {
    if (this.#hosts.size >= MAX_HOSTS) {
      let oldest: Mutable | undefined;
      for (const entry of this.#hosts.values()) {
        if (oldest === undefined || entry.refusedAt < oldest.refusedAt) oldest = entry;
      }
      if (oldest !== undefined) this.#hosts.delete(oldest.host);
    }
    const entry = { host, limit: MAX_PER_HOST, refusedAt: 0, changedAt: now, restsUntil: 0 };
    this.#hosts.set(host, entry);
    return entry;
  }
}
