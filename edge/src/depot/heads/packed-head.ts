/**
 * Heads in little memory. A depot may have a million files, and few of them are used at a time: as an
 * object with strings, a head takes 1 KB, packed into one string 300 bytes.
 *
 * Each character of the string is a byte: id (12), three proofs and the SHA-256 of the content (32
 * each), five numbers (8 each), flags (1), and the other fields as JSON in UTF-8.
 */

import { LRUCache } from 'lru-cache';
import type { Head } from './head.ts';

/** A packed head. */
export type PackedHead = string & { readonly packedHead: unique symbol };

/** Heads that are packed: those of complete uploads. */
type CompleteHead = Head & Required<Pick<Head, 'final'>>;

const ID_BYTES = 12;
const DIGEST_BYTES = 32;
const SHA256_AT = ID_BYTES + 3 * DIGEST_BYTES;
const NUMBERS_AT = SHA256_AT + DIGEST_BYTES;
const LENGTH_AT = NUMBERS_AT;
const FLAGS_AT = NUMBERS_AT + 5 * 8;
const REST_AT = FLAGS_AT + 1;
/** The stated length or SHA-256 is that of the content. */
const [GROWS, RESUMABLE, SAME_LENGTH, SAME_SHA256] = [1, 2, 4, 8] as const;

/** Heads that were unpacked last: a request asks for the same one many times. */
const unpacked = new LRUCache<PackedHead, Head>({ max: 256 });

/** Packs the head of a complete upload. */
export function packHead(head: CompleteHead): PackedHead {
  const {
    format: _,
    id,
    proofs,
    createdAt,
    expiresAt,
    bytes,
    grows,
    resumable,
    final,
    ...more
  } = head;
  const { length, sha256, ...others } = more;
  const isSameLength = length === final.length;
  const isSameSha256 = sha256 === final.sha256;
  const rest = {
    ...others,
    length: isSameLength ? undefined : length,
    sha256: isSameSha256 ? undefined : sha256,
  };
  const text = JSON.stringify(rest);
  const packed = Buffer.allocUnsafe(REST_AT + Buffer.byteLength(text));
  packed.write(id, 0, 'base64url');
  packed.write(proofs.read + proofs.write + proofs.manage + final.sha256, ID_BYTES, 'hex');
  for (const [i, number] of [final.length, final.at, createdAt, expiresAt, bytes].entries()) {
    packed.writeDoubleLE(number, NUMBERS_AT + i * 8);
  }
  packed[FLAGS_AT] =
    (grows ? GROWS : 0) |
    (resumable ? RESUMABLE : 0) |
    (isSameLength ? SAME_LENGTH : 0) |
    (isSameSha256 ? SAME_SHA256 : 0);
  packed.write(text, REST_AT);
  return packed.toString('latin1') as PackedHead;
}

/** Unpacks a head: it equals the one that was packed. */
export function unpackHead(packed: PackedHead): Head {
  const known = unpacked.get(packed);
  if (known !== undefined) return known;
  const bytes = Buffer.from(packed, 'latin1');
  const digests = bytes.toString('hex', ID_BYTES, NUMBERS_AT);
  const digest = (i: number) => digests.slice(i * 64, (i + 1) * 64);
  const number = (i: number) => bytes.readDoubleLE(NUMBERS_AT + i * 8);
  const flags = bytes[FLAGS_AT] as number;
  const final = { length: number(0), sha256: digest(3), at: number(1) };
  const head: Head = {
    ...{ format: 1, id: idOf(packed) },
    ...{ proofs: { read: digest(0), write: digest(1), manage: digest(2) }, final },
    ...{ createdAt: number(2), expiresAt: number(3), bytes: number(4) },
    ...{ grows: (flags & GROWS) !== 0, resumable: (flags & RESUMABLE) !== 0 },
    ...((flags & SAME_LENGTH) !== 0 && { length: final.length }),
    ...((flags & SAME_SHA256) !== 0 && { sha256: final.sha256 }),
    ...JSON.parse(bytes.toString('utf8', REST_AT)),
  };
  unpacked.set(packed, head);
  return head;
}

/** Returns the id of a packed head. */
export function idOf(packed: PackedHead): string {
  return Buffer.from(packed.slice(0, ID_BYTES), 'latin1').toString('base64url');
}

/** Returns the length of the content. */
export function lengthOf(packed: PackedHead): number {
  return Buffer.from(packed.slice(LENGTH_AT, LENGTH_AT + 8), 'latin1').readDoubleLE();
}

/** Returns true if the head may have a type: for looking through many, which unpacks the others. */
export function mayHaveType(packed: PackedHead, type: string): boolean {
  return packed.includes(Buffer.from(JSON.stringify(type)).toString('latin1'), REST_AT);
}
