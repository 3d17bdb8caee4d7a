/** Everything about one download, as text. */

import type { Millis } from '@millrace/shared/base/clock';
import { formatBytes, formatDuration, formatRate } from '@millrace/shared/base/units';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { SourceStatus } from '@millrace/shared/bridge/rpc/detail-api';
import type { AfterStep } from '@millrace/shared/download/after/after';
import { printable } from '../text/printable.ts';
import { blockStrip } from '../text/progress-line.ts';
import type { Meaning, Style } from '../text/style.ts';
import { type Column, table } from '../text/table.ts';
import { typedAs } from '../text/typed-as.ts';
import { ago, meaningOf, note, share } from './download-words.ts';

export interface Details {
  readonly download: DownloadView;
  readonly sources: readonly SourceStatus[];
  /** Stored shares of the parts of the file. */
  readonly strip: readonly number[];
}

const SOURCE_COLUMNS: readonly Column[] = [
  { title: 'STATE' },
  { title: 'KIND' },
  { title: 'SPEED', align: 'right' },
  { title: 'RECEIVED', align: 'right' },
  { title: 'REQUESTS', align: 'right' },
  { title: 'SOURCE', cut: 'end', min: 16 },
  { title: 'REASON', cut: 'end', min: 16 },
];
const SOURCE_MEANINGS: Readonly<Record<string, Meaning>> = {
  used: 'good',
  resting: 'held',
  quarantined: 'bad',
};
const LABEL_CHARS = 11;

/**
 * Returns the lines about one download.
 *
 * @param now Unix milliseconds
 * @param width columns of the terminal; undefined: no limit
 */
export function infoText(
  { download: d, sources, strip }: Details,
  now: Millis,
  width: number | undefined,
  style: Style,
): string[] {
  const lines: string[] = [style('title', printable(d.name))];
  const add = (label: string, value: string | undefined) => {
    if (value !== undefined && value !== '') lines.push(`  ${label.padEnd(LABEL_CHARS)} ${value}`);
  };
  add('id', d.gid);
  add('state', style(meaningOf(d), stateText(d, now)));
  add('file', printable(d.path ?? d.dir));
  add('size', sizeText(d));
  if (strip.length > 0 && d.status !== 'complete') add('blocks', blockStrip(strip));
  add('limit', d.limit === undefined ? undefined : formatRate(d.limit));
  add('priority', d.priority === 0 ? undefined : String(d.priority));
  add('category', d.category === undefined ? undefined : printable(d.category));
  add('added', ago(now - d.createdAt));
  add('took', tookText(d));
  add('attempts', d.attempts > 1 ? String(d.attempts) : undefined);
  add('signed by', d.vouch && `${printable(d.vouch.by)} (key ${printable(d.vouch.fingerprint)})`);
  add('digest', d.digest && `${d.digest.algorithm.replace(/^sha/, 'sha-')}=${d.digest.hex}`);
  for (const [i, url] of d.urls.entries()) add(i === 0 ? 'from' : '', printable(url));
  for (const [i, step] of (d.after ?? []).entries()) add(i === 0 ? 'after' : '', stepText(step));
  if (d.error !== undefined) lines.push(...errorText(d.error, d, style));
  if (sources.length > 0) lines.push('', ...sourceTable(sources, width, style));
  return lines;
}

/** Returns an action and how it went, such as `run=scan failed: exit status 1`. */
function stepText({ action, with: value, state, detail }: AfterStep): string {
  const what = value === undefined ? action : `${action}=${value}`;
  const why = detail?.split('\n')[0] ?? '';
  return printable(`${what} ${state}${why === '' ? '' : `: ${why}`}`);
}

function stateText(d: DownloadView, now: Millis): string {
  const speed = d.status === 'active' ? formatRate(d.bytesPerSecond) : '';
  // The failure is described at length below.
  const more = d.status === 'error' ? '' : printable(note({ ...d, error: undefined }, now));
  const done = d.status === 'complete' ? '' : share(d);
  return [d.status, done, speed, more].filter((text) => text !== '').join(', ');
}

function sizeText({ length, storedBytes, receivedBytes, status }: DownloadView): string {
  if (status === 'complete') return formatBytes(length ?? storedBytes);
  const there = `${formatBytes(storedBytes)} of ${length === undefined ? 'an unknown size' : formatBytes(length)}`;
  return receivedBytes > storedBytes ? `${there} (${formatBytes(receivedBytes)} received)` : there;
}

function tookText({ finishedAt, activeMs, length }: DownloadView): string | undefined {
  if (finishedAt === undefined || activeMs === undefined || activeMs === 0) return undefined;
  const ms = activeMs;
  const rate = length === undefined ? '' : `, ${formatRate(length / Math.max(0.001, ms / 1000))}`;
  return formatDuration(ms) + rate;
}

function errorText(
  { message, advice }: NonNullable<DownloadView['error']>,
  { gid, expiredLink, page }: DownloadView,
  style: Style,
): string[] {
  const lines = ['', style('bad', `${printable(message)}.`), printable(typedAs(advice))];
  if (expiredLink) {
    lines.push(typedAs(`Give it a new link: millrace url ${gid.slice(0, 6)} URL`));
    if (page !== undefined) lines.push(`The old link was on this page: ${printable(page)}`);
  }
  return lines;
}

function sourceTable(
  sources: readonly SourceStatus[],
  width: number | undefined,
  style: Style,
): string[] {
  const rows = sources.map((source) => [
    source.state,
    source.kind,
    source.state === 'used' ? formatRate(source.bytesPerSecond) : '',
    formatBytes(source.receivedBytes),
    String(source.connections),
    printable(source.label),
    printable(source.reason ?? ''),
  ]);
  return table(SOURCE_COLUMNS, rows, width, (text, row, column) =>
    column === 0 ? style(SOURCE_MEANINGS[sources[row]?.state ?? ''] ?? 'plain', text) : text,
  );
}
