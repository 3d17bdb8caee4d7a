/** The progress of a download as text. */

import { formatBytes, formatDuration, formatRate } from '@millrace/shared/base/units';
import type { DownloadProgress } from '../../engine/download/download.ts';

/** Members of a download that the lines show. */
export type Shown = Pick<
  DownloadProgress,
  'length' | 'storedBytes' | 'bytesPerSecond' | 'etaMs' | 'strip'
>;

const CELLS = ['·', '░', '▒', '▓', '█'];
/** Returns a line for a log. */
export function plainLine(name: string, p: Shown): string {
  const of = p.length === undefined ? '' : ` of ${formatBytes(p.length)} (${percent(p)})`;
  const rest = [formatRate(p.bytesPerSecond), timeLeft(p)].filter((text) => text !== '');
  return `${name}: ${formatBytes(p.storedBytes)}${of}, ${rest.join(', ')}`;
}

/** Returns one character per part of the file, fuller as more of the part is stored. */
export function blockStrip(shares: readonly number[]): string {
  return shares
    .map((share) => {
      if (share >= 1) return CELLS[4];
      return share <= 0 ? CELLS[0] : CELLS[1 + Math.min(2, Math.floor(share * 3))];
    })
    .join('');
}

/** Returns the stored percentage of the file; the stored bytes where its length is not known. */
export function percent({ length, storedBytes }: Shown): string {
  if (length === undefined) return formatBytes(storedBytes);
  return `${length === 0 ? 100 : Math.floor((storedBytes / length) * 100)}%`;
}

/** Returns the time left in words; an empty text where it is not known. */
export function timeLeft({ etaMs }: Shown): string {
  return etaMs === undefined ? '' : `${formatDuration(etaMs)} left`;
}
