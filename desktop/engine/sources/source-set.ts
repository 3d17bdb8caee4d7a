/** The sources of a download: which a free connection should use, and what people see of them. */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { SourceStatus } from '@millrace/shared/bridge/rpc/detail-api';
import { RateMeter } from '@millrace/shared/download/figures/rate-meter';
import { seatOrder } from '@millrace/shared/download/transfer/seats';
import { isRefusal, teachesLimit } from '@millrace/shared/download/transfer/source-health';
import type { HttpSource } from './http-source.ts';

/** Learned per-host concurrency, shared by all downloads of a process and remembered. */
export interface HostLimits {
  /** Most requests at a time that the host (`URL.host`) stands, as far as has been learned. */
  limit(host: string): number;
  /** The host refused one of `active` requests at a time. */
  onRefused(host: string, active: number, retryAfterMs?: number): void;
  /** The host served `active` requests at a time. */
  onServed(host: string, active: number): void;
}

interface Member {
  readonly source: HttpSource;
  readonly host: string;
  readonly meter: RateMeter;
  /** Requests under way. */
  active: number;
  /** Requests that it stands at a time, as far as it has shown. */
  limit: number;
  /** Requests in a row that it has served since the limit changed. */
  served: number;
  /** Connections that broke after bytes had come. */
  resets: number;
}

/** So many served requests per connection let a limit that was lowered rise by one again. */
const SERVED_TO_RISE = 4;

export class SourceSet {
  readonly #members: Member[] = [];
  readonly #perHost: number;
  readonly #hosts: HostLimits | undefined;
  readonly #now: () => Millis;

  /** @param perHost requests to one host at a time */
  constructor(perHost: number, hosts: HostLimits | undefined, now: () => Millis) {
    this.#perHost = perHost;
    this.#hosts = hosts;
    this.#now = now;
  }

  get sources(): readonly HttpSource[] {
    return this.#members.map(({ source }) => source);
  }

  add(source: HttpSource): void {
    const { host } = source.requestUrl;
    const meter = new RateMeter(this.#now());
    this.#members.push({
      source,
      host,
      meter,
      active: 0,
      limit: this.#perHost,
      served: 0,
      resets: 0,
    });
  }

  /**
   * The sources to ask now, best first: those shown to have the file, that may be asked, with
   * fewer requests under way than they stand.
   *
   * @param lifeless true if no byte has come for so long that the origin should help its edges
   */
  candidates(lifeless: boolean): HttpSource[] {
    const now = this.#now();
    const edges = this.#members.some(({ source }) => source.kind === 'edge');
    const seats = this.#members
      .filter(({ source }) => source.version !== undefined)
      .map((member) => {
        const at = member.source.health.usableAt();
        return {
          tier: edges && member.source.kind === 'origin' ? (1 as const) : (0 as const),
          usable: at !== undefined && at <= now,
          active: member.active,
          limit: this.#limitOf(member),
          source: member.source,
        };
      });
    return seatOrder(seats, lifeless).map(({ source }) => source);
  }

  /** When a source can be asked again at the earliest; undefined: never. */
  nextUsableAt(): Millis | undefined {
    const times = this.#members.flatMap(({ source }) => source.health.usableAt() ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** True if every source that is left cannot be reached at all: it may be the network. */
  get allDown(): boolean {
    const left = this.#members.filter(({ source }) => source.health.quarantine === undefined);
    return left.length > 0 && left.every(({ source }) => source.health.isDown);
  }

  /** True if every source that is left refuses connections or has no name that exists. */
  get allServersAway(): boolean {
    const left = this.#members.filter(({ source }) => source.health.quarantine === undefined);
    return left.length > 0 && left.every(({ source }) => source.health.isServerAway);
  }

  /** Requests under way at a source. */
  active(source: HttpSource): number {
    return this.#member(source).active;
  }

  started(source: HttpSource): void {
    this.#member(source).active++;
  }

  /** @param served true if the request brought all that it was for */
  ended(source: HttpSource, served: boolean): void {
    const member = this.#member(source);
    if (served) {
      this.#hosts?.onServed(member.host, member.active);
      if (++member.served >= member.limit * SERVED_TO_RISE && member.limit < this.#perHost) {
        member.limit++;
        member.served = 0;
      }
    }
    member.active--;
  }

  onBytes(source: HttpSource, count: number): void {
    source.receivedBytes += count;
    this.#member(source).meter.add(count);
  }

  /** A request has failed: what follows for the source. */
  onFailure(source: HttpSource, error: MillraceError, gotBytes: boolean): void {
    const member = this.#member(source);
    if (gotBytes && error.row.again === 'at once') member.resets++;
    const crowded = source.receivedBytes > 0 && member.active > 1;
    source.health.onFailure(error, gotBytes, this.#now(), crowded);
    if (teachesLimit(error, crowded)) {
      this.#hosts?.onRefused(member.host, member.active, error.retryAfterMs);
    }
    if (!isRefusal(error)) return;
    // It has too much to do: it gets one request less at a time than it had.
    member.limit = Math.max(1, Math.min(member.limit, member.active) - 1);
    member.served = 0;
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

  status(): SourceStatus[] {
    const now = this.#now();
    return this.#members.map(({ source, meter, active, resets }) => {
      const { health, label, url, kind, receivedBytes, rttMs } = source;
      const reason = health.quarantine ?? health.lastFailure;
      return {
        label,
        url,
        kind,
        state: stateOf(source, now),
        ...(reason === undefined ? {} : { reason: reason.message, reasonCode: reason.code }),
        ...(rttMs === undefined ? {} : { rttMs }),
        resets,
        bytesPerSecond: meter.bytesPerSecond(now),
        receivedBytes,
        connections: active,
      };
    });
  }

  #limitOf(member: Member): number {
    const learned = this.#hosts?.limit(member.host) ?? this.#perHost;
    // Several sources may be at one host: they share what it stands.
    const others = this.#members
      .filter((other) => other !== member && other.host === member.host)
      .reduce((sum, { active }) => sum + active, 0);
    return Math.max(0, Math.min(member.limit, Math.max(1, learned), this.#perHost) - others);
  }

  #member(source: HttpSource): Member {
    return this.#members.find((m) => m.source === source) as Member;
  }
}

function stateOf(source: HttpSource, now: Millis): SourceStatus['state'] {
  if (source.health.quarantine !== undefined) return 'quarantined';
  if (source.health.isResting(now)) return 'resting';
  return source.version === undefined ? 'trying' : 'used';
}
