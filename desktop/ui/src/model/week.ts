/** Time windows as bars on the days of a week. */

import { WEEKDAYS, type WindowView } from '@millrace/shared/bridge/rpc/settings-api';

const DAY_MINUTES = 1440;

export interface WeekBar {
  /** Minutes after midnight, 0 to 1440. */
  readonly from: number;
  readonly to: number;
  readonly pause: boolean;
}

/** Returns bars by day, Monday first; a window over midnight has a part on the next day. */
export function weekBars(windows: readonly WindowView[]): WeekBar[][] {
  const week: WeekBar[][] = WEEKDAYS.map(() => []);
  for (const { days, from, to, pause } of windows) {
    const [start, end] = [minuteOf(from), minuteOf(to)];
    for (const day of days) {
      const i = WEEKDAYS.indexOf(day);
      const next = week[(i + 1) % WEEKDAYS.length];
      const bar = { from: start, pause: pause === true };
      week[i]?.push({ ...bar, to: end > start ? end : DAY_MINUTES });
      if (end <= start && end > 0) next?.push({ from: 0, to: end, pause: pause === true });
    }
  }
  return week;
}

/** Returns the minute of the day. @param time HH:MM */
function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}
