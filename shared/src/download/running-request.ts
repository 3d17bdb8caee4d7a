/** A range request under way, as the scheduler sees it, and what all of them together imply. */

import { type ByteRange, intersect, RangeSet, rangeBytes } from '../base/byte-range.ts';
import type { Millis } from '../base/clock.ts';
import { type Forecast, RequestRate } from './forecast.ts';
import type { StoredMap } from './stored-map.ts';

/** One range request that a connection is to make. */
export interface Assignment {
  readonly source: string;
  /** What to ask for. */
  readonly range: ByteRange;
  /** Stop reading here: less than `range.end` once another request has taken over the rest. */
  readonly end: number;
  /** Somebody else is fetching the same bytes already. */
  readonly redundant: boolean;
}

export class RunningRequest implements Assignment {
  readonly source: string;
  readonly range: ByteRange;
  readonly redundant: boolean;
  readonly rate: RequestRate;
  readonly startedAt: Millis;
  /** Requests for later bytes that have been completed meanwhile (LOCI 3.2). */
  overtaken = 0;
  /** Nothing is left to do for it: its connection is to be ended. */
  obsolete = false;
  /** The caller has been told so. */
  told = false;
  #end: number;
  #position: number;
  /** What came in ahead of `position`, for bodies that are not in order. */
  readonly #ahead = new RangeSet();

  constructor(
    source: { readonly id: string; readonly forecast: Forecast },
    { range, redundant }: { readonly range: ByteRange; readonly redundant: boolean },
    now: Millis,
  ) {
    this.source = source.id;
    this.range = range;
    this.redundant = redundant;
    this.rate = new RequestRate(source.forecast, now);
    this.startedAt = now;
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

  /** Bytes that it will still bring. */
  get unread(): ByteRange {
    return { start: this.#position, end: Math.max(this.#position, this.#end) };
  }

  /** It has brought these bytes. */
  advance(range: ByteRange, now: Millis): void {
    this.rate.add(rangeBytes(range), now);
    this.#ahead.add(range);
    const front = this.#ahead.ranges.find((r) => r.end > this.#position);
    if (front === undefined || front.start > this.#position) return;
    this.#position = front.end;
    this.#ahead.remove({ start: 0, end: front.end });
  }

  /** Another request takes over everything from `end` on. */
  cutAt(end: number): void {
    if (end >= this.#end) return;
    this.#end = Math.max(end, this.#position);
    if (this.#end <= this.#position) this.obsolete = true;
  }
}

/** Bytes that several of the requests will bring. */
export function sharedBytes(a: RunningRequest, b: RunningRequest): number {
  const shared = intersect(a.unread, b.unread);
  return shared === undefined ? 0 : rangeBytes(shared);
}

/**
 * How many bytes may still come in twice if nothing is ended early: what a request will bring
 * though it is stored, and what two requests will both bring.
 */
export function redundantBytesToCome(
  requests: readonly RunningRequest[],
  stored: StoredMap,
): number {
  let sum = 0;
  for (const [i, request] of requests.entries()) {
    const { unread } = request;
    if (unread.start < unread.end) sum += stored.bytesWithin(unread);
    for (let j = 0; j < i; j++) sum += sharedBytes(request, requests[j] as RunningRequest);
  }
  return sum;
}
