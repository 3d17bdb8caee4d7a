/**
 * Stores the first copy of a file that stands at a URL: a depot pulls it. Where the space is has been
 * written down before, so that the same command goes on with it; the depot pulls meanwhile.
 */

import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { pullCopy } from '../upload/spread/pulled-copy.ts';
import type { DepotAccess } from '../upload/spread-upload.ts';
import type { Uploaded, UploadOptions } from '../upload/upload.ts';
import { UploadJournal } from '../upload/upload-journal.ts';
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
    const { url, etag, bytes, sha256 } = source;
    const parts = [{ from: [url], ...(etag === undefined ? {} : { etag }), start: 0, bytes }];
    // The version has a name of its own, so no time has to tell it from others.
    const file = { bytes, sha256, fileState: { bytes, mtimeMs: 0 } };
    const outcome = await pullCopy({ ...options, ...access, ...file, journal, parts });
    if ('copy' in outcome) return { ...outcome.copy, unlock };
    await outcome.giveUp();
    throw outcome.failure.error;
  } catch (error) {
    await unlock();
    throw error;
  }
}
