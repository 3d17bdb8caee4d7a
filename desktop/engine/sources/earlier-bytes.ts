/**
 * Decides whether the stored bytes of an earlier run belong to the file that is being downloaded.
 */

import { rangeBytes } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import {
  compareVersions,
  type SourceVersion,
  samplesWithin,
} from '@millrace/shared/download/transfer/same-file';
import { canPin } from '@millrace/shared/http/fields/validators';
import type { PartialFile } from '../partial/partial-file.ts';
import type { DownloadSource } from './download-source.ts';
import { compareSample, readSample } from './sample-check.ts';
import { isPage } from './source-answer.ts';

export interface EarlierBytesOptions {
  readonly file: PartialFile;
  /** The source that answered first. */
  readonly source: DownloadSource;
  readonly version: SourceVersion;
  /** URLs of the file that the user has given. */
  readonly ownUrls: readonly string[];
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * Finds out whether the stored bytes of an earlier run belong to the source's file. Discards bytes
 * of another version of the file, and keeps those of another file.
 *
 * @throws MillraceError `different-file`, and the error that keeps the source from answering
 */
export async function checkEarlierBytes(options: EarlierBytesOptions): Promise<void> {
  const { file, source, version, ownUrls } = options;
  const { earlier } = file;
  if (earlier === undefined || file.stored.bytes === 0) return;
  const ours = earlier.url === source.url || ownUrls.includes(earlier.url);
  const why = await difference(options, ours);
  if (why === undefined) return file.adopt();
  // A difference at one of our own URLs is a new version. At any other URL it may be a mistake, so
  // keep the bytes.
  if (!ours && !file.overwrite) {
    throw new MillraceError('different-file', {
      code: 'belongs-to-because',
      values: { path: file.dataPath, url: earlier.url, why },
    });
  }
  // Discard the bytes first, so that no journal says that they belong to the new version.
  await file.startOver();
  await file.adopt();
  file.startedOver = version.length > 0;
}

/**
 * Compares the stored bytes with the source's file.
 *
 * @param ours false if the files are not known to be the same. A common entity tag does not prove
 *   it then: servers make it from length and date, which files built together share
 * @returns the difference; undefined if there is none
 */
async function difference(
  options: EarlierBytesOptions,
  ours: boolean,
): Promise<string | undefined> {
  const { file, source, version, random, signal } = options;
  const earlier = file.earlier as NonNullable<PartialFile['earlier']>;
  const before = { length: earlier.length, validators: earlier.validators, digests: [] };
  const same = compareVersions(before, version, earlier.url === source.url);
  if (same.kind === 'same' && ours) return undefined;
  if (same.kind === 'different') return same.why;
  const { length, validators } = version;
  const pinned = canPin(validators) ? { length, validators } : undefined;
  for (const range of samplesWithin(file.stored.ranges, random)) {
    const opened = await source.openRange(range, pinned, signal);
    if (opened.kind === 'whole') {
      opened.discard();
      // The stored bytes may be right: a server that sends a page today may send the file tomorrow.
      if (isPage(opened)) throw new MillraceError('origin-denied', { code: 'page-instead' });
      return 'it sends no ranges any more, so nothing can be compared';
    }
    const theirs = await readSample(opened, range);
    const ours = Buffer.alloc(rangeBytes(range));
    await file.read(ours, range.start);
    try {
      compareSample(source, range, ours, theirs);
    } catch (error) {
      if (isMillraceError(error, 'different-file')) return error.detail;
      throw error;
    }
  }
  return undefined;
}
