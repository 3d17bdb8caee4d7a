/** Shows that a new link leads to the file that was begun, before it replaces the old link. */

import { access, open } from 'node:fs/promises';
import { type ByteRange, RangeSet, rangeBytes } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { renewalSamples } from '@millrace/shared/download/adding/renewal';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { canPin } from '@millrace/shared/http/fields/validators';
import { DATA_SUFFIX, JOURNAL_SUFFIX } from '../files/partial-names.ts';
import { readJournal } from '../partial/journal-file.ts';
import { Connections } from './connections.ts';
import type { DownloadSource } from './download-source.ts';
import { FIRST_BYTES } from './opening.ts';
import { compareSample, readSample } from './sample-check.ts';
import { isPage, type Opened } from './source-answer.ts';

/** Known facts of a file that was begun. */
export interface BegunFile {
  /** Path of the complete file; undefined if nothing was begun. */
  readonly path: string | undefined;
  readonly length: number | undefined;
}

/** Finding about a link that has not been shown to lead to another file. */
export interface LinkProof {
  /** Bytes of the link's file; undefined if the server does not say. */
  readonly length: number | undefined;
  /**
   * same: stored bytes equal those of the link; nothing-stored: there are none; not-compared: the
   * server sends no ranges, or the stored bytes cannot be read.
   */
  readonly found: 'same' | 'nothing-stored' | 'not-compared';
}

/**
 * Asks the link for the file: the length must be the same, and at random places the bytes must
 * equal the stored ones. Writes nothing.
 *
 * @param request with the new link as its first URL
 * @throws MillraceError `different-file`, the error of the server's answer, `origin-unreachable`
 *   and the like; the signal's reason
 */
export async function proveLink(
  request: DownloadRequest,
  begun: BegunFile,
  random: Random,
  signal: AbortSignal,
): Promise<LinkProof> {
  const connections = await Connections.open(request);
  try {
    const source = connections.source('origin', connections.urls[0] as string, random);
    const opened = await source.openRange({ start: 0, end: FIRST_BYTES }, undefined, signal);
    opened.discard();
    checkAnswer(opened, begun.length);
    const found =
      begun.path === undefined
        ? 'nothing-stored'
        : await checkStored(source, opened, begun.path, random, signal);
    return { length: opened.kind === 'whole' ? opened.length : opened.version.length, found };
  } finally {
    await connections.close();
  }
}

function checkAnswer(opened: Opened, length: number | undefined): void {
  if (length === undefined) return;
  const has = opened.kind === 'whole' ? opened.length : opened.version.length;
  if (has !== undefined && has !== length) {
    throw new MillraceError('different-file', {
      code: 'other-length',
      values: { hasBytes: has, wantedBytes: length },
    });
  }
  // The length is unknown, and a web page in place of the file is a log-in or an error.
  if (has === undefined && isPage(opened)) {
    throw new MillraceError('different-file', { code: 'page-instead' });
  }
}

/** Compares stored bytes at some places. A source without ranges cannot be compared. */
async function checkStored(
  source: DownloadSource,
  first: Opened,
  path: string,
  random: Random,
  signal: AbortSignal,
): Promise<LinkProof['found']> {
  const journal = await readJournal(path + JOURNAL_SUFFIX);
  if (journal === undefined) return (await isThere(path)) ? 'not-compared' : 'nothing-stored';
  const stored = new RangeSet();
  for (const { range } of journal.entries) stored.add(range);
  if (stored.bytes === 0) return 'nothing-stored';
  if (first.kind !== 'range') return 'not-compared';
  const { length, validators } = first.version;
  const pinned = length !== undefined && canPin(validators) ? { length, validators } : undefined;
  for (const range of renewalSamples(stored.ranges, random)) {
    const ours = await readStored(path, range);
    if (ours === undefined) return 'not-compared';
    const opened = await source.openRange(range, pinned, signal);
    if (opened.kind !== 'range') {
      opened.discard();
      return 'not-compared';
    }
    compareSample(source, range, ours, await readSample(opened, range));
  }
  return 'same';
}

/** Returns true if there is a partial file. */
async function isThere(path: string): Promise<boolean> {
  return access(path + DATA_SUFFIX).then(
    () => true,
    () => false,
  );
}

/** @returns undefined if the partial file does not hold the bytes, or not any more */
async function readStored(path: string, range: ByteRange): Promise<Buffer | undefined> {
  const file = await open(path + DATA_SUFFIX, 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const bytes = Buffer.alloc(rangeBytes(range));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, range.start);
    return bytesRead === bytes.length ? bytes : undefined;
  } finally {
    await file.close();
  }
}
