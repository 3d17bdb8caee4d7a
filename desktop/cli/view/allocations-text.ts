/** Files of a depot, as lines of text for its operator. */

import { formatBytes } from '@millrace/shared/base/units';
import { printable } from '../text/printable.ts';
import { table } from '../text/table.ts';
import { leaseText } from './edge-text.ts';

interface Allocation {
  readonly id: string;
  readonly owner: string;
  readonly name?: string;
  readonly bytes: number;
  readonly complete: boolean;
  readonly sha256?: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  readonly damaged: boolean;
  readonly blocked: boolean;
}

/** An edge's answer to a request for its list. */
export interface Allocations {
  /** All that were asked for, and their bytes; the list has the first of them. */
  readonly count: number;
  readonly bytes: number;
  readonly allocations: readonly Allocation[];
}

/** An edge's answer to a request to delete or block. */
export interface TakenDown {
  readonly digests: readonly string[];
  readonly allocations: readonly Allocation[];
  /** Files that were not reached. */
  readonly left: number;
}

/**
 * Lists the files of a depot.
 *
 * @param now Unix milliseconds
 * @param width columns of the terminal; undefined: no limit
 */
export function allocationTable(
  { count, bytes, allocations }: Allocations,
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
  const sum = `${count === 1 ? '1 file' : `${count} files`}, ${formatBytes(bytes)}`;
  return [
    ...table(columns, rows, width),
    rest === 0 ? `${sum}.` : `${sum}; ${rest} of them are not shown: --owner narrows the list.`,
  ];
}

function stateOf({ complete, damaged, blocked }: Allocation): string {
  if (blocked) return 'blocked';
  if (damaged) return 'damaged';
  return complete ? 'complete' : 'being uploaded';
}
