/** The sources of a download: which of them a free connection should use. */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import { seatOrder } from '@millrace/shared/download/seats';
import { isRefusal } from '@millrace/shared/download/source-health';
import type { FetchSource } from './fetch-source.ts';

/**
 * Requests to one host at a time, over all downloads. Browsers have six connections per host; one is
 * left, so that a proof does not wait behind what is being fetched.
 */
export const MAX_PER_HOST = 5;
/** So many served requests per connection let a limit that was lowered rise by one again. */
const SERVED_TO_RISE = 4;

/** Requests under way by host (`URL.host`), shared by all downloads. */
export class HostSlots {
  readonly #active = new Map<string, number>();

  active(host: string): number {
    return this.#active.get(host) ?? 0;
  }

  change(host: string, by: 1 | -1): void {
    const active = this.active(host) + by;
    if (active > 0) this.#active.set(host, active);
    else this.#active.delete(host);
  }
}

interface Member {
  readonly source: FetchSource;
  active: number;
  /** Requests that it stands at a time, as far as it has shown. */
  limit: number;
  /** Requests that it has served since the limit changed. */
  served: number;
}

export class Sources {
  readonly #members: Member[];
  readonly #slots: HostSlots;
  readonly #now: () => Millis;

  constructor(sources: readonly FetchSource[], slots: HostSlots, now: () => Millis) {
    this.#members = sources.map((source) => ({
      source,
      active: 0,
      limit: MAX_PER_HOST,
      served: 0,
    }));
    this.#slots = slots;
    this.#now = now;
  }

  get all(): readonly FetchSource[] {
    return this.#members.map(({ source }) => source);
  }

  /**
   * The sources to ask now, best first: edges, and the origin where they fail.
   *
   * @param lifeless true if no byte has come for so long that the origin should help its edges
   */
  candidates(lifeless: boolean): FetchSource[] {
    const now = this.#now();
    const edges = this.#members.some(
      ({ source: { edge, health } }) => edge !== undefined && health.quarantine === undefined,
    );
    const seats = this.#members.map(({ source, active, limit }) => {
      const at = source.health.usableAt();
      const { host } = source.target;
      return {
        tier: edges && source.edge === undefined ? (1 as const) : (0 as const),
        usable: at !== undefined && at <= now,
        active,
        limit: Math.min(limit, active + MAX_PER_HOST - this.#slots.active(host)),
        source,
      };
    });
    return seatOrder(seats, lifeless).map(({ source }) => source);
  }

  /** When a source can be asked again at the earliest; undefined: never. */
  nextUsableAt(): Millis | undefined {
    const times = this.all.flatMap(({ health }) => health.usableAt() ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  started(source: FetchSource): void {
    this.#member(source).active++;
    this.#slots.change(source.target.host, 1);
  }

  /** @param served true if the request brought all that it was for */
  ended(source: FetchSource, served: boolean): void {
    const member = this.#member(source);
    member.active--;
    this.#slots.change(source.target.host, -1);
    if (!served || ++member.served < member.limit * SERVED_TO_RISE) return;
    member.served = 0;
    member.limit = Math.min(MAX_PER_HOST, member.limit + 1);
  }

  /** A request has failed: what follows for the source. */
  onFailure(source: FetchSource, error: MillraceError, gotBytes: boolean): void {
    const member = this.#member(source);
    const crowded = source.receivedBytes > 0 && member.active > 1;
    source.health.onFailure(error, gotBytes, this.#now(), crowded);
    if (!isRefusal(error)) return;
    // It has too much to do: it gets one request less at a time than it had.
    member.limit = Math.max(1, Math.min(member.limit, member.active) - 1);
    member.served = 0;
  }

  /** The network may have come back: whoever could not be reached is worth a try. */
  retryNow(): void {
    for (const { health } of this.all) health.retryNow(this.#now());
  }

  /** Why nothing can be asked any more: the origin's word counts for more than its edges'. */
  failure(): MillraceError | undefined {
    const reasons = this.all.map(({ edge, health }) => ({ edge, error: health.quarantine }));
    const own = reasons.find(({ edge }) => edge === undefined);
    return own?.error ?? reasons.find(({ error }) => error !== undefined)?.error;
  }

  #member(source: FetchSource): Member {
    return this.#members.find((member) => member.source === source) as Member;
  }
}
