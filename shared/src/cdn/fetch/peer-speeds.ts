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
import { MIN_CHUNK_BYTES } from '../../base/limits.ts';

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
/** Most nodes that are slow at a time, by nodes known: if more seem to be, the line here is. */
const MAX_SLOW_SHARE = 1 / 4;
/** Size of a chunk from which its time tells of speed; the time of smaller ones is that of chance. */
const MIN_MEASURED_BYTES = MIN_CHUNK_BYTES;
/**
 * Longest time without bytes that counts while a chunk is on its way: a single lost packet stops a
 * line for longer, and so does a moment in which this process was kept from running.
 */
const MAX_GAP_MS = 200;
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

/** Tells a forecast of the bytes of one chunk, as they come from a node. */
export class ChunkSpeed {
  readonly #onBytes: (bytes: number, ms: Millis, isAll: boolean, now: Millis) => void;
  readonly #chunkBytes: number;
  readonly #beganAt: Millis;
  #lastAt: Millis;
  /** Time since the beginning without what is left out of each gap. */
  #ms: Millis = 0;
  #come = 0;

  /** @param now when the chunk began to come */
  constructor(speeds: PeerSpeeds, name: string, chunkBytes: number, now: Millis) {
    this.#onBytes = (bytes, ms, isAll, at) =>
      speeds.onBytes(name, bytes, ms, chunkBytes, isAll, at);
    this.#chunkBytes = chunkBytes;
    this.#beganAt = now;
    this.#lastAt = now;
  }

  /** `count` more bytes have come. */
  onBytes(count: number, now: Millis): void {
    this.#come += count;
    this.#ms += Math.min(MAX_GAP_MS, now - this.#lastAt);
    this.#lastAt = now;
    const isAll = this.#come >= this.#chunkBytes;
    this.#onBytes(this.#come, isAll ? now - this.#beganAt : this.#ms, isAll, now);
  }
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
    if (bytes <= 0 || chunkBytes < MIN_MEASURED_BYTES || (!isAll && ms < EVIDENCE_MS)) return;
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

  /** Forecasts how fast a node sends: its mean less its deviation, bytes per second. */
  forecast(name: string): number | undefined {
    const { samples = 0, mean = 0, deviation = 0 } = this.#speeds.get(name)?.msPerByte ?? {};
    return samples === 0 ? undefined : 1000 / Math.max(mean + deviation, Number.MIN_VALUE);
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
    const most = Math.max(1, Math.floor(this.#speeds.size * MAX_SLOW_SHARE));
    if (this.slow(now).length >= most) return;
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
