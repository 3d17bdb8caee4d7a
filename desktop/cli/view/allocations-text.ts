/** Files of a depot, as lines of text for its operator. */

import { formatBytes } from '@millrace/shared/base/units';
import type { AllocationList, AllocationView } from '@millrace/shared/cdn/depot/allocation-view';
import { counted } from '../text/counted.ts';
import { printable } from '../text/printable.ts';
import { table } from '../text/table.ts';
import { leaseText } from './edge-text.ts';

/**
 * Lists the files of a depot.
 *
 * @param now Unix milliseconds
 * @param width columns of the terminal; undefined: no limit
 */
export function allocationTable(
  { count, bytes, allocations }: AllocationList,
  now: number,
  width: number | undefined,
): string[] {
  if (count === 0) return ['The depot has no such files.'];
  const rows = allocations.map((one) => [
    one.id,
    printable(one.owner),
    printable(one.name ?? ''),
    formatBytes(one.bytes),
    leaseText(one.expiresAt - now),
    stateOf(one),
    one.sha256 ?? '',
  ]);
  const columns = [
    { title: 'ID' },
    { title: 'OWNER', cut: 'end' },
    { title: 'NAME', cut: 'middle', min: 12 },
    { title: 'SIZE', align: 'right' },
    { title: 'ENDS IN' },
    { title: 'STATE' },
    { title: 'SHA-256', cut: 'end', min: 16 },
  ] as const;
  const rest = count - allocations.length;
  const sum = `${counted(count, 'file')}, ${formatBytes(bytes)}`;
  return [
    ...table(columns, rows, width),
    rest === 0 ? `${sum}.` : `${sum}; ${rest} of them are not shown: --owner narrows the list.`,
  ];
}

function stateOf({ complete, damaged, blocked }: AllocationView): string {
  if (blocked) return 'blocked';
  if (damaged) return 'damaged';
  return complete ? 'complete' : 'being uploaded';
}
