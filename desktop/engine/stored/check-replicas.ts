/** Checks which replicas of an exNode are there, by asking for one byte of each. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Finding, Findings } from '@millrace/shared/exnode/findings';
import { type Listed, replicaBytes } from '@millrace/shared/exnode/replicas';
import { listField } from '@millrace/shared/http/fields/headers';
import { parseHttpDate } from '@millrace/shared/http/fields/http-date';
import type { DownloadSource } from '../sources/download-source.ts';
import type { Opened } from '../sources/source-answer.ts';
import { type AskOptions, askReplicas } from './ask-replicas.ts';

/**
 * Asks all places for the first byte of their replicas. A HEAD would not show that the place serves
 * ranges, which downloads need.
 *
 * @throws MillraceError `interrupted`
 */
export function checkReplicas(options: AskOptions): Promise<Findings> {
  return askReplicas(options, (listed, source) => checkOne(listed, source, options.signal));
}

/** Asks for the first byte of a replica. @throws MillraceError */
export async function checkOne(
  listed: Listed,
  source: DownloadSource,
  signal: AbortSignal,
): Promise<Finding> {
  const { at } = listed.replica;
  const opened = await source.openRange({ start: at, end: at + 1 }, undefined, signal);
  opened.discard();
  const length = lengthOf(opened);
  const needed = at + Math.max(1, replicaBytes(listed));
  if (length < needed) {
    throw new MillraceError('wrong-length', `${length} bytes instead of ${needed}`);
  }
  return { state: 'there', expires: endOf(opened) };
}

/** Returns the end of the lease that an answer tells (RFC 8594), Unix milliseconds. */
export function endOf({ headers }: Opened): Millis | undefined {
  return parseHttpDate(listField(headers, 'sunset'));
}

/** Returns the length of what a URL serves. @throws MillraceError `range-ignored` */
export function lengthOf(opened: Opened): number {
  if (opened.kind === 'range') return opened.version.length;
  if (opened.length === 0) return 0;
  throw new MillraceError('range-ignored', 'it sends whole files only');
}
