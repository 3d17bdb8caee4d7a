/** The progress of a download as one line of text. */

import { formatBytes, formatDuration, formatRate } from '@millrace/shared/base/units';
import type { DownloadProgress } from '../engine/download.ts';

/** What the lines show of a download. */
type Shown = Pick<
  DownloadProgress,
  'length' | 'storedBytes' | 'bytesPerSecond' | 'etaMs' | 'strip'
>;

const CELLS = ['·', '░', '▒', '▓', '█'];
const MIN_STRIP = 10;
const MAX_STRIP = 60;
const MAX_NAME = 28;

/**
 * A line for a terminal: name, share, a strip of the file's blocks as they fill, speed, time left.
 *
 * @param columns width of the terminal; the line is shorter than that
 */
export function terminalLine(name: string, p: Shown, columns: number): string {
  const head = `${shorten(name)} ${percent(p).padStart(4)} `;
  const tail = ` ${formatRate(p.bytesPerSecond)} ${timeLeft(p)}`;
  const room = columns - 1 - head.length - tail.length;
  if (room < MIN_STRIP) return (head + tail.trimStart()).slice(0, Math.max(0, columns - 1));
  const strip = p.length === undefined ? '' : blockStrip(p.strip(Math.min(MAX_STRIP, room)));
  return head + strip + tail;
}

/** A line for a log. */
export function plainLine(name: string, p: Shown): string {
  const of = p.length === undefined ? '' : ` of ${formatBytes(p.length)} (${percent(p)})`;
  return `${name}: ${formatBytes(p.storedBytes)}${of}, ${formatRate(p.bytesPerSecond)}, ${timeLeft(p)}`;
}

/** One character per part of the file, fuller as more of it is there. */
export function blockStrip(shares: readonly number[]): string {
  return shares
    .map((share) => {
      if (share >= 1) return CELLS[4];
      return share <= 0 ? CELLS[0] : CELLS[1 + Math.min(2, Math.floor(share * 3))];
    })
    .join('');
}

function percent({ length, storedBytes }: Shown): string {
  if (length === undefined) return formatBytes(storedBytes);
  return `${length === 0 ? 100 : Math.floor((storedBytes / length) * 100)}%`;
}

function timeLeft({ etaMs }: Shown): string {
  return etaMs === undefined ? '' : `${formatDuration(etaMs)} left`;
}

function shorten(name: string): string {
  if (name.length <= MAX_NAME) return name;
  return `${name.slice(0, MAX_NAME - 12)}…${name.slice(-11)}`;
}
