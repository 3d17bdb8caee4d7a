/**
 * Reads parity of columns whose blocks are lost while places still bring the rest of these columns:
 * what is solved last then waits for no parity.
 */

import { columnRange } from '@millrace/shared/exnode/coded';
import type { CodedExtent } from '@millrace/shared/exnode/exnode';
import type { LostOf } from '@millrace/shared/exnode/row-solver';
import type { ParityBlock, ParityBlocks } from './parity-blocks.ts';

/** Columns that are read ahead at a time. */
const MOST_AT_ONCE = 2;
/** Most bytes that are read ahead and held. */
const MAX_AHEAD_BYTES = 16 * 1024 * 1024;

interface Ahead {
  /** Blocks that have been asked for. */
  count: number;
  blocks: readonly ParityBlock[];
  /** Ends once the blocks are there, or have failed; never rejects. */
  work: Promise<void>;
  isReading: boolean;
  readonly abort: AbortController;
}

export class ParityAhead {
  readonly #parity: Pick<ParityBlocks, 'read'>;
  readonly #blockBytes: number;
  readonly #columns = new Map<string, Ahead>();
  /** Columns that are being solved, or have been: whoever solves them reads what is missing. */
  readonly #taken = new Set<string>();
  #isEnded = false;
  #wanted: readonly LostOf[] = [];

  constructor(parity: Pick<ParityBlocks, 'read'>, blockBytes: number) {
    this.#parity = parity;
    this.#blockBytes = blockBytes;
  }

  /** Sets the columns whose parity is wanted, and begins to read it. */
  want(columns: readonly LostOf[]): void {
    this.#wanted = columns;
    this.#begin();
  }

  /**
   * Takes the parity of a column that has been read ahead, and waits for what is being read. If the
   * signal aborts meanwhile, a depot may be silent: its reading ends, too.
   */
  async take(
    extent: CodedExtent,
    number: number,
    signal: AbortSignal,
  ): Promise<readonly ParityBlock[]> {
    const key = keyOf(extent, number);
    this.#taken.add(key);
    const ahead = this.#columns.get(key);
    const end = () => ahead?.abort.abort(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    await ahead?.work;
    signal.removeEventListener('abort', end);
    if (this.#columns.delete(key)) this.#begin();
    return ahead?.blocks ?? [];
  }

  /** Ends all reading. */
  end(): void {
    this.#isEnded = true;
    for (const { abort } of this.#columns.values()) abort.abort();
    this.#columns.clear();
  }

  #begin(): void {
    for (const { extent, number, count } of this.#wanted) {
      const columns = [...this.#columns.values()];
      const reading = columns.filter(({ isReading }) => isReading).length;
      if (reading >= MOST_AT_ONCE || this.#isEnded) return;
      const key = keyOf(extent, number);
      const ahead = this.#columns.get(key);
      const asked = ahead?.count ?? 0;
      if (this.#taken.has(key) || ahead?.isReading === true || asked >= count) continue;
      const held = columns.reduce((sum, one) => sum + one.count, 0);
      // Blocks at the ends of shards may be shorter.
      if ((held + count - asked) * this.#blockBytes > MAX_AHEAD_BYTES) return;
      this.#read(ahead ?? this.#add(key), extent, number, count);
    }
  }

  #add(key: string): Ahead {
    const abort = new AbortController();
    const work = Promise.resolve();
    const ahead: Ahead = { count: 0, blocks: [], work, isReading: false, abort };
    this.#columns.set(key, ahead);
    return ahead;
  }

  #read(ahead: Ahead, extent: CodedExtent, number: number, count: number): void {
    const range = columnRange(extent, this.#blockBytes, number);
    const { blocks } = ahead;
    ahead.count = count;
    ahead.isReading = true;
    const reading = this.#parity.read(extent, { number, range }, count, ahead.abort.signal, blocks);
    ahead.work = reading.then(
      (read) => {
        ahead.blocks = read;
        ahead.isReading = false;
        this.#begin();
      },
      () => {
        // Other columns are begun when more is known of the depots: `want` follows.
        ahead.count = blocks.length;
        ahead.isReading = false;
      },
    );
  }
}

/** Names a column among those of all extents. */
export function keyOf(extent: CodedExtent, number: number): string {
  return `${extent.start}-${extent.end}-${number}`;
}
