/** Parts that all simulated clients share: when they begin, how it ends, and how fast they were. */

import type { Millis } from '@millrace/shared/base/clock';
import type { SimNode } from './node.ts';
import type { World } from './world.ts';

export interface DownloadingOptions {
  /** Edges that the client can use, nearest first; at least one. */
  readonly edges: readonly SimNode[];
  readonly startAt: Millis;
}

export abstract class Downloading {
  state: 'waiting' | 'running' | 'complete' | 'failed' = 'waiting';
  endedAt: Millis = 0;
  protected readonly world: World;
  readonly #startAt: Millis;

  constructor({ edges, startAt }: DownloadingOptions) {
    this.world = (edges[0] as SimNode).world;
    this.#startAt = startAt;
    this.world.sim.clock.at(startAt, () => {
      this.state = 'running';
      this.begin();
    });
  }

  /** From its start to its last byte. */
  get tookMs(): Millis {
    return this.endedAt - this.#startAt;
  }

  /** Mean throughput in Mbit/s; only for complete ones. */
  get mbit(): number {
    return (this.world.fileBytes * 8) / 1000 / this.tookMs;
  }

  /** Called once, when it is time. */
  protected abstract begin(): void;

  /** @returns false if it had ended before */
  protected end(state: 'complete' | 'failed'): boolean {
    if (this.state !== 'running') return false;
    this.state = state;
    this.endedAt = this.world.sim.now;
    return true;
  }
}
