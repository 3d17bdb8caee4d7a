/** Describes a file that has been stored in coded shards. */

import { createHash } from 'node:crypto';
import { shardBytes } from '@millrace/shared/exnode/coded';
import {
  blockBytesFor,
  type CodedExtent,
  type Exnode,
  type ExnodeReplica,
  rootOf,
} from '@millrace/shared/exnode/exnode';
import type { Stripe } from '@millrace/shared/exnode/stripe';
import { sealedMembers } from '../seal/sealed-head.ts';
import type { Allocated } from './depot-client.ts';
import type { EncryptedFile } from './encrypted-file.ts';
import type { StripeDigests } from './stripe-worker.ts';

export interface StripedFile {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly stripe: Stripe;
  readonly digests: StripeDigests;
  /** The ciphertext that is stored in place of the file. */
  readonly encrypted: EncryptedFile | undefined;
  /** Returns what a depot of the stripe has; undefined: it stores nothing. */
  readonly allocated: (depot: number) => Allocated | undefined;
  readonly signal: AbortSignal;
}

/** Returns the exNode, and the SHA-256 of the plain file. @throws as `EncryptedFile.digests` */
export async function stripedExnode(file: StripedFile) {
  const { name, size, digests, encrypted, signal } = file;
  const own = await encrypted?.digests(signal);
  const { sha256 } = own ?? digests;
  const hexes = own?.blocks.hexes ?? digests.blocks;
  const blocks = { algorithm: 'sha256', pieceBytes: blockBytesFor(size), hexes } as const;
  const root = rootOf(size, blocks, (bytes) => createHash('sha256').update(bytes).digest('hex'));
  const sealed = encrypted && sealedMembers(encrypted.key, { name, sha256, root });
  const coded = codedExtents(file);
  const exnode: Exnode = { ...{ name, size, sha256, blocks, root, extents: [], coded }, ...sealed };
  return { exnode, sha256 };
}

function codedExtents({ stripe, digests, allocated }: StripedFile): CodedExtent[] {
  const { data, parity, unit, extents } = stripe;
  return extents.map((extent, e): CodedExtent => {
    const row = data * unit;
    const rows = digests.parity.slice(extent.start / row, Math.ceil(extent.end / row));
    const shards = Array.from({ length: data + parity }, (_, shard): ExnodeReplica[] => {
      const space = allocated(stripe.depotOf(e, shard));
      if (shardBytes(extent, shard) === 0 || space === undefined) return [];
      const { read, write, manage, expires } = space;
      return [{ read, at: stripe.extentAt(e), expires: Date.parse(expires), write, manage }];
    });
    const parityHexes = Array.from({ length: parity }, (_, j) =>
      rows.flatMap((its) => its[j] ?? []),
    );
    return { ...extent, parityHexes, shards };
  });
}
