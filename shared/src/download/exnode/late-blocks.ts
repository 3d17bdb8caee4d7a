/** The blocks that places of a download bring too late, by what the scheduler forecasts of them. */

import { type ByteRange, rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import { endOfFirst, keptByLate, sharedRanges } from './late-places.ts';

/** A source with parts of the file: ascending and disjoint. */
interface PartHolder {
  readonly id: string;
  readonly parts: readonly ByteRange[];
}

/** Time between two decisions. */
const DECIDE_MS: Millis = 250;

/** Multiple of the bytes that may come in twice beyond which solving has shown that it does not help. */
const USELESS = 2;

export interface LateBlocksOptions {
  /** Lists the places that can be asked now. */
  readonly places: () => readonly PartHolder[];
  /** Lists the bytes per second of the depots whose parity can be asked for; undefined: not known. */
  readonly parity: () => readonly (number | undefined)[];
  /** Returns how many bytes of a block are stored. */
  readonly stored: (block: ByteRange) => number;
  /** Bytes that may come in twice before blocks of which some have come are left to their places. */
  readonly mostTwice: number;
  /** Scheduler of the transfer under way. */
  readonly scheduler: () => Scheduler | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

export class LateBlocks {
  readonly #options: LateBlocksOptions;
  #decidedAt: Millis = Number.NEGATIVE_INFINITY;
  /** The positions behind which blocks are late, by late place. */
  #from: ReadonlyMap<PartHolder, number> = new Map();
  #decisions = 0;
  /** Bytes that places had brought of blocks when these were solved. */
  #twice = 0;

  constructor(options: LateBlocksOptions) {
    this.#options = options;
  }

  /** Number that changes whenever other blocks may be late. */
  get stamp(): number {
    this.#decide();
    return this.#decisions;
  }

  /** Returns true if all places that have a block bring it late, and it may be solved instead. */
  isLate(block: ByteRange): boolean {
    const { places, stored, mostTwice } = this.#options;
    if (this.#from.size === 0 || this.#twice > USELESS * mostTwice) return false;
    const holders = places().filter((place) => hasBlock(place, block));
    const isLate = (place: PartHolder) => (this.#from.get(place) ?? Infinity) < block.end;
    if (holders.length === 0 || !holders.every(isLate)) return false;
    const twice = stored(block);
    return twice === 0 || this.#twice + twice <= mostTwice;
  }

  /**
   * Notes that a block begins to be solved.
   *
   * @returns what to call once it is solved, before its bytes are stored
   */
  onSolving(block: ByteRange): () => void {
    const before = this.#options.stored(block);
    this.#twice += before;
    // Its place may have brought more meanwhile.
    return () => {
      this.#twice += Math.max(0, this.#options.stored(block) - before);
    };
  }

  #decide(): void {
    const { now, places, parity, scheduler: current } = this.#options;
    const scheduler = current();
    if (scheduler === undefined || now() - this.#decidedAt < DECIDE_MS) return;
    this.#decidedAt = now();
    const gaps = scheduler.missing({ start: 0, end: Infinity });
    const rests = new Map(places().map((place) => [place, sharedRanges(place.parts, gaps)]));
    const forecasts = [...rests].map(([{ id }, rest]) => ({
      id,
      rate: scheduler.pace(id, now()),
      restBytes: rest.reduce((sum, range) => sum + rangeBytes(range), 0),
    }));
    const before = new Set([...this.#from.keys()].map(({ id }) => id));
    const kept = keptByLate(forecasts, parity(), before);
    const from = new Map<PartHolder, number>();
    for (const [place, rest] of rests) {
      const bytes = kept.get(place.id);
      // A reader would have to wait for what comes just in time for the end.
      if (bytes !== undefined) from.set(place, scheduler.isRead ? 0 : endOfFirst(rest, bytes));
    }
    if (from.size > 0 || this.#from.size > 0) this.#decisions++;
    this.#from = from;
  }
}

/** Returns true if a place has all of a block. */
export function hasBlock({ parts }: PartHolder, block: ByteRange): boolean {
  return parts.some(({ start, end }) => start <= block.start && block.end <= end);
}
