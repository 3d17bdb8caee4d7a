/** The pace at which depots are asked. */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError } from '@millrace/shared/base/errors';
import { sleep } from '@millrace/shared/node/sleep';

export const DEPOTS_AT_A_TIME = 16;
/** Most waits for a depot that is busy, and the longest of them. */
const WAITS = 4;
const LONGEST_WAIT_MS: Millis = 30_000;

/** Asks again while a depot is busy and says for how long. @throws as `ask`; the signal's reason */
export async function patiently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let waits = 0; ; waits++) {
    try {
      return await ask();
    } catch (thrown) {
      const { row, retryAfterMs = Infinity } = asMillraceError(thrown);
      const isBusy = row.again === 'later' && retryAfterMs <= LONGEST_WAIT_MS;
      if (signal.aborted || !isBusy || waits === WAITS) throw thrown;
      await sleep(retryAfterMs, signal);
    }
  }
}
