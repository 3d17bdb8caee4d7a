/** Round trips to edges, for all downloads of a process. */

import type { Millis } from '@millrace/shared/base/clock';
import { LearnedRtts } from '@millrace/shared/download/edges/learned-rtts';
import type { EdgeMemory } from './nearest-first.ts';

export class RttMemory implements EdgeMemory {
  readonly #learned = new LearnedRtts();
  readonly #now: () => Millis;

  constructor(now: () => Millis) {
    this.#now = now;
  }

  rtt(edge: string): Millis | undefined {
    return this.#learned.rtt(edge, this.#now());
  }

  isFresh(edge: string): boolean {
    return this.#learned.isFresh(edge, this.#now());
  }

  onMeasured(edge: string, ms: Millis): void {
    this.#learned.onMeasured(edge, ms, this.#now());
  }
}
