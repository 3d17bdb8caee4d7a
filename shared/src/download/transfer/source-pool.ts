/**
 * Keeps the sources of a download: decides which source a free connection should use, how many
 * requests at a time each source gets, and what follows from a failure (LOCI 3.2.1; ANYCAST 3.1.1;
 * NSDI 3.3).
 */

import { shownRanges } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import { seatOrder } from './seats.ts';
import { isRefusal, teachesLimit } from './source-health.ts';
import type { TransferSource } from './transfer-source.ts';

/** The requests that a download has, and could have, at a host. */
export interface HostDemand {
  /** `URL.host`. */
  readonly host: string;
  /** Requests of the download under way. */
  readonly active: number;
  /** Requests at a time that its usable sources accept together. */
  readonly wanted: number;
}

/** Limits the requests of one download to its share of what each host accepts. */
export interface Seats {
  /** Most requests to one source at a time. */
  readonly perSource: number;
  /**
   * Returns how many more requests the download may have at a host beside the `active` ones under
   * way; below 0: it has too many.
   */
  room(host: string, active: number): number;
  /** Takes a connection for a new request. @returns false if none is free */
  take(host: string): boolean;
  /** Gives back the connection of a request that has ended. */
  release(host: string): void;
  /** Returns true if other downloads have all connections to the host that this one could use. */
  isCrowdedOut?(host: string): boolean;
  /** Told the demand at each host, before sources are chosen. */
  claim?(demands: readonly HostDemand[]): void;
  /** Notes that the host served a request while `active` requests were under way. */
  onServed?(host: string, active: number): void;
  /** Notes that the host refused a request while `active` requests were under way. */
  onRefused?(host: string, active: number, retryAfterMs: Millis | undefined): void;
}

interface Member {
  /** Requests under way. */
  active: number;
  /** Requests that it accepts at a time, as far as is known. */
  limit: number;
  /** Requests that it has served since its limit changed. */
  served: number;
}

/** Requests to serve per connection before a lowered limit rises by one. */
const SERVED_TO_RISE = 4;

export class SourcePool<S extends TransferSource> {
  readonly #members = new Map<S, Member>();
  readonly #seats: Seats;
  /** Monotonic milliseconds. */
  protected readonly now: () => Millis;
  /** Requests under way, by the host that they were sent to. */
  readonly #atHost = new Map<string, number>();

  constructor(seats: Seats, now: () => Millis) {
    this.#seats = seats;
    this.now = now;
  }

  get sources(): readonly S[] {
    return [...this.#members.keys()];
  }

  /** The sources that have been shown to hold the file. */
  get admitted(): readonly S[] {
    return this.sources.filter(({ isAdmitted }) => isAdmitted);
  }

  /** Number of sources that share the work: not the origin while edges stand before it. */
  get inUse(): number {
    const working = this.admitted.filter(({ health }) => health.quarantine === undefined);
    const edges = working.filter(({ kind }) => kind === 'edge').length;
    return edges === 0 ? working.length : working.filter(({ kind }) => kind !== 'origin').length;
  }

  add(source: S): void {
    this.#members.set(source, { active: 0, limit: this.#mostRequests(source), served: 0 });
  }

  /**
   * Returns the sources to ask now, best first: usable ones with fewer requests under way than they
   * accept. The origin comes after its edges unless all of them are quarantined.
   *
   * @param lifeless true if no byte has come for so long that the origin should help its edges
   */
  candidates(lifeless: boolean): S[] {
    const now = this.now();
    const isEdge = ({ kind }: S) => kind === 'edge';
    const behindEdges = this.sources.some(
      (source) => isEdge(source) && source.health.quarantine === undefined,
    );
    this.#claim(now, lifeless);
    const seats = this.admitted.map((source) => {
      const { active, limit } = this.#member(source);
      return {
        tier: behindEdges && source.kind === 'origin' ? (1 as const) : (0 as const),
        usable: isUsable(source, now) && !this.#isCrowdedOut(source),
        active,
        limit: Math.min(limit - this.#othersAt(source), active + this.#room(source.host)),
        source,
      };
    });
    return seatOrder(seats, lifeless).map(({ source }) => source);
  }

  /** Returns the earliest time at which a source can be asked; undefined: never. */
  nextUsableAt(): Millis | undefined {
    const times = this.sources.flatMap(({ health }) => health.usableAt() ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Returns the earliest time at which the rest of a source ends; undefined: none rests. */
  nextRestEnd(): Millis | undefined {
    const now = this.now();
    const times = this.sources.flatMap(({ health }) =>
      health.isResting(now) ? (health.usableAt() ?? []) : [],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** True if every remaining source is unreachable: the network may be the cause. */
  get allDown(): boolean {
    return this.#allLeft(({ health }) => health.isDown);
  }

  /** True if every remaining source refuses connections or has an unknown name. */
  get allServersAway(): boolean {
    return this.#allLeft(({ health }) => health.isServerAway);
  }

  /** Returns the number of requests under way at a source. */
  active(source: S): number {
    return this.#member(source).active;
  }

  /** Counts a new request. @returns the host that it goes to; undefined: no connection is free */
  started(source: S): string | undefined {
    const { host } = source;
    if (!this.#seats.take(host)) return undefined;
    this.#member(source).active++;
    this.#atHost.set(host, this.#activeAt(host) + 1);
    return host;
  }

  /**
   * Counts a request that has ended.
   *
   * @param host that the request was sent to
   * @param served true if the request brought all its bytes
   */
  ended(source: S, host: string, served: boolean): void {
    const member = this.#member(source);
    if (served) {
      this.#seats.onServed?.(host, member.active);
      const most = this.#mostRequests(source);
      if (++member.served >= member.limit * SERVED_TO_RISE && member.limit < most) {
        member.limit++;
        member.served = 0;
      }
    }
    member.active--;
    this.#atHost.set(host, this.#activeAt(host) - 1);
    this.#seats.release(host);
  }

  /** Counts bytes as they come in. */
  onBytes(source: S, count: number): void {
    source.receivedBytes += count;
  }

  /**
   * Notes a failed request: lowers the limit of a source that is busy, rests or quarantines it.
   *
   * @param isThere true if the source has sent something since the request was made
   */
  onFailure(source: S, error: MillraceError, isThere: boolean): void {
    const member = this.#member(source);
    const crowded = source.receivedBytes > 0 && member.active > 1;
    source.health.onFailure(error, isThere, this.now(), crowded);
    if (teachesLimit(error, crowded)) {
      this.#seats.onRefused?.(source.host, member.active, error.retryAfterMs);
    }
    if (!isRefusal(error)) return;
    // The source is busy: it gets one request less at a time than it had.
    member.limit = Math.max(1, Math.min(member.limit, member.active) - 1);
    member.served = 0;
  }

  /** Ends the rests of unreachable sources, because the network may be back. */
  retryNow(): void {
    for (const { health } of this.sources) health.retryNow(this.now());
  }

  /** Returns the reason to show to the user once no source can be asked any more. */
  failure(): MillraceError | undefined {
    const { sources } = this;
    const own = sources.find(({ kind }) => kind === 'origin')?.health.quarantine;
    if (own !== undefined) return own;
    const reasons = sources
      .map(({ health }) => health.quarantine ?? health.lastFailure)
      .filter((error) => error !== undefined);
    // The origin's own refusal is more informative than an unreachable edge.
    return reasons.find((e) => e.code.startsWith('origin-') && !e.row.retryable) ?? reasons.at(-1);
  }

  /**
   * Returns the reason to end if no source that may be asked again has the missing bytes; undefined:
   * one has some of them, or may soon have some.
   */
  restMissing(scheduler: Pick<Scheduler, 'canBring' | 'missing'>): MillraceError | undefined {
    const left = this.sources.filter(({ health }) => health.quarantine === undefined);
    const mayBring = (source: S) =>
      !source.isAdmitted || source.mayHaveMore || scheduler.canBring(source.id);
    if (left.some(mayBring)) return undefined;
    const ranges = scheduler.missing({ start: 0, end: Infinity });
    return this.failure() ?? new MillraceError('rest-missing', shownRanges(ranges));
  }

  /** Tells the seats how many connections to each host could be used now. */
  #claim(now: Millis, lifeless: boolean): void {
    const { claim } = this.#seats;
    if (claim === undefined) return;
    const isEdge = ({ kind }: S) => kind === 'edge';
    // An edge without a free connection for this download cannot help it.
    const edgesWork = this.sources.some(
      (source) =>
        isEdge(source) &&
        (this.active(source) > 0 || isUsable(source, now)) &&
        !this.#isCrowdedOut(source),
    );
    const wanted = new Map([...this.#atHost.keys()].map((host) => [host, 0]));
    for (const source of this.admitted) {
      const asked = isUsable(source, now) && (isEdge(source) || !edgesWork || lifeless);
      const limit = asked ? this.#member(source).limit : 0;
      wanted.set(source.host, (wanted.get(source.host) ?? 0) + limit);
    }
    const demands: HostDemand[] = [];
    for (const [host, most] of wanted) {
      const active = this.#activeAt(host);
      // Keep the host: if its source moves, the next claim must say that nothing is wanted here.
      this.#atHost.set(host, active);
      demands.push({ host, active, wanted: most });
    }
    claim.call(this.#seats, demands);
  }

  /** Returns true for an edge whose connections are all in use by other downloads. */
  #isCrowdedOut({ kind, host }: S): boolean {
    return kind === 'edge' && this.#seats.isCrowdedOut?.(host) === true;
  }

  #room(host: string): number {
    return this.#seats.room(host, this.#activeAt(host));
  }

  /** Counts the requests to other sources at the same host, which share its limit. */
  #othersAt(source: S): number {
    let others = 0;
    for (const [other, { active }] of this.#members) {
      if (other !== source && other.host === source.host) others += active;
    }
    return others;
  }

  #activeAt(host: string): number {
    return this.#atHost.get(host) ?? 0;
  }

  #allLeft(test: (source: S) => boolean): boolean {
    const left = this.sources.filter(({ health }) => health.quarantine === undefined);
    return left.length > 0 && left.every(test);
  }

  #mostRequests({ mostRequests = Infinity }: S): number {
    return Math.min(this.#seats.perSource, mostRequests);
  }

  #member(source: S): Member {
    return this.#members.get(source) as Member;
  }
}

function isUsable({ health }: TransferSource, now: Millis): boolean {
  return (health.usableAt() ?? Number.POSITIVE_INFINITY) <= now;
}
