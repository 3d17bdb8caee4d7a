/** Lets a depot pull bytes, and follows that to its end. */

import type { Millis } from '@millrace/shared/base/clock';
import { isErrorCode, MillraceError } from '@millrace/shared/base/errors';
import { sleep } from '@millrace/shared/node/sleep';
import type { StoredState } from '../depot-client.ts';

/** Pauses between questions for the state of a pull: the first, which grows, and the longest. */
const FIRST_POLL_MS: Millis = 100;
const MAX_POLL_MS: Millis = 2000;
/** Longest time for which a pull may get no further. */
const STALL_MS: Millis = 600_000;
/** Times that a pull is posted again that has ended with its edge. */
const REPEATS = 3;
/** Failures of a pull that are its depot's own, and not those of the sources. */
const OWN: ReadonlySet<string> = new Set([
  ...['allocation-refused', 'no-such-allocation', 'allocation-expired', 'content-blocked'],
  ...['upload-too-long', 'inconsistent-length', 'upload-complete', 'disk-full', 'internal'],
]);

/** A failure of the depot that stores a replica: another depot may do better. */
export class DepotFailure extends Error {
  readonly error: MillraceError;

  constructor(error: MillraceError) {
    super(error.message, { cause: error });
    this.error = error;
  }
}

/** Why a pull has not brought the bytes, as far as its sources are at fault. */
export interface PullFailure {
  readonly kind: 'unreachable' | 'wrong';
  readonly error: MillraceError;
}

export interface PullRunOptions {
  readonly before: StoredState;
  /** Posts the pull. @returns false if there is nothing to pull from */
  readonly post: () => Promise<boolean>;
  /** Asks for the state of the allocation. */
  readonly state: () => Promise<StoredState>;
  /** Called with the number of bytes that are stored. */
  readonly onStored: (bytes: number) => void;
  /** Time without progress after which a depot is given up, if that is longer than usual. */
  readonly retryMs: Millis;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/**
 * Runs a pull until the depot has all bytes.
 *
 * @returns undefined if it has
 * @throws DepotFailure; MillraceError `origin-timeout`, `origin-reset`, and those of the requests; the
 *   signal's reason
 */
export async function runPull(options: PullRunOptions): Promise<PullFailure | undefined> {
  const { before, post, state: ask, onStored, signal, now, retryMs } = options;
  let progressAt = now();
  let stored = before.offset;
  let isRunning = before.pull?.state === 'running';
  let repeats = 0;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(MAX_POLL_MS, pauseMs * 1.5)) {
    if (!isRunning && !(await post())) {
      return { kind: 'unreachable', error: new MillraceError('rest-missing') };
    }
    await sleep(pauseMs, signal);
    const state = await ask();
    if (state.offset > stored) progressAt = now();
    stored = state.offset;
    onStored(stored);
    if (state.complete) return undefined;
    isRunning = state.pull?.state === 'running';
    if (isRunning && now() - progressAt > Math.max(STALL_MS, retryMs)) {
      throw new MillraceError('origin-timeout', 'the depot gets no further with its pull');
    }
    if (isRunning) continue;
    const failure = failureOf(state);
    if (failure !== undefined) return failure;
    // The edge has restarted, or another request has ended the pull.
    if (++repeats > REPEATS) throw new MillraceError('origin-reset', 'the depot ends its pulls');
  }
}

/**
 * Judges a pull that does not run any more.
 *
 * @returns undefined if it can be posted again
 * @throws DepotFailure
 */
function failureOf({ pull: ended }: StoredState): PullFailure | undefined {
  const { code, message = '' } = ended ?? { code: 'interrupted' };
  if (code === 'interrupted' || code === 'draining') return undefined;
  const error = new MillraceError(isErrorCode(code) ? code : 'origin-error', withoutTitle(message));
  if (error.code === 'content-mismatch') return { kind: 'wrong', error };
  if (OWN.has(error.code)) throw new DepotFailure(error);
  return { kind: 'unreachable', error };
}

/** Cuts off the title of an error, which its code says already. */
function withoutTitle(message: string): string {
  return message.replace(/^[^:]*: /, '');
}
