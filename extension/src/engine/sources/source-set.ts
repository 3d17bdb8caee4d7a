/** The sources of a download: which of them a free connection should use. */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import { seatOrder } from '@millrace/shared/download/transfer/seats';
import { isRefusal } from '@millrace/shared/download/transfer/source-health';
import type { FetchSource } from './fetch-source.ts';
import { type HostSlots, MAX_PER_HOST, type SlotHolder } from './host-slots.ts';

/** Requests to serve per connection before a lowered limit rises by one. */
const SERVED_TO_RISE = 4;
/** Bytes that a connection has to bring to be worth asking for. */
const WORTH_BYTES = 256 * 1024;

interface Member {
  readonly source: FetchSource;
  active: number;
  /** Requests that it stands at a time, as far as it has shown. */
  limit: number;
  /** Requests that it has served since the limit changed. */
  served: number;
}

const memberOf = (source: FetchSource): Member => ({
  source,
  active: 0,
  limit: MAX_PER_HOST,
  served: 0,
});

export interface SourcesOptions {
  readonly slots: HostSlots;
  /** Whose sources they are: it has the connections. */
  readonly holder: SlotHolder;
  /** Requests at a time, to all of them. */
  readonly connections: number;
  /** Bytes that are not stored yet. */
  readonly missingBytes: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

export class Sources {
  readonly #members: Member[];
  readonly #options: SourcesOptions;
  /** Requests under way, by host (`URL.host`). */
  readonly #active = new Map<string, number>();

  constructor(sources: readonly FetchSource[], options: SourcesOptions) {
    this.#members = sources.map(memberOf);
    this.#options = options;
  }

  /** An edge more, in front of the origin. */
  add(source: FetchSource): void {
    this.#members.unshift(memberOf(source));
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
    const { slots, holder, now } = this.#options;
    const at = now();
    const isUsable = ({ health }: FetchSource) =>
      (health.usableAt() ?? Number.POSITIVE_INFINITY) <= at;
    const behindEdges = this.#members.some(
      ({ source: { edge, health } }) => edge !== undefined && health.quarantine === undefined,
    );
    // Edges without a connection for this download are no help to it.
    const edgesWork = this.#members.some(
      ({ source, active }) =>
        source.edge !== undefined &&
        (active > 0 || isUsable(source)) &&
        !this.#isCrowdedOut(source),
    );
    const helps = ({ edge }: FetchSource) => edge !== undefined || !edgesWork || lifeless;
    this.#claim((source) => isUsable(source) && helps(source));
    const seats = this.#members.map(({ source, active, limit }) => ({
      tier: behindEdges && source.edge === undefined ? (1 as const) : (0 as const),
      usable: isUsable(source) && !this.#isCrowdedOut(source),
      active,
      limit: Math.min(limit, active + slots.room(holder, source.host)),
      source,
    }));
    return seatOrder(seats, lifeless).map(({ source }) => source);
  }

  /** An edge all of whose connections others have at present. */
  #isCrowdedOut({ edge, host }: FetchSource): boolean {
    const { slots, holder } = this.#options;
    return edge !== undefined && slots.isCrowdedOut(holder, host);
  }

  /** Says how many connections to each host could be used now. */
  #claim(isAsked: (source: FetchSource) => boolean): void {
    const { slots, holder, connections, missingBytes } = this.#options;
    const worth = Math.max(1, Math.ceil(missingBytes() / WORTH_BYTES));
    const all = [...this.#active.values()].reduce((sum, active) => sum + active, 0);
    const wanted = new Map([...this.#active.keys()].map((host) => [host, 0]));
    for (const { source, limit } of this.#members) {
      const before = wanted.get(source.host) ?? 0;
      wanted.set(source.host, before + (isAsked(source) ? limit : 0));
    }
    for (const [host, most] of wanted) {
      const active = this.#active.get(host) ?? 0;
      const free = connections - (all - active);
      const useful = Math.max(active, Math.min(most, worth, free));
      if (!this.#active.has(host)) this.#active.set(host, 0);
      slots.claim(holder, host, useful);
    }
  }

  /** When a source can be asked again at the earliest; undefined: never. */
  nextUsableAt(): Millis | undefined {
    const times = this.all.flatMap(({ health }) => health.usableAt() ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** A request begins. @returns false where there is no connection for it */
  started(source: FetchSource): boolean {
    const { slots, holder } = this.#options;
    const { host } = source;
    if (!slots.take(holder, host)) return false;
    this.#member(source).active++;
    this.#active.set(host, (this.#active.get(host) ?? 0) + 1);
    return true;
  }

  /**
   * @param host that it was sent to
   * @param served true if the request brought all that it was for
   */
  ended(source: FetchSource, host: string, served: boolean): void {
    const { slots, holder } = this.#options;
    const member = this.#member(source);
    member.active--;
    this.#active.set(host, (this.#active.get(host) ?? 0) - 1);
    slots.release(holder, host);
    if (!served || ++member.served < member.limit * SERVED_TO_RISE) return;
    member.served = 0;
    member.limit = Math.min(MAX_PER_HOST, member.limit + 1);
  }

  /** A request has failed: what follows for the source. */
  onFailure(source: FetchSource, error: MillraceError, gotBytes: boolean): void {
    const member = this.#member(source);
    const crowded = source.receivedBytes > 0 && member.active > 1;
    source.health.onFailure(error, gotBytes, this.#options.now(), crowded);
    if (!isRefusal(error)) return;
    // It has too much to do: it gets one request less at a time than it had.
    member.limit = Math.max(1, Math.min(member.limit, member.active) - 1);
    member.served = 0;
  }

  /** Nothing is fetched any more. */
  leave(): void {
    this.#options.slots.leave(this.#options.holder);
    this.#active.clear();
  }

  /** The network may have come back: whoever could not be reached is worth a try. */
  retryNow(): void {
    for (const { health } of this.all) health.retryNow(this.#options.now());
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
