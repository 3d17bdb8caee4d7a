/**
 * Chooses blocks by the paper's own algorithms (LOCI 3.2), for those who study them: blocks of one
 * size, no forecasts, no takeovers, and no bound on the bytes that come in twice.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { StoredMap } from '../journal/stored-map.ts';
import type { LociRules } from '../request/request.ts';
import { BASIC, BlockMap } from './block-map.ts';
import { firstHeld } from './holdings.ts';
import type { Choice, RunningRequest } from './running-request.ts';
import type { SchedulerState } from './scheduler-state.ts';
import type { KnownSource } from './source-table.ts';

/** Most blocks of a file: larger files get larger blocks. */
const MAX_BLOCKS = 4 * 1024 * 1024;

export class LociChoice {
  readonly #rules: LociRules;
  readonly #blocks: BlockMap;

  /** @param length of the file, bytes */
  constructor(length: number, rules: LociRules) {
    const blockBytes = Math.max(rules.blockBytes, Math.ceil(length / MAX_BLOCKS));
    this.#rules = { ...rules, blockBytes };
    this.#blocks = new BlockMap(length, blockBytes);
  }

  /** Chooses the next request of a free connection of `source`; undefined: none. */
  choose(state: SchedulerState, source: KnownSource): Choice | undefined {
    const { stored, running, reader, throttled } = state;
    // While the client holds its sources back, blocks are not late.
    const rules = throttled ? BASIC : this.#rules;
    const elsewhere = (block: number) =>
      !running.some((r) => r.source === source.id && this.#blockOf(r.range.start) === block);
    const missing = (block: number) => this.#missingOf(stored, source, block);
    const inBuffer = this.#buffer(stored, reader?.position);
    const has = (block: number) => missing(block) !== undefined;
    const near = (block: number) => inBuffer(block) && has(block);
    const block =
      this.#blocks.next(rules, elsewhere, near) ??
      // The file is kept: a player that has all of its buffer leaves time for the rest.
      (reader === undefined ? undefined : this.#blocks.next(rules, elsewhere, has));
    if (block === undefined) return undefined;
    const redundant = this.#blocks.running(block) > 0;
    this.#blocks.start(block);
    // The paper's copies are whole blocks; what a failed request has brought is not fetched again.
    const isCopy = redundant && source.holds === undefined;
    const whole = isCopy ? this.#blocks.range(block) : undefined;
    return { range: whole ?? (missing(block) as ByteRange), redundant };
  }

  /** Notes bytes that have been stored. */
  onStored(range: ByteRange, stored: StoredMap): void {
    for (const block of this.#blocksOf(range)) {
      const { start, end } = this.#blocks.range(block);
      if (stored.nextMissing(start) >= end) this.#blocks.finish(block);
    }
  }

  /** Notes bytes that must be fetched again. */
  onLost(range: ByteRange): void {
    for (const block of this.#blocksOf(range)) this.#blocks.reopen(block);
  }

  /** Notes that a request has ended, with or without its bytes. */
  onEnd({ range }: RunningRequest): void {
    this.#blocks.end(this.#blockOf(range.start));
  }

  /** Returns whether a block begins in the look-ahead buffer, which begins at the first missing byte. */
  #buffer(stored: StoredMap, reader: number | undefined): (block: number) => boolean {
    const { lookAheadBytes = Number.POSITIVE_INFINITY, blockBytes } = this.#rules;
    const next = stored.nextMissing(reader ?? 0);
    const first = this.#blockOf(next);
    // One block fits into every buffer.
    const end = Math.max(next + lookAheadBytes, (first + 1) * blockBytes);
    return (block) => block >= first && block * blockBytes < end;
  }

  #missingOf(stored: StoredMap, { holds }: KnownSource, block: number): ByteRange | undefined {
    for (const gap of stored.missing(this.#blocks.range(block))) {
      const run = firstHeld(holds, gap);
      if (run !== undefined) return run;
    }
    return undefined;
  }

  #blockOf(position: number): number {
    return Math.floor(position / this.#rules.blockBytes);
  }

  *#blocksOf({ start, end }: ByteRange): Generator<number> {
    for (let block = this.#blockOf(start); block * this.#rules.blockBytes < end; block++)
      yield block;
  }
}
