/** Walks over the replicas of an exNode, and changes them. */

import type { ByteRange } from '../base/byte-range.ts';
import type { Begun, Exnode, ExnodeReplica, Extent } from './exnode.ts';

/** A replica, and the range of the file that it has; a copy of the exNode itself has none. */
export interface Listed {
  readonly replica: ExnodeReplica;
  readonly extent: ByteRange | undefined;
}

/** Lists all replicas that can be read: those of the file, then the copies of the exNode. */
export function allReplicas({ extents, documents = [] }: Exnode): Listed[] {
  return [
    ...extents.flatMap((extent) => extent.replicas.map((replica) => ({ replica, extent }))),
    ...documents.map((replica) => ({ replica, extent: undefined })),
  ];
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
  const documents = exnode.documents && changed(exnode.documents);
  const begun = (exnode.begun ?? []).flatMap((one) => {
    const replica = change(one.replica);
    return replica === undefined ? [] : { ...one, replica };
  });
  const left = documents?.length === 0 ? undefined : documents;
  return withBegun({ ...exnode, extents, documents: left }, begun);
}

/** Returns an exNode with other replicas that are being stored. */
export function withBegun(exnode: Exnode, begun: readonly Begun[]): Exnode {
  return { ...exnode, begun: begun.length === 0 ? undefined : begun };
}

/** Lists a replica that has been stored and verified with its extent, and as begun no more. */
export function withStored(exnode: Exnode, stored: Begun, replica: ExnodeReplica): Exnode {
  const { start, end } = stored;
  const at = exnode.extents.findIndex((extent) => extent.start === start && extent.end === end);
  const extents = exnode.extents.map((extent, i) =>
    i === at ? { ...extent, replicas: [...extent.replicas, replica] } : extent,
  );
  const begun = (exnode.begun ?? []).filter((one) => one.replica.read !== stored.replica.read);
  return withBegun({ ...exnode, extents }, begun);
}
