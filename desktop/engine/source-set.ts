/** The sources of a download, and which of them a free connection should use. */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { HttpSource } from './http-source.ts';

interface Member {
  readonly source: HttpSource;
  /** Requests under way. */
  active: number;
  /** Requests that it stands at a time, as far as it has shown. */
  limit: number;
}

export class SourceSet {
  readonly #members: Member[];

  /** @param sources best first: one is used only while none before it can be */
  constructor(sources: readonly HttpSource[], connections: number) {
    this.#members = sources.map((source) => ({ source, active: 0, limit: connections }));
  }

  get sources(): readonly HttpSource[] {
    return this.#members.map(({ source }) => source);
  }

  /**
   * A source to ask now; edges share the work, the origin comes in only where no edge can.
   *
   * @returns undefined while all rest or have as many requests as they stand
   */
  pick(now: Millis): HttpSource | undefined {
    const usable = this.#members.filter(({ source, active, limit }) => {
      const at = source.health.usableAt();
      return at !== undefined && at <= now && active < limit;
    });
    const edges = usable.filter(({ source }) => source.edge !== undefined);
    const busyEdge = this.#members.some(
      ({ source, active }) => source.edge !== undefined && active > 0,
    );
    const candidates = edges.length > 0 || busyEdge ? edges : usable;
    candidates.sort((a, b) => a.active - b.active);
    return candidates[0]?.source;
  }

  /** When a source can be asked again at the earliest; undefined: never. */
  nextUsableAt(): Millis | undefined {
    const times = this.#members.flatMap(({ source }) => source.health.usableAt() ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  started(source: HttpSource): void {
    this.#member(source).active++;
  }

  ended(source: HttpSource): void {
    this.#member(source).active--;
  }

  /** The source has too much to do: it gets one request less at a time than it had. */
  onBusy(source: HttpSource): void {
    const member = this.#member(source);
    member.limit = Math.max(1, Math.min(member.limit, member.active) - 1);
  }

  /** What to tell the user when nothing can be asked any more: what the best source said. */
  failure(): MillraceError | undefined {
    const healths = this.#members.map(({ source }) => source.health);
    const reasons = healths
      .map((h) => h.quarantine ?? h.lastFailure)
      .filter((e) => e !== undefined);
    // What the origin itself says tells more than that an edge is out of reach.
    return reasons.find((e) => e.code.startsWith('origin-') && !e.row.retryable) ?? reasons.at(-1);
  }

  #member(source: HttpSource): Member {
    return this.#members.find((m) => m.source === source) as Member;
  }
}
