/** Reading the heads of former runs. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Millis } from '@millrace/shared/base/clock';

/** Longest time of reading before others have the processor. */
const TURN_MS: Millis = 10;
/** Longest time of a read for which the disk is not waited for, ms. */
const QUICK_MS = 1;
/** Reads that are made several at a time once the disk has to be waited for. */
const SLOW_READS = 64;
/**
 * Slow reads in a short time that show such a disk, and quick reads that make up for one of them. Where
 * other programs want the processor too, single reads are slow although the disk is not.
 */
const SLOW_AT_LEAST = 3;
const QUICK_PER_SLOW = 16;

/**
 * Reads heads: one after the other without waiting while the system has them in memory, which takes
 * a fraction of the processor time; several at a time while the disk has to be waited for.
 */
export class HeadReader {
  #slowReads = 0;
  /** Slow reads of late, counted in the quick reads that make up for them. */
  #slowness = 0;
  #turnBegunAt = performance.now();

  /** Lets what else the process does go on, if it has waited for some time. */
  async pause(): Promise<void> {
    if (performance.now() - this.#turnBegunAt < TURN_MS) return;
    await nextTurn();
    this.#turnBegunAt = performance.now();
  }

  /** Returns the text of a head; undefined while the disk is slow. @throws Error of the disk */
  readQuickly(folder: string): string | undefined {
    if (this.#slowReads > 0) return undefined;
    const begunAt = performance.now();
    const text = readFileSync(`${folder}/head`, 'utf8');
    const isSlow = performance.now() - begunAt > QUICK_MS;
    this.#slowness = Math.max(0, this.#slowness + (isSlow ? QUICK_PER_SLOW : -1));
    if (this.#slowness > (SLOW_AT_LEAST - 1) * QUICK_PER_SLOW) {
      this.#slowReads = SLOW_READS;
      // The next slow read is enough.
      this.#slowness = (SLOW_AT_LEAST - 1) * QUICK_PER_SLOW;
    }
    return text;
  }

  /** Reads a head beside others. @throws Error of the disk */
  read(folder: string): Promise<string> {
    this.#slowReads--;
    return readFile(`${folder}/head`, 'utf8');
  }
}
