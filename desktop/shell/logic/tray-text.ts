/** Texts and figures about the downloads, for tray and taskbar. */

import { formatRate } from '@millrace/shared/base/units';
import type { Words } from '../text/words.ts';
import type { Totals } from './totals.ts';

export type DaemonState = 'starting' | 'running' | 'down';

/** Most characters of a tooltip: Windows cuts off longer ones. */
const MAX_CHARS = 127;

/** Returns one line, such as `3 downloads · 42% · 12 MiB/s · 4 min left`. */
export function trayText(daemon: DaemonState, totals: Totals, words: Words): string {
  if (daemon === 'starting') return words.t('engineStarting');
  if (daemon === 'down') return words.t('engineDown');
  const { active, waiting, share, bytesPerSecond, etaMs } = totals;
  const parts: string[] = [];
  if (active > 0) {
    parts.push(words.n('running', active));
    if (share !== undefined) parts.push(`${percent(share)}%`);
    parts.push(formatRate(bytesPerSecond));
    if (etaMs !== undefined) parts.push(words.t('left', { time: roughTime(etaMs) }));
  }
  if (waiting > 0) parts.push(words.n('waiting', waiting));
  const text = parts.length === 0 ? words.t('idle') : parts.join(' · ');
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS - 1)}…`;
}

/**
 * Returns the figure for taskbar and dock: 0 to 1; 2: busy for an unknown time; -1: nothing. In
 * whole percents, so that they are redrawn only when needed.
 */
export function taskbarProgress({ active, share }: Totals): number {
  if (active === 0) return -1;
  return share === undefined ? 2 : percent(share) / 100;
}

/** Returns whole percents; never 100, as a download still runs. */
function percent(share: number): number {
  return Math.min(Math.floor(share * 100), 99);
}

/** Returns a time in its largest unit only: `40 s`, `5 min`, `3 h`, `2 d`. */
function roughTime(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
