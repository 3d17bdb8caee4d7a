/** Lets a depot pull an extent from the depots that have it, as they have it: none of them learns a key. */

import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { UploadSource } from '../../archive/upload-source.ts';
import { KeptSpace } from '../kept-space.ts';
import { Retry } from '../retry.ts';
import type { Uploaded } from '../upload.ts';
import { UploadJournal } from '../upload-journal.ts';
import { type PulledCopyOptions, type PulledOutcome, pullCopy } from './pulled-copy.ts';

/** Most depots that a depot is told to pull from. */
const MAX_URLS = 16;

export interface ExtentOptions
  extends Omit<PulledCopyOptions, 'journal' | 'parts' | 'bytes' | 'fileState' | 'sha256'> {
  /** The file or the folder that is uploaded. */
  readonly path: string;
  readonly source: Pick<UploadSource, 'state'>;
  /** Folder for the state of programs. */
  readonly state: string;
  /** Names the key of an encrypted file. */
  readonly keyId: string | undefined;
  readonly extent: ByteRange;
}

/**
 * Pulls an extent.
 *
 * @param options `from`: copies of the extent, at least one
 * @throws as `pullCopy`; MillraceError `upload-running`
 */
export function pullExtent(
  options: ExtentOptions & { readonly from: readonly Uploaded[] },
): Promise<PulledOutcome> {
  const { source, extent, from } = options;
  const bytes = rangeBytes(extent);
  const urls = from.slice(0, MAX_URLS).map(({ link }) => link);
  const own = { parts: [{ from: urls, start: 0, bytes }], sha256: from[0]?.sha256 };
  return withJournal(options, (journal) =>
    pullCopy({ ...options, ...own, journal, bytes, fileState: source.state }),
  );
}

/**
 * Reserves space for an extent, or takes up that of an earlier upload, before its bytes can come.
 *
 * @throws MillraceError as `KeptSpace.take`; `upload-running`
 */
export function reserveExtent(options: ExtentOptions): Promise<void> {
  const { source, extent, edge, token, name, forMs, retryMs, signal, now, observe } = options;
  return withJournal(options, async (journal) => {
    const retry = new Retry({ retryMs, signal, now, onRetry: observe.retried.bind(observe) });
    const space = new KeptSpace({ journal, fileState: source.state, forMs, retry, signal });
    const wanted = { edge, token, bytes: rangeBytes(extent), name };
    await space.take(wanted, () => observe.anew());
  });
}

async function withJournal<T>(
  { path, state, edge, extent: { start, end }, keyId }: ExtentOptions,
  act: (journal: UploadJournal) => Promise<T>,
): Promise<T> {
  const journal = new UploadJournal(state, path, edge, { start, end }, keyId);
  const unlock = await journal.lock().catch((error: unknown) => {
    throw isMillraceError(error, 'file-in-use') ? new MillraceError('upload-running') : error;
  });
  try {
    return await act(journal);
  } finally {
    await unlock();
  }
}
