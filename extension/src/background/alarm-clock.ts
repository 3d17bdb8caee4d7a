/** Wakes hand-offs: a timer while the background lives, and an alarm that starts it again. */

import type { Millis } from '@millrace/shared/base/clock';
import type { BrowserApi } from '../browser/api.ts';
import type { ClockPort } from '../hand-off/ports.ts';

export const ALARM = 'hand-offs';
/** Period of the alarm, minutes: the shortest that browsers allow. */
const ALARM_MINUTES = 0.5;

export class AlarmClock implements ClockPort {
  readonly #alarms: BrowserApi['alarms'];
  readonly #tick: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #alarmed = false;

  constructor(alarms: BrowserApi['alarms'], tick: () => void) {
    this.#alarms = alarms;
    this.#tick = tick;
  }

  now(): Millis {
    return Date.now();
  }

  wakeAt(at: Millis | undefined): void {
    clearTimeout(this.#timer);
    if (at !== undefined) {
      this.#timer = setTimeout(this.#tick, Math.max(0, at - Date.now()));
    }
    if (this.#alarmed === (at !== undefined)) return;
    this.#alarmed = at !== undefined;
    if (this.#alarmed) void this.#alarms.create(ALARM, { periodInMinutes: ALARM_MINUTES });
    else void this.#alarms.clear(ALARM);
  }
}
