/**
 * Health of a file that was sent: which depots hold it, how these do, and how much of it has how many
 * copies. Judged by what the depots have answered and by what was seen of them before. Pure.
 */

import { rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { SeenDepot } from '../depot-history.ts';
import type { Exnode } from '../exnode.ts';
import { counts, type Findings } from '../findings.ts';
import { depotOf, layoutOf } from '../layout.ts';
import { type Holder, holdersOf } from './holders.ts';

/** Bytes of a file with the same number of copies, wherever they are in it. */
interface CopiedBytes {
  /** Copies that can be read, each at another depot. */
  readonly copies: number;
  readonly bytes: number;
}

export interface Health {
  readonly holders: readonly Holder[];
  /** Bytes of the file by the number of their copies, the fewest first. */
  readonly parts: readonly CopiedBytes[];
  /** Bytes that no depot gives. */
  readonly missingBytes: number;
  /** Depots of which any may fail without a byte missing. */
  readonly mayFail: number;
  /** True if bytes have fewer copies than wanted: further ones can be stored elsewhere. */
  readonly lacksCopies: boolean;
}

/** Measures for the health of a file, besides the answers of its depots. */
export interface HealthOptions {
  /** Accounts of depots. */
  readonly seen: readonly SeenDepot[];
  /** Copies of each byte that are wanted. */
  readonly copies: number;
  /** Unix milliseconds. */
  readonly now: Millis;
}

/**
 * Judges a stored file. Coded extents have no copies: their bytes count as missing or not only.
 *
 * @param findings answers for all replicas
 */
export function healthOf(
  exnode: Exnode,
  findings: Findings,
  { seen, copies: wanted, now }: HealthOptions,
): Health {
  const isThere = (replica: Parameters<typeof counts>[0]) => counts(replica, findings, now);
  const layout = layoutOf(exnode, isThere);
  const byCopies = new Map<number, number>();
  const count = (copies: number, bytes: number) => {
    if (bytes > 0) byCopies.set(copies, (byCopies.get(copies) ?? 0) + bytes);
  };
  for (const extent of exnode.extents) {
    const own = new Set(extent.replicas.filter(isThere).map(depotOf)).size;
    if (own > 0) count(own, rangeBytes(extent));
  }
  const missingBytes = layout.missing.reduce((sum, range) => sum + rangeBytes(range), 0);
  count(0, missingBytes);
  const parts = [...byCopies].map(([copies, bytes]) => ({ copies, bytes }));
  parts.sort((a, b) => a.copies - b.copies);
  return {
    holders: holdersOf(exnode, findings, seen, now),
    ...{ parts, missingBytes, mayFail: layout.mayFail },
    lacksCopies: parts.some(({ copies }) => copies < wanted),
  };
}
