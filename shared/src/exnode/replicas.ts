/** Walks over the replicas of an exNode, and changes them. */

import { type ByteRange, rangeBytes } from '../base/byte-range.ts';
import { blockInColumn, columnRange, shardBytes } from './coded.ts';
import {
  type Begun,
  blockRange,
  type CodedExtent,
  type Exnode,
  type ExnodeReplica,
  type Extent,
} from './exnode.ts';

/** A replica, and the range of the file that it is for; a copy of the exNode itself has none. */
export interface Listed {
  readonly replica: ExnodeReplica;
  readonly extent: ByteRange | undefined;
  /** The shard that the replica has; undefined: it has the whole range. */
  readonly shard?: { readonly extent: CodedExtent; readonly index: number } | undefined;
}

/** A block of a replica. */
export interface ReplicaBlock {
  /** Range within the replica. */
  readonly range: ByteRange;
  /** SHA-256, lower-case hexadecimal. */
  readonly hex: string;
  /** The block of the file that it is. For parity: the first one that it is computed from. */
  readonly block: number;
}

/** Lists all replicas that can be read: those of the file, then the copies of the exNode. */
export function allReplicas({ extents, coded = [], documents = [] }: Exnode): Listed[] {
  return [
    ...extents.flatMap((extent) => extent.replicas.map((replica) => ({ replica, extent }))),
    ...coded.flatMap((extent) =>
      extent.shards.flatMap((replicas, index) =>
        replicas.map((replica) => ({ replica, extent, shard: { extent, index } })),
      ),
    ),
    ...documents.map((replica) => ({ replica, extent: undefined })),
  ];
}

/** Returns the length of a replica. A copy of the exNode itself has any. */
export function replicaBytes({ extent, shard }: Listed): number {
  if (shard !== undefined) return shardBytes(shard.extent, shard.index);
  return extent === undefined ? 0 : rangeBytes(extent);
}

/** Returns a block of a replica of the file. @param number counts from 0 */
export function replicaBlock(exnode: Exnode, listed: Listed, number: number): ReplicaBlock {
  const { pieceBytes, hexes } = exnode.blocks;
  const { extent, shard } = listed;
  if (shard === undefined) {
    const start = extent?.start ?? 0;
    const block = start / pieceBytes + number;
    const range = blockRange(exnode, block);
    return {
      range: { start: range.start - start, end: range.end - start },
      hex: hexes[block] as string,
      block,
    };
  }
  const { data, parityHexes } = shard.extent;
  const column = columnRange(shard.extent, pieceBytes, number);
  const of = shard.index < data ? shard.index : 0;
  const { start, end } = blockInColumn(shard.extent, pieceBytes, of, number) as ByteRange;
  const block = start / pieceBytes;
  if (shard.index >= data) {
    return { range: column, hex: parityHexes[shard.index - data]?.[number] as string, block };
  }
  const range = { start: column.start, end: column.start + end - start };
  return { range, hex: hexes[block] as string, block };
}

/**
 * Makes an exNode with other replicas.
 *
 * @param change returns what is listed instead of a replica; undefined: nothing. An extent without
 *   any is left out
 */
export function withReplicas(
  exnode: Exnode,
  change: (replica: ExnodeReplica) => ExnodeReplica | undefined,
): Exnode {
  const changed = (replicas: readonly ExnodeReplica[]) =>
    replicas.flatMap((replica) => change(replica) ?? []);
  const extents = exnode.extents.flatMap((extent): Extent[] => {
    const replicas = changed(extent.replicas);
    return replicas.length === 0 ? [] : [{ ...extent, replicas }];
  });
  const coded = exnode.coded?.flatMap((extent): CodedExtent[] => {
    const shards = extent.shards.map(changed);
    return shards.every(({ length }) => length === 0) ? [] : [{ ...extent, shards }];
  });
  const documents = exnode.documents && changed(exnode.documents);
  const begun = (exnode.begun ?? []).flatMap((one) => {
    const replica = change(one.replica);
    return replica === undefined ? [] : { ...one, replica };
  });
  const left = documents?.length === 0 ? undefined : documents;
  return withBegun({ ...exnode, extents, coded, documents: left }, begun);
}

/** Returns an exNode with other replicas that are being stored. */
export function withBegun(exnode: Exnode, begun: readonly Begun[]): Exnode {
  return { ...exnode, begun: begun.length === 0 ? undefined : begun };
}

/** Lists a replica that has been stored and verified with its extent, and as begun no more. */
export function withStored(exnode: Exnode, stored: Begun, replica: ExnodeReplica): Exnode {
  const isSame = ({ start, end }: ByteRange) => start === stored.start && end === stored.end;
  const [plain, inShards] =
    stored.shard === undefined
      ? [exnode.extents.findIndex(isSame), -1]
      : [-1, exnode.coded?.findIndex(isSame) ?? -1];
  const extents = exnode.extents.map((extent, i) =>
    i === plain ? { ...extent, replicas: [...extent.replicas, replica] } : extent,
  );
  const coded = exnode.coded?.map((extent, i) => {
    if (i !== inShards) return extent;
    const shards = extent.shards.map((own, shard) =>
      shard === stored.shard ? [...own, replica] : own,
    );
    return { ...extent, shards };
  });
  const begun = (exnode.begun ?? []).filter((one) => one.replica.read !== stored.replica.read);
  return withBegun({ ...exnode, extents, coded }, begun);
}
