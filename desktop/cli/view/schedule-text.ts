/** The schedule as people write it: `mon-fri 08:00-18:00 2MiB/s`, `daily 22:00-06:00 pause`. */

import { MillraceError } from '@millrace/shared/base/errors';
import { parseRate } from '@millrace/shared/base/unit-options';
import { formatRate } from '@millrace/shared/base/units';
import type { ScheduleNow, WindowView } from '@millrace/shared/bridge/rpc/settings-api';

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
type Day = (typeof DAYS)[number];

const WINDOW = /^(\S+)\s+(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})\s+(.+)$/;

/** Reads a window of the schedule. @throws MillraceError `bad-option` that names the fault */
export function parseWindow(text: string): WindowView {
  const match = WINDOW.exec(text.trim().toLowerCase());
  if (!match) {
    throw new MillraceError(
      'bad-option',
      `"${text}" is not a window such as "mon-fri 08:00-18:00 2MiB/s" or "daily 22:00-06:00 pause"`,
    );
  }
  const [, days, from, to, what] = match as unknown as [string, string, string, string, string];
  const times = { days: parseDays(days), from: parseTime(from), to: parseTime(to) };
  return what.trim() === 'pause' ? { ...times, pause: true } : { ...times, limit: parseRate(what) };
}

/** Writes a window so that `parseWindow` reads the same one. */
export function formatWindow(window: WindowView): string {
  // A rounded rate would be read as another rate.
  const rate = (limit: number) => {
    const text = formatRate(limit).replace(' ', '');
    return parseRate(text) === limit ? text : `${limit}B/s`;
  };
  const what = window.limit === undefined ? 'pause' : rate(window.limit);
  return `${formatDays(window.days)} ${window.from}-${window.to} ${what}`;
}

function parseDays(text: string): Day[] {
  if (text === 'daily') return [...DAYS];
  const days = new Set<Day>();
  for (const part of text.split(',')) {
    const [first = '', last = first, ...rest] = part.split('-');
    const [from, to] = [DAYS.indexOf(first as Day), DAYS.indexOf(last as Day)];
    if (from < 0 || to < 0 || rest.length > 0) {
      throw new MillraceError('bad-option', `"${part}" is not a day: ${DAYS.join(', ')}, daily`);
    }
    // A range such as fri-mon crosses the end of the week.
    for (let i = from; ; i = (i + 1) % DAYS.length) {
      days.add(DAYS[i] as Day);
      if (i === to) break;
    }
  }
  return DAYS.filter((day) => days.has(day));
}

function parseTime(text: string): string {
  const [hours = '', minutes = ''] = text.split(':');
  if (Number(hours) > 23 || Number(minutes) > 59) {
    throw new MillraceError('bad-option', `"${text}" is not a time from 00:00 to 23:59`);
  }
  return `${hours.padStart(2, '0')}:${minutes}`;
}

function formatDays(days: readonly Day[]): string {
  if (days.length === DAYS.length) return 'daily';
  const runs: Day[][] = [];
  for (const day of DAYS) {
    if (!days.includes(day)) continue;
    const run = runs.at(-1);
    if (run !== undefined && DAYS.indexOf(run.at(-1) as Day) === DAYS.indexOf(day) - 1)
      run.push(day);
    else runs.push([day]);
  }
  return runs.map((run) => (run.length > 2 ? `${run[0]}-${run.at(-1)}` : run.join(','))).join(',');
}

/** Returns the schedule's present effect in words. */
export function nowText({ now, limit = 0, nextChangeAt }: ScheduleNow): string {
  const words: Readonly<Record<string, string>> = {
    pause: 'downloads wait',
    limit: `downloads are limited to ${formatRate(limit)}`,
  };
  const what = words[now] ?? 'downloads run freely';
  if (nextChangeAt === undefined) return what;
  const at = new Date(nextChangeAt);
  const two = (number: number) => String(number).padStart(2, '0');
  // JavaScript's week begins with Sunday, DAYS with Monday.
  const day = DAYS[(at.getDay() + 6) % DAYS.length];
  return `${what} until ${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}
