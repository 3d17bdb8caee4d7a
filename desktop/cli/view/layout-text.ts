/** The layout of a stored file: as lines of text, and as a document for programs. */

import { shownRanges } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { formatBytes } from '@millrace/shared/base/units';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import type { Layout } from '@millrace/shared/exnode/layout';
import { printable } from '../text/printable.ts';
import type { Style } from '../text/style.ts';
import { table } from '../text/table.ts';
import { leaseText } from './edge-text.ts';

export interface ShownLayout {
  readonly exnode: Exnode;
  readonly layout: Layout;
}

const LABEL_CHARS = 11;

/** Returns the document for programs. */
export function layoutDocument({ exnode, layout }: ShownLayout): object {
  const { name, size, sha256, root } = exnode;
  const { extents, mayFail, weakest, missing, expires, completeUntil, depots } = layout;
  return {
    ...{ name, size, sha256, root, extents, mayFail, weakest, missing },
    ...{ expires: dateOf(expires), completeUntil: dateOf(completeUntil) },
    depots: depots.map((share) => ({ ...share, expires: dateOf(share.expires) })),
  };
}

/**
 * Returns the lines about a layout.
 *
 * @param now Unix milliseconds
 * @param width columns of the terminal; undefined: no limit
 */
export function layoutText(
  { exnode, layout }: ShownLayout,
  now: Millis,
  width: number | undefined,
  style: Style,
): string[] {
  const { missing, expires, completeUntil } = layout;
  const lines = [style('title', printable(exnode.name))];
  const add = (label: string, value: string) =>
    lines.push(`  ${label.padEnd(LABEL_CHARS)} ${value}`);
  const when = (end: Millis) => `${dateOf(end)}, in ${leaseText(end - now)}`;
  add('size', formatBytes(exnode.size));
  if (exnode.sha256 !== undefined) add('digest', `sha-256=${exnode.sha256}`);
  add('extents', String(layout.extents));
  if (missing.length > 0) add('missing', style('bad', `nobody has ${shownRanges(missing)}`));
  else add('may fail', mayFailText(layout));
  if (expires !== undefined) add('first end', when(expires));
  if (completeUntil !== undefined) add('complete', `until ${when(completeUntil)}`);
  return [...lines, ...(layout.depots.length > 0 ? ['', ...depotTable(layout, now, width)] : [])];
}

function mayFailText({ mayFail, weakest, depots }: Layout): string {
  if (weakest === undefined) return 'all depots: the file is empty';
  if (mayFail > 0) return `any ${mayFail} of ${depots.length} depots`;
  return `no depot: one alone has ${shownRanges([weakest])}`;
}

function depotTable({ depots }: Layout, now: Millis, width: number | undefined): string[] {
  const rows = depots.map(({ depot, replicas, bytes, expires }) => [
    depot,
    formatBytes(bytes),
    String(replicas),
    expires === undefined ? '' : leaseText(expires - now),
  ]);
  const columns = [
    { title: 'DEPOT', cut: 'middle', min: 16 },
    { title: 'HAS', align: 'right' },
    { title: 'REPLICAS', align: 'right' },
    { title: 'ENDS IN' },
  ] as const;
  return table(columns, rows, width);
}

function dateOf(end: Millis | undefined): string | undefined {
  return end === undefined ? undefined : new Date(end).toISOString();
}
