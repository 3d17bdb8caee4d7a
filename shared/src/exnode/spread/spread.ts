/** Plans how a file is spread over depots: which of them store which extents (LOCI 3.2.1). */

import type { ByteRange } from '../../base/byte-range.ts';
import { blockBytesFor } from '../exnode.ts';

/** Longest extent: what an upload to a depot that fails for good has to send again. */
const MAX_EXTENT_BYTES = 1024 * 1024 * 1024;
/** Shortest extent of those into which the share of a depot is cut: each costs some round trips. */
const MIN_EXTENT_BYTES = 64 * 1024 * 1024;
/** Extents of a depot: faster ones take over what has not begun elsewhere, slower ones keep less. */
const EXTENTS_PER_DEPOT = 4;

/** An extent, and the depots that store it. */
export interface PlannedExtent extends ByteRange {
  /** Indices of depots, each once. */
  readonly depots: readonly number[];
}

/**
 * Plans the extents of a file. If every depot gets a copy, there is one extent, which any program
 * can download by its link. Otherwise extents go to the depots in turn, so that each stores about
 * as much as the others, as long as nothing is known of their speed.
 *
 * @param size bytes of the file, from 0
 * @param depots number of depots, from 1
 * @param copies copies of each byte, 1 to `depots`
 * @returns extents of whole blocks that cover the file in order; none for an empty file
 */
export function planSpread(size: number, depots: number, copies: number): PlannedExtent[] {
  const all = Array.from({ length: depots }, (_, i) => i);
  if (size === 0) return [];
  if (copies === depots) return [{ start: 0, end: size, depots: all }];
  const blockBytes = blockBytesFor(size);
  const share = size / depots;
  const wanted = Math.max(share / EXTENTS_PER_DEPOT, Math.min(share, MIN_EXTENT_BYTES));
  const most = Math.max(blockBytes, Math.min(MAX_EXTENT_BYTES, wanted));
  const bytes = Math.ceil(most / blockBytes) * blockBytes;
  return Array.from({ length: Math.ceil(size / bytes) }, (_, i) => ({
    start: i * bytes,
    end: Math.min(size, (i + 1) * bytes),
    depots: Array.from({ length: copies }, (_, copy) => (i * copies + copy) % depots),
  }));
}

/**
 * Changes a plan so that depots to which an earlier run has begun to upload extents go on with these: its
 * extents may have gone to other depots than planned.
 *
 * @param begun lists the depots with a part of an extent, each once
 * @returns the plan, with as many depots for each extent
 */
export function goOnWith(
  plan: readonly PlannedExtent[],
  begun: (extent: PlannedExtent) => readonly number[],
): PlannedExtent[] {
  return plan.map((extent) => {
    const all = new Set([...begun(extent), ...extent.depots]);
    return { ...extent, depots: [...all].slice(0, extent.depots.length) };
  });
}
