/** Downloads as a table. */

import type { Millis } from '@millrace/shared/base/clock';
import { formatBytes, formatRate } from '@millrace/shared/base/units';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { printable } from '../text/printable.ts';
import { blockStrip } from '../text/progress-line.ts';
import type { Style } from '../text/style.ts';
import { type Column, table } from '../text/table.ts';
import { isStopped, meaningOf, note, share, shortIdChars } from './download-words.ts';

const COLUMNS: readonly Column[] = [
  { title: 'ID' },
  { title: 'STATE' },
  { title: 'NAME', cut: 'middle', min: 12 },
  { title: 'DONE', align: 'right' },
  { title: 'BLOCKS', drop: 1 },
  { title: 'SIZE', align: 'right', drop: 2 },
  { title: 'SPEED', align: 'right', drop: 3 },
  { title: 'NOTE', cut: 'end', min: 8, drop: 4 },
];
const MEANT = new Set([1, 7]);
const QUIET = new Set([0]);

export interface TableOptions {
  /** Current time, Unix milliseconds. */
  readonly now: Millis;
  /** Columns of the terminal; undefined: no limit. */
  readonly width: number | undefined;
  readonly style: Style;
  /** Stored shares of each file's parts, by gid, of the downloads that show them. */
  readonly strips?: ReadonlyMap<string, readonly number[]>;
}

/** Returns a head and a line per download. */
export function downloadTable(
  downloads: readonly DownloadView[],
  { now, width, style, strips }: TableOptions,
): string[] {
  const idChars = shortIdChars(downloads.map(({ gid }) => gid));
  const rows = downloads.map((d) => [
    d.gid.slice(0, idChars),
    d.status,
    printable(d.name),
    share(d),
    blockStrip(strips?.get(d.gid) ?? []),
    size(d),
    d.status === 'active' ? formatRate(d.bytesPerSecond) : '',
    printable(note(d, now)),
  ]);
  return table(COLUMNS, rows, width, (text, row, column) => {
    if (QUIET.has(column)) return style('quiet', text);
    return MEANT.has(column) ? style(meaningOf(downloads[row] as DownloadView), text) : text;
  });
}

/** Returns one line about all downloads: `2 active, 3 queued, 12 MiB/s`. */
export function summary(downloads: readonly DownloadView[], limit: number | undefined): string {
  const counts = new Map<string, number>();
  for (const d of downloads) {
    const state = isStopped(d) && d.status !== 'error' ? 'finished' : d.status;
    const word = state === 'error' ? 'failed' : state;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const parts = ['active', 'queued', 'waiting', 'paused', 'failed', 'finished'].flatMap((word) => {
    const count = counts.get(word);
    return count === undefined ? [] : [`${count} ${word}`];
  });
  const rate = downloads.reduce(
    (sum, d) => sum + (d.status === 'active' ? d.bytesPerSecond : 0),
    0,
  );
  if (counts.has('active')) parts.push(formatRate(rate));
  if (limit !== undefined) parts.push(`limit ${formatRate(limit)}`);
  return parts.length === 0 ? 'no downloads' : parts.join(', ');
}

function size({ length, storedBytes }: DownloadView): string {
  return length === undefined && storedBytes === 0 ? '' : formatBytes(length ?? storedBytes);
}
