/** Keeps the requests of a transfer that are under way, and ends some of them when asked. */

import type { RangeSet } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { Assignment } from '../scheduler/scheduler.ts';

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
}

export class RequestsUnderWay<S> {
  readonly #requests = new Set<RequestUnderWay<S>>();

  get size(): number {
    return this.#requests.size;
  }

  /** Counts the requests that have brought something, or begun, at `since` or later. */
  alive(since: Millis): number {
    let alive = 0;
    for (const { heardAt } of this.#requests) if (heardAt >= since) alive++;
    return alive;
  }

  add(request: RequestUnderWay<S>): void {
    this.#requests.add(request);
  }

  delete(request: RequestUnderWay<S>): void {
    this.#requests.delete(request);
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
}
