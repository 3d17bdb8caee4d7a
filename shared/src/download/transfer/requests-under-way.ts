/**
 * Keeps the requests of a transfer that are under way, judges which sources bring bytes, and ends
 * requests when asked.
 */

import type { RangeSet } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { Assignment } from '../scheduler/scheduler.ts';
import { FlowClock } from './flow-clock.ts';
import { Liveliness } from './liveliness.ts';
import type { TransferSource } from './transfer-source.ts';

/** One request under way. */
export interface RequestUnderWay<S> {
  readonly source: S;
  /** The host that the request was sent to (`URL.host`). */
  readonly host: string;
  readonly assignment: Assignment;
  readonly abort: AbortController;
  readonly startedAt: Millis;
  /** When its last bytes came; before the first byte, when the request began or its answer came. */
  heardAt: Millis;
  /** Bytes that the answer has brought so far. */
  readonly got: RangeSet;
  /** True if the body has a digest: its bytes count once all of them have come. */
  checked: boolean;
  /** True if the answer defines the file, so that other answers cast no doubt on its bytes. */
  defines: boolean;
}

export class RequestsUnderWay<S extends TransferSource> {
  readonly #requests = new Set<RequestUnderWay<S>>();
  readonly #flow = new FlowClock();
  /** The sources asked so far. */
  readonly #liveliness = new Map<S, Liveliness>();
  /** All edges and mirrors together. */
  readonly #helped: Liveliness;

  constructor(now: Millis) {
    this.#helped = new Liveliness(now);
  }

  get size(): number {
    return this.#requests.size;
  }

  /** True while the client itself holds its sources back: their silence means nothing then. */
  get isHeld(): boolean {
    return this.#flow.isHeld;
  }

  /** Notes that one more read waits for the disk or for a rate limit. */
  hold(now: Millis): void {
    this.#flow.hold(now);
  }

  /** Notes that one of these reads goes on. */
  release(now: Millis): void {
    this.#flow.release(now);
  }

  /** Counts the requests that have brought something, or begun, at `since` or later. */
  alive(since: Millis): number {
    let alive = 0;
    for (const { heardAt } of this.#requests) if (heardAt >= since) alive++;
    return alive;
  }

  /** Counts the sources that are being asked and bring more than single bytes. */
  lively(now: Millis): number {
    const at = this.#flow.at(now);
    const sources = new Set([...this.#requests].map(({ source }) => source));
    return [...sources].filter((source) => !this.#of(source, at).isLifeless(at)).length;
  }

  /** Returns true if edges and mirrors bring next to nothing, so that the origin should help. */
  isLifeless(now: Millis): boolean {
    return this.#helped.isLifeless(this.#flow.at(now));
  }

  add(request: RequestUnderWay<S>): void {
    const at = this.#flow.at(request.startedAt);
    this.#requests.add(request);
    this.#of(request.source, at).resume(at);
  }

  /** Notes that `count` bytes of a request have come, now. */
  onBytes({ source, heardAt }: RequestUnderWay<S>, count: number): void {
    const at = this.#flow.at(heardAt);
    this.#of(source, at).onBytes(count, at);
    // The origin's help shows no life in those that are helped.
    if (source.kind !== 'origin') this.#helped.onBytes(count, at);
  }

  delete(request: RequestUnderWay<S>, now: Millis): void {
    this.#requests.delete(request);
    const at = this.#flow.at(now);
    if (!this.isAsked(request.source)) this.#of(request.source, at).pause(at);
  }

  isAsked(source: S): boolean {
    for (const request of this.#requests) if (request.source === source) return true;
    return false;
  }

  /** Ends the requests that `which` picks. @param reason rejects the reading of their answers */
  end(reason: unknown, which: (request: RequestUnderWay<S>) => boolean): void {
    for (const request of this.#requests) if (which(request)) request.abort.abort(reason);
  }

  /**
   * Ends the youngest requests to a host, because they lose the least. A request whose bytes count
   * only once it is complete is allowed to finish where possible.
   *
   * @param count number of requests, including those that are already ending
   */
  endYoungest(host: string, count: number, reason: unknown): void {
    const there = [...this.#requests].filter((request) => request.host === host);
    const going = there.filter(({ abort }) => !abort.signal.aborted);
    const left = count - (there.length - going.length);
    going.sort((a, b) => Number(a.checked) - Number(b.checked) || b.startedAt - a.startedAt);
    for (const { abort } of going.slice(0, Math.max(0, left))) abort.abort(reason);
  }

  #of(source: S, at: Millis): Liveliness {
    let liveliness = this.#liveliness.get(source);
    if (liveliness === undefined) {
      liveliness = new Liveliness(at);
      this.#liveliness.set(source, liveliness);
    }
    return liveliness;
  }
}
