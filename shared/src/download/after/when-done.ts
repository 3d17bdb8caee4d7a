/**
 * Decides when the machine sleeps or shuts down because all downloads are done. The wish holds for one
 * run of the daemon, and it is carried out once.
 */

import type { Millis } from '../../base/clock.ts';

export const WHEN_DONE = ['sleep', 'shutdown'] as const;
export type WhenDone = (typeof WHEN_DONE)[number];

/** Time in which users can still say no, in milliseconds. */
const COUNTDOWN_MS = 60_000;
/** Lateness of a look, in milliseconds, beyond which the machine must have slept through the countdown. */
const OVERSLEPT_MS = 30_000;

export interface Wish {
  readonly what: WhenDone;
  /** True once a download was seen to run or wait: before, there is nothing to be done with. */
  readonly begun: boolean;
  /** When it is carried out, Unix milliseconds; undefined while something is still to be done. */
  readonly at?: Millis | undefined;
}

/** State of the list at one time, and the cause of its last change. */
export interface Look {
  /** True while a download runs or waits for its turn, an action after one is open, or a file is sent. */
  readonly busy: boolean;
  /** True if the user has just paused or removed downloads: nothing is done because of that. */
  readonly byHand: boolean;
}

/**
 * Returns the wish after a look at the list. New work ends a countdown, which then starts anew, and so
 * does a countdown that nobody saw because the machine slept meanwhile.
 */
export function lookedAt(wish: Wish, { busy, byHand }: Look, now: Millis): Wish {
  const { what, begun, at } = wish;
  if (busy) return { what, begun: true };
  if (!begun) return wish;
  if (at !== undefined) return now - at > OVERSLEPT_MS ? { ...wish, at: now + COUNTDOWN_MS } : wish;
  return byHand ? { what, begun: false } : { ...wish, at: now + COUNTDOWN_MS };
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
