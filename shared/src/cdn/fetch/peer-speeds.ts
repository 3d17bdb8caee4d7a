/**
 * Forecasts how fast other nodes send chunks, and tells which are so slow that others are asked
 * instead (WORLDS 4.1; LOCI 5): one slow node in a network is responsible for its share of every
 * file, and holds up every response in order.
 *
 * Only the time of the bytes on the line counts, from a chunk's first byte: how long a node waits
 * for the origin says nothing about the node. A node is compared with the median of all, so that
 * none counts as slow where everything is, and is given up only if a chunk takes long by any
 * measure. What a node sends when it is asked again decides anew; it is asked after a pause, which
 * grows as long as it stays slow.
 */

import type { Millis } from '../../base/clock.ts';
import { Estimate } from '../../base/estimate.ts';

/** Factor by which a node sends slower than the median of all if it counts as slow. */
export const SLOW_FACTOR = 32;
/** Time for a chunk below which no node is slow. */
export const SLOW_CHUNK_MS = 2000;
/** Time after its first byte from which a chunk that is still on its way is judged. */
export const EVIDENCE_MS = 500;
/** Time for which a slow node is not asked, at first and at most. */
export const SLOW_PAUSE_MS = 30_000;
export const MAX_SLOW_PAUSE_MS = 600_000;
/** Nodes that must be known for a comparison. */
const MIN_COMPARED = 2;
/** Most nodes remembered. */
const MAX_REMEMBERED = 2000;
/** Time for which a median is used. */
const MEDIAN_LIFE_MS = 1000;

interface Speed {
  /** Milliseconds per byte. */
  readonly msPerByte: Estimate;
  /** Time before which it is not asked. */
  slowUntil: Millis;
  /** Length of the last pause; 0: none, or it has been fast since. */
  pauseMs: Millis;
}

export class PeerSpeeds {
  readonly #speeds = new Map<string, Speed>();
  /** Names of nodes that were slow once, and have not been fast since. */
  readonly #suspects = new Set<string>();
  #median: { readonly at: Millis; readonly msPerByte: number | undefined } | undefined;

  /**
   * A node has sent a part of a chunk, or all of it.
   *
   * @param bytes that came after the first ones
   * @param ms since the first ones came
   * @param chunkBytes size of the chunk
   * @param isAll true for the end of the chunk
   */
  onBytes(
    name: string,
    bytes: number,
    ms: Millis,
    chunkBytes: number,
    isAll: boolean,
    now: Millis,
  ): void {
    if (bytes <= 0 || (!isAll && ms < EVIDENCE_MS)) return;
    const msPerByte = ms / bytes;
    const median = this.#medianAt(now);
    const isBad = (value: number) =>
      median !== undefined && value > SLOW_FACTOR * median && value * chunkBytes > SLOW_CHUNK_MS;
    if (isAll) {
      const speed = this.#of(name);
      speed.msPerByte.add(msPerByte);
      if (isBad(msPerByte) && isBad(speed.msPerByte.mean)) this.#giveUp(name, speed, now);
      else if (!isBad(msPerByte)) this.#clear(name, speed, now);
    } else if (isBad(msPerByte)) {
      this.#giveUp(name, this.#of(name), now);
    }
  }

  /** Returns the names of the nodes that are not to be asked now. */
  slow(now: Millis): readonly string[] {
    return [...this.#suspects].filter((name) => this.isSlow(name, now));
  }

  isSlow(name: string, now: Millis): boolean {
    return now < (this.#speeds.get(name)?.slowUntil ?? 0);
  }

  /** Returns how long a chunk takes at most from a node that is not slow; undefined: not known. */
  usualMs(chunkBytes: number, now: Millis): Millis | undefined {
    const median = this.#medianAt(now);
    if (median === undefined) return undefined;
    return Math.max(SLOW_CHUNK_MS, SLOW_FACTOR * median * chunkBytes);
  }

  #giveUp(name: string, speed: Speed, now: Millis): void {
    if (now < speed.slowUntil) return;
    speed.pauseMs = Math.min(MAX_SLOW_PAUSE_MS, 2 * speed.pauseMs || SLOW_PAUSE_MS);
    speed.slowUntil = now + speed.pauseMs;
    this.#suspects.add(name);
  }

  /** A node has sent a chunk as fast as others: a chunk that was requested before a pause may, too. */
  #clear(name: string, speed: Speed, now: Millis): void {
    if (now < speed.slowUntil) return;
    speed.pauseMs = 0;
    this.#suspects.delete(name);
  }

  #of(name: string): Speed {
    let speed = this.#speeds.get(name);
    if (speed === undefined) {
      speed = { msPerByte: new Estimate(), slowUntil: 0, pauseMs: 0 };
      const [oldest] = this.#speeds.keys();
      if (this.#speeds.size >= MAX_REMEMBERED && oldest !== undefined) {
        this.#speeds.delete(oldest);
        this.#suspects.delete(oldest);
      }
      this.#speeds.set(name, speed);
    }
    return speed;
  }

  #medianAt(now: Millis): number | undefined {
    if (this.#median === undefined || now - this.#median.at >= MEDIAN_LIFE_MS) {
      this.#median = { at: now, msPerByte: this.#newMedian() };
    }
    return this.#median.msPerByte;
  }

  /** The lower one of an even number: of two nodes, the faster one sets the measure. */
  #newMedian(): number | undefined {
    const means = [...this.#speeds.values()]
      .filter(({ msPerByte }) => msPerByte.samples > 0)
      .map(({ msPerByte }) => msPerByte.mean)
      .sort((a, b) => a - b);
    return means.length < MIN_COMPARED ? undefined : means[(means.length - 1) >> 1];
  }
}
