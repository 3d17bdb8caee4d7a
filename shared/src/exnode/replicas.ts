/** Walks over the replicas of an exNode, and changes them. */

import type { ByteRange } from '../base/byte-range.ts';
import type { Exnode, ExnodeReplica, Extent } from './exnode.ts';

/** A replica, and the range of the file that it has; a copy of the exNode itself has none. */
export interface Listed {
  readonly replica: ExnodeReplica;
  readonly extent: ByteRange | undefined;
}

/** Lists all replicas: those of the file, then the copies of the exNode. */
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
  return { ...exnode, extents, documents: documents?.length === 0 ? undefined : documents };
}
