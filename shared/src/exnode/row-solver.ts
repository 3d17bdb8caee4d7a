/**
 * Decides which blocks of a file are solved from parity, and from which shards (LOCI 5). Blocks are
 * solved column by column. Only blocks that are proven and parity whose digest is right go in, so
 * what comes out is right, and nobody's wrong bytes can spoil the bytes of others.
 */

import type { ByteRange } from '../base/byte-range.ts';
import { blockInColumn, columnAt, columnRange, columnsOf } from './coded.ts';
import type { CodedExtent } from './exnode.ts';

/** Tells which blocks and places can be used. */
export interface SolverState {
  /** Returns true if a block is stored, and has the right digest. */
  isProven(block: ByteRange): boolean;
  /** Returns true if a place can be asked for a block now. */
  canCome(block: ByteRange): boolean;
  /** Returns true if no place brings a block as soon as it can be solved. */
  isLate(block: ByteRange): boolean;
  /** Lists the parity shards that can be asked for now: numbers from 0. */
  parityOf(extent: CodedExtent): readonly number[];
  /** Returns true if lost blocks are wanted at once, though bytes of others come in twice by that. */
  isUrgent(): boolean;
}

/** A column, and what is known of it. */
export interface Column {
  readonly extent: CodedExtent;
  readonly number: number;
  /** The range that it has in the longest shards. */
  readonly range: ByteRange;
  /** Blocks that are proven, by the number of their data shard; `undefined` blocks are zeros. */
  readonly known: readonly (readonly [number, ByteRange | undefined])[];
  /** Blocks that are not. */
  readonly lacking: readonly (readonly [number, ByteRange])[];
}

/** Describes the column of an extent. */
export function columnOf(
  extent: CodedExtent,
  blockBytes: number,
  number: number,
  isProven: SolverState['isProven'],
): Column {
  const known: [number, ByteRange | undefined][] = [];
  const lacking: [number, ByteRange][] = [];
  for (let shard = 0; shard < extent.data; shard++) {
    const block = blockInColumn(extent, blockBytes, shard, number);
    if (block === undefined || isProven(block)) known.push([shard, block]);
    else lacking.push([shard, block]);
  }
  return { extent, number, range: columnRange(extent, blockBytes, number), known, lacking };
}

/** Finds the column of a byte of the file; undefined: no extent is coded there that can be solved. */
export function columnWith(
  extents: readonly CodedExtent[],
  blockBytes: number,
  at: number,
  state: SolverState,
): Column | undefined {
  for (const extent of extents) {
    if (at < extent.start || at >= extent.end) continue;
    const column = columnOf(extent, blockBytes, columnAt(extent, blockBytes, at), state.isProven);
    if (column.lacking.length <= state.parityOf(extent).length) return column;
  }
  return undefined;
}

/** A column, and how many blocks of it no place can be asked for. */
export interface LostOf {
  readonly extent: CodedExtent;
  readonly number: number;
  readonly count: number;
}

/**
 * Lists the columns whose parity will be needed, whatever the places that are left bring: it can be
 * read while they bring it. As many blocks of parity are needed at least as blocks are lost.
 *
 * @returns in the order of the file
 */
export function lostColumns(
  extents: readonly CodedExtent[],
  blockBytes: number,
  state: SolverState,
): LostOf[] {
  const found: LostOf[] = [];
  for (const { extent, number, lacking, most } of lackingColumns(extents, blockBytes, state)) {
    const count = lacking.filter(([, block]) => !state.canCome(block)).length;
    if (count > 0 && count <= most) found.push({ extent, number, count });
  }
  return found;
}

/** Yields the columns that lack blocks, and how many blocks of parity each could have. */
function* lackingColumns(
  extents: readonly CodedExtent[],
  blockBytes: number,
  state: SolverState,
): Generator<Column & { readonly most: number }> {
  for (const extent of extents) {
    const { length: most } = state.parityOf(extent);
    if (most === 0) continue;
    const columns = columnsOf(extent, blockBytes);
    for (let number = 0; number < columns; number++) {
      const column = columnOf(extent, blockBytes, number, state.isProven);
      if (column.lacking.length > 0) yield { ...column, most };
    }
  }
}

/**
 * Lists the blocks that are to be solved: those that no place can be asked for, and late ones, in
 * columns of which all else is known. As many blocks of parity are received as blocks are solved, so
 * nothing is received twice but what has come of these blocks. If it is urgent, blocks that no place
 * can be asked for are also solved in columns of which just enough is known.
 *
 * @returns ascending, each once
 */
export function solvableBlocks(
  extents: readonly CodedExtent[],
  blockBytes: number,
  state: SolverState,
): ByteRange[] {
  const found = new Map<number, ByteRange>();
  for (const { lacking, most } of lackingColumns(extents, blockBytes, state)) {
    if (lacking.length > most) continue;
    const lost = lacking.filter(([, block]) => !state.canCome(block));
    const late = lacking.filter(([, block]) => !state.canCome(block) || state.isLate(block));
    // A block that is solved beside those would come in twice, because a place brings it.
    const solved = late.length === lacking.length ? late : state.isUrgent() ? lost : [];
    for (const [, block] of solved) found.set(block.start, block);
  }
  return [...found.values()].sort((a, b) => a.start - b.start);
}
