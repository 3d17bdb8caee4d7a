/** The present time, for ages on the screen. One timer per interval serves all components. */

import { useSyncExternalStore } from 'react';

interface Pace {
  now: number;
  readonly listeners: Set<() => void>;
  timer: ReturnType<typeof setInterval> | undefined;
  subscribe(listener: () => void): () => void;
}

const paces = new Map<number, Pace>();

function paceOf(everyMs: number): Pace {
  const known = paces.get(everyMs);
  if (known !== undefined) return known;
  const pace: Pace = {
    now: Date.now(),
    listeners: new Set(),
    timer: undefined,
    subscribe(listener) {
      pace.listeners.add(listener);
      pace.timer ??= setInterval(() => {
        pace.now = Date.now();
        for (const told of [...pace.listeners]) told();
      }, everyMs);
      return () => {
        pace.listeners.delete(listener);
        if (pace.listeners.size > 0) return;
        clearInterval(pace.timer);
        pace.timer = undefined;
      };
    },
  };
  paces.set(everyMs, pace);
  return pace;
}

/** Returns Unix milliseconds, renewed at an interval. */
export function useNow(everyMs: number): number {
  const pace = paceOf(everyMs);
  useSyncExternalStore(pace.subscribe, () => pace.now);
  // A component that is drawn for another reason gets the exact time.
  return Date.now();
}
