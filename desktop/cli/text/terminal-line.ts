/** Formats the progress of a download as one line of a terminal, drawn again and again. */

import { formatRate } from '@millrace/shared/base/units';
import { cutEnd, cutMiddle, displayWidth } from './display.ts';
import { blockStrip, percent, type Shown, timeLeft } from './progress-line.ts';

const MIN_STRIP = 10;
const MAX_STRIP = 60;
const MAX_NAME = 28;

/**
 * Returns name, share, a strip of the file's blocks as they fill, speed, and time left.
 *
 * @param name printable name
 * @param columns width of the terminal; the line is shorter than that
 */
export function terminalLine(name: string, p: Shown, columns: number): string {
  const head = `${cutMiddle(name, MAX_NAME)} ${percent(p).padStart(4)} `;
  const tail = ` ${formatRate(p.bytesPerSecond)} ${timeLeft(p)}`.trimEnd();
  const room = columns - 1 - displayWidth(head) - tail.length;
  if (room < MIN_STRIP) return cutEnd(head + tail.trimStart(), Math.max(0, columns - 1));
  const strip = p.length === undefined ? '' : blockStrip(p.strip(Math.min(MAX_STRIP, room)));
  return head + strip + tail;
}
