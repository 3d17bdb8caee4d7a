/**
 * An exNode: the description of a stored file whose bytes lie at several places (LOCI 2.2). It says
 * which ranges of the file can be read where, and has a digest for each block of the file, so that
 * no place has to be trusted.
 */

import type { ByteRange } from '../base/byte-range.ts';
import type { Millis } from '../base/clock.ts';
import { type PieceDigests, pieceRange } from '../base/digest.ts';

/** Media type of the document. */
export const EXNODE_TYPE = 'application/vnd.millrace.exnode+json';
/** Longest document, in bytes of UTF-8. */
export const MAX_EXNODE_BYTES = 16 * 1024 * 1024;
/** Most blocks, extents, replicas of one extent, and replicas of all. */
export const MAX_EXNODE_BLOCKS = 16_384;
export const MAX_EXTENTS = 16_384;
export const MAX_REPLICAS = 64;
export const MAX_ALL_REPLICAS = 65_536;
/** Largest described file, in bytes. */
export const MAX_EXNODE_SIZE = 2 ** 48;
/** Blocks are powers of two, from this size on. */
export const MIN_BLOCK_BYTES = 1024 * 1024;

/** Members of a document that have no meaning here, and are kept to be written again. */
type Unknown = Readonly<Record<string, unknown>>;

/** A copy of an extent: bytes of something that is served by HTTP. */
export interface ExnodeReplica {
  /** URL to read from, which is that of a depot's allocation or of any other file. */
  readonly read: string;
  /** Position of the extent's first byte in what the URL serves. */
  readonly at: number;
  /** End of its lease, Unix milliseconds; undefined: none is known. */
  readonly expires?: Millis | undefined;
  /** Capabilities that only the owner's copy of the exNode has. */
  readonly write?: string | undefined;
  readonly manage?: string | undefined;
  readonly unknown?: Unknown | undefined;
}

/** A range of the file, and its copies. */
export interface Extent extends ByteRange {
  readonly replicas: readonly ExnodeReplica[];
  readonly unknown?: Unknown | undefined;
}

/** How the bytes of a coded extent are laid out. */
export interface CodedLayout extends ByteRange {
  /** Number of data shards. */
  readonly data: number;
  /** Number of parity shards. */
  readonly parity: number;
  /** Bytes: whole blocks. */
  readonly unit: number;
}

export interface CodedExtent extends CodedLayout {
  /** SHA-256 of each block of each parity shard, lower-case hexadecimal. */
  readonly parityHexes: readonly (readonly string[])[];
  /** Replicas of each shard, data first. A data shard of a short extent may have no bytes. */
  readonly shards: readonly (readonly ExnodeReplica[])[];
  readonly unknown?: Unknown | undefined;
}

/** A replica that is being stored: its allocation is not complete, or has not been verified. */
export interface Begun extends ByteRange {
  readonly replica: ExnodeReplica;
  /** Index of the shard of the coded extent with this range; undefined: all of a plain extent. */
  readonly shard?: number | undefined;
}

export interface Exnode {
  /** Name of the file, as somebody gave it: it is made safe before it is used. */
  readonly name: string;
  /** Media type. */
  readonly type?: string | undefined;
  readonly size: number;
  /** SHA-256 of the file, lower-case hexadecimal. */
  readonly sha256?: string | undefined;
  /** SHA-256 of each block. */
  readonly blocks: PieceDigests;
  /** SHA-256 over size and blocks, lower-case hexadecimal: two exNodes of one root are one file. */
  readonly root: string;
  /** Extents in the order in which they were written. They may overlap and leave gaps. */
  readonly extents: readonly Extent[];
  /** Extents that are kept in coded shards. They may overlap the others. */
  readonly coded?: readonly CodedExtent[] | undefined;
  /** Copies of this document to give away; only the owner's copy of the exNode lists them. */
  readonly documents?: readonly ExnodeReplica[] | undefined;
  /** Replicas that are being stored; only the owner's copy of the exNode lists them. */
  readonly begun?: readonly Begun[] | undefined;
  /** Head of an encrypted file, sealed; base64. Digests and root are then those of its ciphertext. */
  readonly sealed?: string | undefined;
  /** Key of an encrypted file, base64url; only the owner's copy of the exNode has it. */
  readonly key?: string | undefined;
  readonly unknown?: Unknown | undefined;
}

/** An exNode whose file can be read: name, type and digest are those of the plain file. */
export interface ReadableExnode extends Exnode {
  /** Key of the body of an encrypted file. */
  readonly bodyKey?: Uint8Array | undefined;
}

/** Computes a SHA-256. @returns lower-case hexadecimal */
export type Sha256 = (bytes: Uint8Array) => string;

/** Returns the size of the blocks of a file: the smallest of which few enough suffice. */
export function blockBytesFor(size: number): number {
  let bytes = MIN_BLOCK_BYTES;
  while (size / bytes > MAX_EXNODE_BLOCKS) bytes *= 2;
  return bytes;
}

/**
 * Computes the root: SHA-256 over the file's size and the size of its blocks, each as eight bytes
 * with the highest first, and the digests of all blocks in order.
 */
export function rootOf(size: number, { pieceBytes, hexes }: PieceDigests, sha256: Sha256): string {
  const bytes = new Uint8Array(16 + 32 * hexes.length);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(size));
  view.setBigUint64(8, BigInt(pieceBytes));
  for (const [i, hex] of hexes.entries()) bytes.set(bytesOfHex(hex), 16 + 32 * i);
  return sha256(bytes);
}

/** Returns the range of a block. */
export function blockRange({ size, blocks }: Exnode, index: number): ByteRange {
  return pieceRange(blocks, size, index);
}

/** Reads pairs of hexadecimal digits. */
export function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) =>
    Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
  );
}
