/** Simulates time, which passes only when no event is left at the present time. */

import type { Millis } from '../src/base/clock.ts';

interface Event {
  readonly at: Millis;
  /** Order of events at the same time: first come, first served. */
  readonly order: number;
  readonly run: () => void;
}

export class VirtualClock {
  #now: Millis = 0;
  #order = 0;
  /** A binary heap, earliest event first. */
  readonly #heap: Event[] = [];

  get now(): Millis {
    return this.#now;
  }

  /** Calls `run` at a time, or as soon as possible if the time is past. */
  at(at: Millis, run: () => void): void {
    const event = { at: Math.max(at, this.#now), order: this.#order++, run };
    const heap = this.#heap;
    let i = heap.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[i] = heap[parent] as Event;
      i = parent;
    }
    heap[i] = event;
  }

  in(ms: Millis, run: () => void): void {
    this.at(this.#now + ms, run);
  }

  /** Lets time pass until `done` returns true. @returns false if it does not by `limit` */
  run(done: () => boolean, limit: Millis): boolean {
    while (!done()) if (!this.step(limit)) return false;
    return true;
  }

  /** Lets time pass until the next event. @returns false if there is none by `limit` */
  step(limit: Millis): boolean {
    const event = this.#pop();
    if (event === undefined || event.at > limit) return false;
    this.#now = event.at;
    event.run();
    return true;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) {
        child++;
      }
      if (!isBefore(heap[child] as Event, last)) break;
      heap[i] = heap[child] as Event;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
