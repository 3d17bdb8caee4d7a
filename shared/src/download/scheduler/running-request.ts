/** The scheduler's view of a range request under way, and sums over all requests. */

import { type ByteRange, RangeSet, rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { StoredMap } from '../journal/stored-map.ts';
import { type Forecast, RequestRate } from './forecast.ts';

/** Bytes that a connection is to ask for. */
export interface Choice {
  readonly range: ByteRange;
  readonly redundant: boolean;
  /** True if it goes on until another connection asks for bytes. */
  readonly isOpenEnded?: boolean;
}

/** One range request that a connection is to make. */
export interface Assignment {
  readonly source: string;
  /** The bytes to ask for. */
  readonly range: ByteRange;
  /** Stop reading here: less than `range.end` once another request has taken over the rest. */
  readonly end: number;
  /** True if another request is fetching the same bytes already. */
  readonly redundant: boolean;
}

export class RunningRequest implements Assignment {
  readonly source: string;
  readonly range: ByteRange;
  readonly redundant: boolean;
  readonly rate: RequestRate;
  readonly startedAt: Millis;
  /** When it should be done, as forecast when it began. */
  readonly dueAt: Millis;
  /** Requests for later bytes that have been completed meanwhile (LOCI 3.2). */
  overtaken = 0;
  /** True if it has no bytes left to fetch, so that its connection should end. */
  obsolete = false;
  /** True if it goes on until another connection asks for bytes. */
  isOpenEnded: boolean;
  /** True once the caller has been told to end its connection. */
  told = false;
  #end: number;
  #position: number;
  /** Bytes that came in ahead of `position`, from bodies that are not in order. */
  readonly #ahead = new RangeSet();

  constructor(
    source: { readonly id: string; readonly forecast: Forecast },
    { range, redundant, isOpenEnded = false }: Choice,
    expectedMs: Millis,
    now: Millis,
  ) {
    this.source = source.id;
    this.range = range;
    this.redundant = redundant;
    this.isOpenEnded = isOpenEnded;
    this.rate = new RequestRate(source.forecast, now);
    this.startedAt = now;
    this.dueAt = now + expectedMs;
    this.#end = range.end;
    this.#position = range.start;
  }

  get end(): number {
    return this.#end;
  }

  /** The first byte that it has not brought yet. */
  get position(): number {
    return this.#position;
  }

  /** Notes that it has brought these bytes. */
  advance(range: ByteRange, now: Millis): void {
    this.rate.add(rangeBytes(range), now);
    if (range.start === this.#position && this.#ahead.bytes === 0) {
      this.#position = range.end;
      return;
    }
    this.#ahead.add(range);
    const front = this.#ahead.ranges.find((r) => r.end > this.#position);
    if (front === undefined || front.start > this.#position) return;
    this.#position = front.end;
    this.#ahead.remove({ start: 0, end: front.end });
  }

  /** Shortens it, because another request takes over everything from `end` on. */
  cutAt(end: number): void {
    if (end >= this.#end) return;
    this.#end = Math.max(end, this.#position);
    if (this.#end <= this.#position) this.obsolete = true;
  }
}

/** Counts the bytes that both requests will bring. */
export function sharedBytes(a: RunningRequest, b: RunningRequest): number {
  return Math.max(0, Math.min(a.end, b.end) - Math.max(a.position, b.position));
}

/**
 * Counts the bytes that may still come in twice if no request is ended early: bytes that a request
 * will bring although they are stored, and bytes that two requests will both bring.
 */
export function redundantBytesToCome(
  requests: readonly RunningRequest[],
  stored: StoredMap,
): number {
  let sum = 0;
  for (const [i, request] of requests.entries()) {
    const { position, end } = request;
    if (position < end) sum += stored.bytesWithin({ start: position, end });
    for (let j = 0; j < i; j++) sum += sharedBytes(request, requests[j] as RunningRequest);
  }
  return sum;
}

/**
 * Returns the bytes of a request from the first that is not stored to the last one; empty if all are.
 * Between them some may be stored: an answer may bring its parts in any order.
 */
export function missingOf({ position, end }: RunningRequest, stored: StoredMap): ByteRange {
  const gaps = stored.missing({ start: position, end });
  return { start: gaps[0]?.start ?? end, end: gaps.at(-1)?.end ?? end };
}
