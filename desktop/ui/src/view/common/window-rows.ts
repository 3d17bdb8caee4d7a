/** Chooses the mounted rows of a long list: the visible ones and some around them. */

import type { Range } from '@tanstack/react-virtual';

/** Fewest rows that are mounted above and below the visible ones. */
export const OVERSCAN_ROWS = 4;
/**
 * Number of rows that are mounted or unmounted at a time. Most frames of scrolling then only move
 * rows that are already drawn.
 */
const STEP_ROWS = 4;

/** Returns the indices of the rows to mount, in ascending order. */
export function rowsAround({ startIndex, endIndex, overscan, count }: Range): number[] {
  const first = Math.max(0, Math.floor((startIndex - overscan) / STEP_ROWS) * STEP_ROWS);
  const end = Math.min(count, Math.ceil((endIndex + 1 + overscan) / STEP_ROWS) * STEP_ROWS);
  return Array.from({ length: end - first }, (_, i) => first + i);
}
