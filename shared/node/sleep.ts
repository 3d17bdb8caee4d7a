/** Waiting that can be aborted. */

import type { Millis } from '../src/base/clock.ts';

/** Waits for a time. @throws the signal's reason when the signal aborts */
export function sleep(ms: Millis, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(done, Math.max(0, ms));
    function onAbort() {
      clearTimeout(timer);
      reject(signal.reason);
    }
    function done() {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
