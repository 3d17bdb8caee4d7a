/** The common part of all simulated clients: start, end and throughput. */

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

  /** Time from the client's start to its last byte. */
  get tookMs(): Millis {
    return this.endedAt - this.#startAt;
  }

  /** Mean throughput in Mbit/s; valid only for complete clients. */
  get mbit(): number {
    return (this.world.fileBytes * 8) / 1000 / this.tookMs;
  }

  /** Called once, at the client's start time. */
  protected abstract begin(): void;

  /** Ends the download. @returns false if it had ended before */
  protected end(state: 'complete' | 'failed'): boolean {
    if (this.state !== 'running') return false;
    this.state = state;
    this.endedAt = this.world.sim.now;
    return true;
  }
}
