/**
 * Stores a copy that its depot pulls. Where its space is has been written down before, so that the same
 * command goes on with it; the depot pulls meanwhile.
 */

import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { PullPart } from '@millrace/shared/cdn/depot/pull-plan';
import type { FileState } from '../../archive/upload-source.ts';
import { type Allocated, pull, stateOfStored } from '../depot-client.ts';
import { KeptSpace } from '../kept-space.ts';
import { mayRetry, Retry } from '../retry.ts';
import type { Uploaded, UploadOptions } from '../upload.ts';
import type { UploadJournal } from '../upload-journal.ts';
import { DepotFailure, type PullFailure, runPull } from './pull-run.ts';

export interface PulledCopyOptions
  extends Pick<
    UploadOptions,
    'edge' | 'token' | 'name' | 'forMs' | 'retryMs' | 'signal' | 'now' | 'observe'
  > {
  /** Its records; locked. */
  readonly journal: UploadJournal;
  /** Where the depot pulls from. */
  readonly parts: readonly PullPart[];
  readonly bytes: number;
  /** State of the file whose bytes these are. */
  readonly fileState: FileState;
  /** SHA-256 of the bytes, hexadecimal; undefined: not known. */
  readonly sha256: string | undefined;
}

export type PulledOutcome =
  | { readonly copy: Uploaded }
  | {
      readonly failure: PullFailure;
      /** Bytes that the pull has brought. */
      readonly pulledBytes: number;
      /** Releases the space. Otherwise the upload of the same bytes goes on there. */
      readonly giveUp: () => Promise<void>;
    };

/**
 * Lets a depot pull what it does not have yet.
 *
 * @returns the copy, or why its sources do not give the bytes
 * @throws DepotFailure; MillraceError those of the depot and of the network; the signal's reason
 */
export async function pullCopy(options: PulledCopyOptions): Promise<PulledOutcome> {
  const { journal, parts, bytes, fileState, sha256, edge, token, name } = options;
  const { forMs, retryMs, signal, now, observe } = options;
  const retry = new Retry({ retryMs, signal, now, onRetry: observe.retried.bind(observe) });
  const space = new KeptSpace({ journal, fileState, forMs, retry, signal });
  const allocated = await space.take({ edge, token, bytes, name }, () => observe.anew());
  const { read: link, write, manage, expires } = allocated;
  observe.reserved?.(link);
  const state = () => retry.run(() => stateOfStored(manage, signal));
  const before = await state();
  observe.begun(bytes, before.offset);
  let [stored, refusal]: [number, MillraceError | undefined] = [before.offset, undefined];
  const failed = (of: PullFailure): PulledOutcome => {
    const giveUp = () => space.giveUp(allocated);
    return { failure: of, pulledBytes: stored - before.offset, giveUp };
  };
  const failure = before.complete
    ? undefined
    : await runPull({
        ...{ before, state, signal, now, retryMs },
        async post() {
          try {
            await retry.run(() => pull(write, { parts, sha256 }, signal));
            return true;
          } catch (error) {
            if (!refusesPulls(error)) throw error;
            refusal = error;
            return false;
          }
        },
        onStored(offset) {
          if (offset > stored) retry.onProgress();
          stored = offset;
          observe.sent(offset);
          observe.acknowledged?.(offset);
        },
      }).catch((error: unknown) => giveUpFor(error, space, allocated));
  if (failure !== undefined) {
    return failed(refusal === undefined ? failure : { ...failure, error: refusal });
  }
  const after = before.complete ? before : await state();
  const theirs = after.sha256;
  if (after.offset !== bytes || theirs === undefined || (sha256 ?? theirs) !== theirs) {
    const detail = `its SHA-256 is ${theirs}, not ${sha256}`;
    return failed({ kind: 'wrong', error: new MillraceError('content-mismatch', detail) });
  }
  const forget = () => journal.remove();
  return { copy: { link, write, manage, expires, bytes, sha256: theirs, forget } };
}

/** Releases space of a depot that has failed itself. @throws the error */
async function giveUpFor(error: unknown, space: KeptSpace, allocated: Allocated): Promise<never> {
  if (error instanceof DepotFailure) await space.giveUp(allocated);
  throw error;
}

/** Returns true if a depot does not take a pull that it could take as an upload. */
function refusesPulls(error: unknown): error is MillraceError {
  if (!isMillraceError(error) || mayRetry(error)) return false;
  return !['no-such-allocation', 'allocation-expired', 'allocation-refused'].includes(error.code);
}
