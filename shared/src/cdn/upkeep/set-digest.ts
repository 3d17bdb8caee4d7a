/**
 * Digests of sets, by which two nodes find out whether they remember the same: 64 bits, which do
 * not depend on the order of the items. They detect accidental differences, not malicious ones.
 */

import { hashText } from '../routing/hrw.ts';

/** 64 bits in two halves. */
export type Pair = readonly [high: number, low: number];

/** Hashes one item of a set. */
export function hashItem(text: string): Pair {
  const { high, low } = hashText(text);
  return [high, low];
}

/** Combines the hashes of items, or the digests of disjoint sets. */
export function combined(pairs: readonly Pair[]): Pair {
  let [high, low] = [0, 0];
  for (const [h, l] of pairs) {
    high = (high ^ h) >>> 0;
    low = (low ^ l) >>> 0;
  }
  return [high, low];
}

/** Writes a digest as nodes send it: 16 hexadecimal digits. */
export function digestText([high, low]: Pair): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

/** The digest of the empty set. */
export const NOTHING_DIGEST: string = digestText([0, 0]);

/** Reads a digest. @param text as `digestText` writes it */
export function parseDigest(text: string): Pair {
  return [Number.parseInt(text.slice(0, 8), 16), Number.parseInt(text.slice(8), 16)];
}
