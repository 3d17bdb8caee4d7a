/**
 * Extents that are kept in coded shards: k of data and m of parity, of which any k tell all bytes.
 * Data shard i has the units i, i + k, i + 2k, ... of the extent; a row is one unit of each. A short
 * last row is coded as if zeros followed. Blocks at the same position of all shards make a column,
 * which can be solved by itself.
 */

import type { ByteRange } from '../base/byte-range.ts';
import type { CodedExtent, CodedLayout, ExnodeReplica } from './exnode.ts';

/** Largest unit, and so largest block of a file that is coded: a column is solved in memory. */
export const MAX_UNIT_BYTES = 16 * 1024 * 1024;
/** Most units of all coded extents. */
export const MAX_UNITS = 65_536;

/** A unit of a data shard: bytes of the file. */
export interface Unit extends ByteRange {
  /** Position in the shard. */
  readonly at: number;
}

/** Returns the length of a shard. All parity shards are as long as the first data shard. */
export function shardBytes({ start, end, data, unit }: CodedLayout, index: number): number {
  const row = data * unit;
  const rows = Math.floor((end - start) / row);
  const ahead = index < data ? index * unit : 0;
  const rest = end - start - rows * row - ahead;
  return rows * unit + Math.max(0, Math.min(unit, rest));
}

/** Lists the units of a data shard. */
export function unitsOf(layout: CodedLayout, index: number): Unit[] {
  const { start, end, data, unit } = layout;
  const units: Unit[] = [];
  for (let at = 0, from = start + index * unit; from < end; at += unit, from += data * unit) {
    units.push({ start: from, end: Math.min(end, from + unit), at });
  }
  return units;
}

/** Returns the number of columns: blocks of the longest shards. */
export function columnsOf(layout: CodedLayout, blockBytes: number): number {
  return Math.ceil(shardBytes(layout, 0) / blockBytes);
}

/** Returns the range of a column within the shards that are long enough. */
export function columnRange(layout: CodedLayout, blockBytes: number, column: number): ByteRange {
  const start = column * blockBytes;
  return { start, end: Math.min(shardBytes(layout, 0), start + blockBytes) };
}

/**
 * Returns the block of the file that a data shard has in a column; undefined: it has none, and is
 * coded as zeros.
 */
export function blockInColumn(
  { start, end, data, unit }: CodedLayout,
  blockBytes: number,
  index: number,
  column: number,
): ByteRange | undefined {
  const position = column * blockBytes;
  const row = Math.floor(position / unit);
  const from = start + (row * data + index) * unit + (position - row * unit);
  return from < end ? { start: from, end: Math.min(end, from + blockBytes) } : undefined;
}

/** Returns the column that has a byte of the extent. */
export function columnAt({ start, data, unit }: CodedLayout, blockBytes: number, at: number) {
  const row = Math.floor((at - start) / (data * unit));
  return Math.floor((row * unit + ((at - start) % unit)) / blockBytes);
}

/** A shard of a coded extent. */
export interface ShardOf {
  readonly extent: CodedExtent;
  /** Data shards come first. */
  readonly index: number;
}

/**
 * Lists the shards that have bytes, and no replica that counts.
 *
 * @param has tells whether a replica counts
 */
export function lostShards(
  extents: readonly CodedExtent[],
  has: (replica: ExnodeReplica) => boolean,
): ShardOf[] {
  return extents.flatMap((extent) =>
    [...extent.shards.entries()]
      .filter(([index, replicas]) => shardBytes(extent, index) > 0 && !replicas.some(has))
      .map(([index]) => ({ extent, index })),
  );
}

/** Lists the shards that have bytes, and a replica that counts. */
function there(extent: CodedExtent, has: (replica: ExnodeReplica) => boolean): number[] {
  return [...extent.shards.keys()].filter((i) => extent.shards[i]?.some(has));
}

/**
 * Lists the bytes of a coded extent that can be had: all of them while no more shards are lost than
 * there is parity, and otherwise those of the data shards that are left; ascending.
 *
 * @param has tells whether a replica counts
 */
export function coveredBy(
  extent: CodedExtent,
  has: (replica: ExnodeReplica) => boolean,
): ByteRange[] {
  if (lostShards([extent], has).length <= extent.parity)
    return [{ start: extent.start, end: extent.end }];
  const data = there(extent, has).filter((i) => i < extent.data);
  return data.flatMap((i) => unitsOf(extent, i)).sort((a, b) => a.start - b.start);
}

/**
 * Returns how many depots must fail at least before bytes of a coded extent are lost. It is exact if
 * no shard has two replicas; otherwise the number that has to fail may be larger.
 *
 * @param depotsOf lists the depots with a replica of a shard that counts, each once
 * @returns 0 if bytes are lost already
 */
export function depotsToLose(
  extent: CodedExtent,
  depotsOf: (replicas: readonly ExnodeReplica[]) => readonly string[],
): number {
  const holders = extent.shards
    .filter((_, i) => shardBytes(extent, i) > 0)
    .map((replicas) => depotsOf(replicas));
  const gone = holders.filter(({ length }) => length === 0).length;
  let left = extent.parity + 1 - gone;
  if (left <= 0) return 0;
  // A depot that is one of n with a shard takes no more than the n-th part of it away.
  const takes = new Map<string, number>();
  for (const depots of holders) {
    for (const depot of depots) takes.set(depot, (takes.get(depot) ?? 0) + 1 / depots.length);
  }
  const most = [...takes.values()].sort((a, b) => b - a);
  let depots = 0;
  for (const part of most) {
    if (left < 1e-9) break;
    left -= part;
    depots++;
  }
  return depots;
}
