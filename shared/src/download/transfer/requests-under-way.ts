/** The requests of a transfer that are under way, and which of them have to end. */

import type { RangeSet } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { Assignment } from '../scheduler/scheduler.ts';

/** One request under way. */
export interface RequestUnderWay<S> {
  readonly source: S;
  /** That it was sent to. */
  readonly host: string;
  readonly assignment: Assignment;
  readonly abort: AbortController;
  readonly startedAt: Millis;
  /** When it was made, and then when it has brought something last. */
  heardAt: Millis;
  /** What this answer has brought so far. */
  readonly got: RangeSet;
  /** There is a digest of the body: what it brings is believed when all of it is there. */
  checked: boolean;
}

export class RequestsUnderWay<S> {
  readonly #requests = new Set<RequestUnderWay<S>>();

  get size(): number {
    return this.#requests.size;
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

  /** Ends those of which something holds. @param reason what their reading ends with */
  end(reason: Error, which: (request: RequestUnderWay<S>) => boolean): void {
    for (const request of this.#requests) if (which(request)) request.abort.abort(reason);
  }

  /**
   * Ends the youngest requests to a host: those lose the least, and what is believed only when it is
   * complete is let end where that is possible.
   *
   * @param count how many, those that are ending already included
   */
  endYoungest(host: string, count: number, reason: Error): void {
    const there = [...this.#requests].filter((request) => request.host === host);
    const going = there.filter(({ abort }) => !abort.signal.aborted);
    const left = count - (there.length - going.length);
    going.sort((a, b) => Number(a.checked) - Number(b.checked) || b.startedAt - a.startedAt);
    for (const { abort } of going.slice(0, Math.max(0, left))) abort.abort(reason);
  }
}
