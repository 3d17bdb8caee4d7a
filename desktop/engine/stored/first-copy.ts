/**
 * Stores the first copy of a file that stands at a URL: a depot pulls it. Where the space is has been
 * written down before, so that the same command goes on with it; the depot pulls meanwhile.
 */

import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { type Allocated, pull, stateOfStored } from '../upload/depot-client.ts';
import { KeptSpace } from '../upload/kept-space.ts';
import { Retry } from '../upload/retry.ts';
import type { DepotAccess } from '../upload/spread-upload.ts';
import type { Uploaded, UploadOptions } from '../upload/upload.ts';
import { UploadJournal } from '../upload/upload-journal.ts';
import { DepotFailure, runPull } from './pull-run.ts';
import type { UrlSource } from './url-source.ts';

export interface FirstCopyOptions
  extends Pick<
    UploadOptions,
    'name' | 'forMs' | 'state' | 'retryMs' | 'signal' | 'now' | 'observe'
  > {
  readonly source: UrlSource;
  readonly access: DepotAccess;
}

/** A copy that is stored. */
export interface FirstCopy extends Uploaded {
  /** Lets other processes store the file there again. */
  readonly unlock: () => Promise<void>;
}

/**
 * Lets a depot pull the file.
 *
 * @throws DepotFailure; MillraceError `content-mismatch` if it is not what its server states,
 *   `upload-running`; those of the depot, of the file's server as the depot tells them, and of the
 *   network; the signal's reason
 */
export async function storeFirst(options: FirstCopyOptions): Promise<FirstCopy> {
  const { source, access, state } = options;
  const part = 'pulled from its URL';
  const journal = new UploadJournal(state, source.url, access.edge, part, source.versionId);
  const unlock = await journal.lock().catch((error: unknown) => {
    throw isMillraceError(error, 'file-in-use') ? new MillraceError('upload-running') : error;
  });
  try {
    return { ...(await new Pulled(options, journal).run()), unlock };
  } catch (error) {
    await unlock();
    throw error;
  }
}

class Pulled {
  readonly #options: FirstCopyOptions;
  readonly #journal: UploadJournal;
  readonly #retry: Retry;
  readonly #space: KeptSpace;

  constructor(options: FirstCopyOptions, journal: UploadJournal) {
    this.#options = options;
    this.#journal = journal;
    const { retryMs, signal, now, observe, forMs, source } = options;
    this.#retry = new Retry({ retryMs, signal, now, onRetry: observe.retried.bind(observe) });
    // The version has a name of its own, so no time has to tell it from others.
    const fileState = { bytes: source.bytes, mtimeMs: 0 };
    this.#space = new KeptSpace({ journal, fileState, forMs, retry: this.#retry, signal });
  }

  async run(): Promise<Uploaded> {
    const { observe, source, access, name } = this.#options;
    const wanted = { ...access, bytes: source.bytes, name };
    const allocated = await this.#space.take(wanted, () => observe.anew());
    const sha256 = await this.#pull(allocated);
    const { read: link, write, manage, expires } = allocated;
    const forget = () => this.#journal.remove();
    return { link, write, manage, expires, bytes: source.bytes, sha256, forget };
  }

  /** Lets the depot pull what it does not have yet. @returns the SHA-256 of the file */
  async #pull(allocated: Allocated): Promise<string> {
    const { source, observe, signal, now, retryMs } = this.#options;
    const { write, manage } = allocated;
    const { url, etag, bytes, sha256 } = source;
    const state = () => this.#retry.run(() => stateOfStored(manage, signal));
    const before = await state();
    observe.begun(bytes, before.offset);
    const parts = [{ from: [url], ...(etag === undefined ? {} : { etag }), start: 0, bytes }];
    let stored = before.offset;
    const failure = before.complete
      ? undefined
      : await runPull({
          ...{ before, state, signal, now, retryMs },
          async post() {
            await pull(write, { parts, sha256 }, signal);
            return true;
          },
          onStored: (offset) => {
            if (offset > stored) this.#retry.onProgress();
            stored = offset;
            observe.sent(offset);
          },
        }).catch(async (error: unknown) => {
          if (error instanceof DepotFailure) await this.#space.giveUp(allocated);
          throw error;
        });
    if (failure !== undefined) {
      await this.#space.giveUp(allocated);
      throw failure.error;
    }
    const after = before.complete ? before : await state();
    const isWhole = after.offset === bytes && after.sha256 !== undefined;
    if (isWhole && (sha256 ?? after.sha256) === after.sha256) return after.sha256 as string;
    await this.#space.giveUp(allocated);
    throw new MillraceError('content-mismatch', `its SHA-256 is ${after.sha256}, not ${sha256}`);
  }
}
