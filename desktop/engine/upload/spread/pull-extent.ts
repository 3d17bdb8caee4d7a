/** Lets a depot pull an extent from the depots that have it, as they have it: none of them learns a key. */

import { rangeBytes } from '@millrace/shared/base/byte-range';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { PlannedExtent } from '@millrace/shared/exnode/spread/spread';
import type { UploadSource } from '../../archive/upload-source.ts';
import type { Uploaded } from '../upload.ts';
import { UploadJournal } from '../upload-journal.ts';
import { type PulledCopyOptions, type PulledOutcome, pullCopy } from './pulled-copy.ts';

/** Most depots that a depot is told to pull from. */
const MAX_URLS = 16;

export interface PullExtentOptions
  extends Omit<PulledCopyOptions, 'journal' | 'parts' | 'bytes' | 'fileState' | 'sha256'> {
  /** The file or the folder that is uploaded. */
  readonly path: string;
  readonly source: Pick<UploadSource, 'state'>;
  /** Folder for the state of programs. */
  readonly state: string;
  /** Names the key of an encrypted file. */
  readonly keyId: string | undefined;
  readonly extent: PlannedExtent;
  /** Copies of the extent, at least one. */
  readonly from: readonly Uploaded[];
}

/** Pulls as `pullCopy`, and throws as that; MillraceError `upload-running`. */
export async function pullExtent(options: PullExtentOptions): Promise<PulledOutcome> {
  const { path, state, source, keyId, edge, extent, from } = options;
  const { start, end } = extent;
  const journal = new UploadJournal(state, path, edge, { start, end }, keyId);
  const unlock = await journal.lock().catch((error: unknown) => {
    throw isMillraceError(error, 'file-in-use') ? new MillraceError('upload-running') : error;
  });
  try {
    const bytes = rangeBytes(extent);
    const urls = from.slice(0, MAX_URLS).map(({ link }) => link);
    const parts = [{ from: urls, start: 0, bytes }];
    const sha256 = from[0]?.sha256;
    return await pullCopy({ ...options, journal, parts, bytes, sha256, fileState: source.state });
  } finally {
    await unlock();
  }
}
