/**
 * Recovers the partial file of an earlier run if it belongs to the same version, and prepares data
 * and journal for this run.
 */

import { type FileHandle, rm } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  judgeEarlier,
  type PartialHeader,
} from '@millrace/shared/download/journal/earlier-partial';
import type { JournalHeader } from '@millrace/shared/download/journal/journal';
import type { FileWatch } from '../files/file-watch.ts';
import { makeRoom } from './disk-room.ts';
import type { FileNames } from './interrupted-finish.ts';
import { readJournal } from './journal-file.ts';
import type { StoredBytes } from './stored-bytes.ts';

export interface RecoveryOptions {
  /**
   * Identity of the file to download. An undefined length is unknown: the download cannot be
   * resumed.
   */
  readonly header: PartialHeader;
  /** True if this download may take the place of a download of another file. */
  readonly overwrite: boolean;
  /**
   * True: bytes of an earlier run are kept if the length is the same, even if the validators do not
   * prove that they belong to this version; `earlier` describes their version.
   */
  readonly keepUnproven?: boolean;
  /**
   * URLs of the file, if more than one is known. Bytes from any other URL are given up only on the
   * user's order. Undefined: they are given up.
   */
  readonly ownUrls?: readonly string[];
  /**
   * True if the answer is a web page, which may be a log-in or an error in place of the file: bytes
   * of an earlier run of the same download are not given up for it.
   */
  readonly isPage?: boolean;
  /** Called before bytes of an earlier run are verified, which can take a while. */
  readonly onVerify?: () => void;
  /** Called with the progress of the verification. */
  readonly onVerifyProgress?: (doneBytes: number, totalBytes: number) => void;
  /** Aborts the verification. */
  readonly signal?: AbortSignal;
}

export interface Recovered {
  /** True if the bytes of an earlier run belonged to another file or version, and were given up. */
  readonly startedOver: boolean;
  /** Header from the journal of the earlier run that left the bytes. */
  readonly earlier: JournalHeader | undefined;
  /** Number of bytes that the earlier run had flushed, and that have changed since. */
  readonly damagedBytes: number;
}

/**
 * Recovers the bytes of an earlier run, and opens the journal.
 *
 * @param data the data file, open
 * @throws MillraceError `different-file` if the stored bytes belong to another download,
 *   `origin-denied` if a web page came in place of their file, `disk-full`; Error of the file system; the signal's reason
 */
export async function recoverPartial(
  names: FileNames,
  data: FileHandle,
  watch: FileWatch,
  stored: StoredBytes,
  options: RecoveryOptions,
): Promise<Recovered> {
  const { header, overwrite, keepUnproven = false, ownUrls, signal } = options;
  const { url, length, validators } = header;
  const journal = await readJournal(names.journal);
  const { size } = await data.stat();
  const earlier = journal?.header;
  const verdict = judgeEarlier({ before: earlier, header, ownUrls, keepUnproven, overwrite });
  if (verdict === 'foreign') {
    throw new MillraceError('different-file', `${names.data} belongs to ${earlier?.url}`);
  }
  if (verdict === 'useless' && earlier !== undefined && options.isPage === true) {
    throw new MillraceError('origin-denied', { code: 'page-instead' });
  }
  const kept = verdict === 'useless' ? undefined : journal;
  let damagedBytes = 0;
  if (kept === undefined) {
    await data.truncate(0);
  } else if (kept.entries.length > 0) {
    options.onVerify?.();
    const onProgress = options.onVerifyProgress;
    damagedBytes = await stored.recover(kept, { signal, onProgress });
  }
  const recovered = { startedOver: kept === undefined && size > 0, earlier, damagedBytes };
  if (length === undefined) {
    await rm(names.journal, { force: true });
    return recovered;
  }
  await makeRoom(data, names.path, length);
  watch.expect(length);
  // Until the bytes are proven to belong to this version, the journal names the earlier one.
  const others = verdict === 'unproven' && stored.ranges.bytes > 0;
  await stored.open(
    names.journal,
    others && earlier !== undefined ? earlier : { url, length, validators },
  );
  return recovered;
}
