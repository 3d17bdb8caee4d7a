/**
 * The ways in which one block of a file can be had: from replicas that have it as it is, or solved
 * from the other shards of its column.
 */

import { blockInColumn, columnAt } from './coded.ts';
import { blockRange, type CodedExtent, type Exnode, type ExnodeReplica } from './exnode.ts';
import { replicaBlock } from './replicas.ts';

/** A replica that has a block. */
export interface BlockPlace {
  readonly replica: ExnodeReplica;
  /** Position of the block in what the replica's URL serves. */
  readonly at: number;
}

/** A block of a shard. */
export interface ShardBlock {
  /** Index of the shard: data shards come first. */
  readonly index: number;
  /** Length; 0 for the blocks of a short last row that are coded as zeros. */
  readonly bytes: number;
  /** SHA-256, lower-case hexadecimal; empty for zeros. */
  readonly hex: string;
  /** Number of the block in the file; undefined for parity, and for zeros. */
  readonly block: number | undefined;
  readonly places: readonly BlockPlace[];
}

/** The other blocks of a block's column: as many as there is data tell it. */
export interface BlockColumn {
  readonly extent: CodedExtent;
  /** Index of the shard that has the block. */
  readonly own: number;
  readonly others: readonly ShardBlock[];
}

/**
 * How far a replica can be used: `good`; `doubtful`, which has failed lately and is asked last; `out`,
 * not at all.
 */
export type Standing = 'good' | 'doubtful' | 'out';

/** Lists the replicas that have a block as it is. @param index of the block in the file */
export function blockPlaces(exnode: Exnode, index: number): BlockPlace[] {
  const { start } = blockRange(exnode, index);
  const places: BlockPlace[] = [];
  for (const extent of exnode.extents) {
    if (start < extent.start || start >= extent.end) continue;
    for (const replica of extent.replicas) {
      places.push({ replica, at: replica.at + start - extent.start });
    }
  }
  for (const extent of exnode.coded ?? []) {
    if (start < extent.start || start >= extent.end) continue;
    const position = positionInShard(extent, start);
    for (const replica of extent.shards[shardOf(extent, start)] ?? []) {
      places.push({ replica, at: replica.at + position });
    }
  }
  return places;
}

/** Lists the columns that a block can be solved from: one for each coded extent that has it. */
export function blockColumns(exnode: Exnode, index: number): BlockColumn[] {
  const { start } = blockRange(exnode, index);
  const having = (exnode.coded ?? []).filter(
    (extent) => start >= extent.start && start < extent.end,
  );
  return having.map((extent) => {
    const own = shardOf(extent, start);
    const column = columnAt(extent, exnode.blocks.pieceBytes, start);
    const others = [...extent.shards.keys()]
      .filter((shard) => shard !== own)
      .map((shard) => shardBlock(exnode, extent, shard, column));
    return { extent, own, others };
  });
}

/**
 * Puts the places of a block in the order in which they are asked.
 *
 * @param rank orders places of one standing, the lowest first
 */
export function inOrder(
  places: readonly BlockPlace[],
  standingOf: (replica: ExnodeReplica) => Standing,
  rank: (replica: ExnodeReplica) => number,
): { readonly good: BlockPlace[]; readonly doubtful: BlockPlace[] } {
  const ranked = places
    .map((place) => ({ place, standing: standingOf(place.replica), rank: rank(place.replica) }))
    .sort((a, b) => a.rank - b.rank);
  const of = (standing: Standing) =>
    ranked.filter((one) => one.standing === standing).map(({ place }) => place);
  return { good: of('good'), doubtful: of('doubtful') };
}

/**
 * Chooses the shards that a block is solved from: zeros, which cost nothing, then data, then parity,
 * those without a good replica last.
 *
 * @param failed indices of shards that could not be had
 * @returns as many as there is data; undefined if there are too few
 */
export function chooseShards(
  { extent, others }: BlockColumn,
  standingOf: (replica: ExnodeReplica) => Standing,
  failed: ReadonlySet<number>,
): ShardBlock[] | undefined {
  const costOf = ({ bytes, places }: ShardBlock): number => {
    if (bytes === 0) return 0;
    const standings = places.map(({ replica }) => standingOf(replica));
    if (standings.includes('good')) return 1;
    return standings.includes('doubtful') ? 2 : Infinity;
  };
  const chosen = others
    .filter(({ index }) => !failed.has(index))
    .map((shard) => ({ shard, cost: costOf(shard) }))
    .filter(({ cost }) => cost < Infinity)
    .sort((a, b) => a.cost - b.cost || a.shard.index - b.shard.index)
    .slice(0, extent.data)
    .map(({ shard }) => shard);
  return chosen.length < extent.data ? undefined : chosen;
}

function shardBlock(
  exnode: Exnode,
  extent: CodedExtent,
  index: number,
  column: number,
): ShardBlock {
  const isData = index < extent.data;
  const block = isData ? blockInColumn(extent, exnode.blocks.pieceBytes, index, column) : undefined;
  if (isData && block === undefined)
    return { index, bytes: 0, hex: '', block: undefined, places: [] };
  const listed = { replica: { read: '', at: 0 }, extent, shard: { extent, index } };
  const { range, hex } = replicaBlock(exnode, listed, column);
  const replicas = extent.shards[index] ?? [];
  return {
    ...{ index, bytes: range.end - range.start, hex },
    block: block && block.start / exnode.blocks.pieceBytes,
    places: replicas.map((replica) => ({ replica, at: replica.at + range.start })),
  };
}

/** Returns the data shard that has a byte of the extent. */
function shardOf({ start, data, unit }: CodedExtent, at: number): number {
  return Math.floor((at - start) / unit) % data;
}

/** Returns the position of a byte of the extent in its data shard. */
function positionInShard({ start, data, unit }: CodedExtent, at: number): number {
  return Math.floor((at - start) / (data * unit)) * unit + ((at - start) % unit);
}
