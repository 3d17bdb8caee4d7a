/**
 * Digests of sets, by which two nodes find out whether they remember the same: 64 bits, independent
 * of the order of the members. They protect against accident, not against malice.
 */

import { hashText } from '../routing/hrw.ts';

/** 64 bits in two halves. */
export type Pair = readonly [high: number, low: number];

/** One thing that is in a set. */
export function hashItem(text: string): Pair {
  const { high, low } = hashText(text);
  return [high, low];
}

/** A set of things, or a union of sets that have nothing in common. */
export function combined(pairs: readonly Pair[]): Pair {
  let [high, low] = [0, 0];
  for (const [h, l] of pairs) {
    high = (high ^ h) >>> 0;
    low = (low ^ l) >>> 0;
  }
  return [high, low];
}

/** As nodes tell it: 16 hexadecimal digits. */
export function digestText([high, low]: Pair): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

/** The digest of the empty set. */
export const NOTHING_DIGEST: string = digestText([0, 0]);

/** @param text as `digestText` writes it */
export function parseDigest(text: string): Pair {
  return [Number.parseInt(text.slice(0, 8), 16), Number.parseInt(text.slice(8), 16)];
}
