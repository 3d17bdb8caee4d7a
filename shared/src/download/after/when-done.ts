/**
 * Decides when the machine sleeps or shuts down because all downloads are done. The wish holds for one
 * run of the daemon, and it is carried out once.
 */

import type { Millis } from '../../base/clock.ts';

export const WHEN_DONE = ['sleep', 'shutdown'] as const;
export type WhenDone = (typeof WHEN_DONE)[number];

/** Time in which users can still say no, in milliseconds. */
const COUNTDOWN_MS = 60_000;

export interface Wish {
  readonly what: WhenDone;
  /** True once a download was seen to run or wait: before, there is nothing to be done with. */
  readonly begun: boolean;
  /** When it is carried out, Unix milliseconds; undefined while something is still to be done. */
  readonly at?: Millis | undefined;
}

/**
 * Returns the wish after a look at the list. New work ends a countdown, which then starts anew.
 *
 * @param busy true while a download runs or waits for its turn, or an action after one is open
 */
export function lookedAt(wish: Wish, busy: boolean, now: Millis): Wish {
  if (busy) return { what: wish.what, begun: true };
  if (!wish.begun || wish.at !== undefined) return wish;
  return { ...wish, at: now + COUNTDOWN_MS };
}

/** Returns true if it is time. */
export function isDue({ at }: Wish, now: Millis): boolean {
  return at !== undefined && at <= now;
}

/** Returns program and arguments; undefined if this system has no known way. */
export function powerCommand(what: WhenDone, platform: string): readonly string[] | undefined {
  const sleeps = what === 'sleep';
  switch (platform) {
    case 'linux':
      return ['systemctl', sleeps ? 'suspend' : 'poweroff'];
    case 'darwin':
      return [
        'osascript',
        '-e',
        `tell application "System Events" to ${sleeps ? 'sleep' : 'shut down'}`,
      ];
    case 'win32':
      // The first argument of SetSuspendState cannot be given so; hibernation may be what is set up.
      return sleeps
        ? ['rundll32.exe', 'powrprof.dll,SetSuspendState', '0,1,0']
        : ['shutdown.exe', '/s', '/t', '0'];
    default:
      return undefined;
  }
}
