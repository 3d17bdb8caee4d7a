/**
 * Limits what a server sends by UDP to addresses that may be forged (response rate limiting): above
 * its rate a network gets every second answer truncated, no larger than its question, and nothing
 * otherwise. A resolver that was truncated asks again by TCP, which proves its address.
 */

import type { Millis } from '../../base/clock.ts';
import { TokenBucket } from '../../base/token-bucket.ts';

/** Most networks remembered; the one that asked longest ago is forgotten first. */
export const MAX_ASKING_NETWORKS = 20_000;
/** Weight of a remembered network, bytes. */
const NETWORK_BYTES = 400;
/** Time for which a network may save up answers, seconds. */
const BURST_S = 2;

/** Fate of an answer. */
export type AnswerVerdict = 'send' | 'truncate' | 'drop';

interface Asking {
  readonly bucket: TokenBucket;
  /** Answers over the rate. */
  over: number;
}

export class AnswerLimit {
  readonly #perSecond: number;
  /** Networks, the one that asked last at the end. */
  readonly #networks = new Map<string, Asking>();

  /** @param perSecond answers per second to one network; 0 for no limit */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Weight of everything remembered, bytes. */
  get bytes(): number {
    return this.#networks.size * NETWORK_BYTES;
  }

  /** Networks that are remembered. */
  get size(): number {
    return this.#networks.size;
  }

  /**
   * Decides about one answer.
   *
   * @param network key of the network that asks
   * @param now monotonic milliseconds
   */
  judge(network: string, now: Millis): AnswerVerdict {
    if (this.#perSecond === 0) return 'send';
    const asking = this.#asking(network, now);
    if (asking.bucket.tryTake(now)) return 'send';
    return asking.over++ % 2 === 0 ? 'truncate' : 'drop';
  }

  #asking(network: string, now: Millis): Asking {
    const asking = this.#networks.get(network) ?? {
      bucket: new TokenBucket(this.#perSecond, this.#perSecond * BURST_S, now),
      over: 0,
    };
    this.#networks.delete(network);
    this.#networks.set(network, asking);
    if (this.#networks.size > MAX_ASKING_NETWORKS) {
      this.#networks.delete(this.#networks.keys().next().value as string);
    }
    return asking;
  }
}
