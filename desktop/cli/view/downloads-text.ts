/** Downloads of an edge's files, as lines of text. */

import { formatBytes } from '@millrace/shared/base/units';
import type { CountPart, Growth } from '@millrace/shared/cdn/figures/download-table';
import { printable } from '../text/printable.ts';
import { table } from '../text/table.ts';

/**
 * Lists sums of downloads, days in order and all else by number.
 *
 * @param width columns of the terminal; undefined: no limit
 */
export function downloadsTable(
  sums: readonly (Growth & { readonly name: string })[],
  by: CountPart,
  width: number | undefined,
): string[] {
  if (sums.length === 0) return ['No downloads in these days.'];
  const order = by === 'day' ? sums : sums.toSorted((a, b) => b.begun - a.begun);
  const rows = order.map(({ name, begun, completed, bytes }) => [
    printable(name),
    String(begun),
    String(completed),
    formatBytes(bytes),
  ]);
  const columns = [
    { title: by.toUpperCase(), cut: 'middle', min: 12 },
    { title: 'BEGUN', align: 'right' },
    { title: 'COMPLETED', align: 'right' },
    { title: 'SENT', align: 'right' },
  ] as const;
  return table(columns, rows, width);
}
