/**
 * Record of a download of the engine in the extension, and the changes that events make to it;
 * those that failures make are in `failures.ts`. These functions only decide; callers store a
 * record before they announce it.
 */

import type { Digest } from '@millrace/shared/base/digest';
import type { ShownFailure } from '@millrace/shared/bridge/native/native-api';
import type { JournalHeader } from '@millrace/shared/download/journal/journal';
import { usableEdges } from '@millrace/shared/download/request/edge-use';
import { nameFromUrl, safeFileName } from '@millrace/shared/download/request/file-name';
import type { Validators } from '@millrace/shared/http/fields/validators';
import type { SavedFile } from '../../contract/protocol.ts';
import type { AddedLink } from '../../contract/taker.ts';

export interface DownloadRecord {
  /** UUID of the hand-off, or a new one for an added link. */
  readonly id: string;
  readonly url: string;
  /** URL at which the redirects ended when they were last followed. */
  readonly finalUrl?: string | undefined;
  readonly fileName: string;
  /** True if the name was made from the URL, so that the origin may know a better one. */
  readonly nameIsGuess?: true | undefined;
  /** Length of the file, bytes; undefined until the origin has stated it. */
  readonly length?: number | undefined;
  /** Length that the origin stated to the browser before the hand-off, bytes. */
  readonly promised?: number | undefined;
  /** Validators of the version that all stored bytes are of. */
  readonly validators?: Validators | undefined;
  /**
   * Header of the journal of the stored bytes, if a new link has taken the place of the one that
   * they came from: the bytes were compared, and the journal stays as it is.
   */
  readonly journal?: JournalHeader | undefined;
  /** UUID of the last hand-off that gave the download a new link. */
  readonly renewedBy?: string | undefined;
  /** Digests of the whole file, as the origin states them. */
  readonly digests?: readonly Digest[] | undefined;
  /** Fields for requests to the origin; the browser itself adds cookies. */
  readonly headers: Readonly<Record<string, string>>;
  readonly edges: readonly string[];
  /**
   * Those of `edges` that only the publisher has named: they are compared with the origin before
   * use.
   */
  readonly published?: readonly string[] | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /**
   * State of the download. saving: it is complete, and the browser copies it into the user's
   * folder. browser: it could not be fetched in parts, so the browser fetches it itself.
   */
  readonly state: 'queued' | 'paused' | 'saving' | 'browser' | 'complete' | 'error';
  readonly storedBytes: number;
  /** Number of automatic restarts because the file was another one. */
  readonly restarts?: number | undefined;
  readonly error?: ShownFailure | undefined;
  /** The browser's download that saves or has saved the file, and its URL. */
  readonly save?: { readonly url: string; readonly downloadId?: number | undefined } | undefined;
}

export const isUnfinished = ({ state }: DownloadRecord) =>
  state !== 'complete' && state !== 'error' && state !== 'paused';

/** Whether the browser is copying the file into the user's folder, or fetching it. */
export const isAtBrowser = ({ state }: DownloadRecord) => state === 'saving' || state === 'browser';

/** Makes the record of a link that the browser has not begun. @param now Unix milliseconds */
export function added(
  { url, fileName, headers, edges, published }: AddedLink,
  id: string,
  now: number,
): DownloadRecord {
  return {
    ...{ id, url, headers, edges, published },
    fileName: fileName === undefined ? nameFromUrl(url) : safeFileName(fileName),
    ...(fileName === undefined ? { nameIsGuess: true } : {}),
    createdAt: now,
    state: 'queued',
    storedBytes: 0,
  };
}

/** Returns the header of the journal of a download whose file is known. */
export function journalOf({ url, length = 0, validators = {}, journal }: DownloadRecord) {
  return journal ?? { url, length, validators };
}

/** Returns the host and port that most of the file's bytes come from, as far as is known. */
export function hostOf({ url, finalUrl }: Pick<DownloadRecord, 'url' | 'finalUrl'>): string {
  return new URL(finalUrl || url).host;
}

/** Returns the edges that may be asked for the file, as far as is known by now. */
export function edgesOf({ url, finalUrl = url, headers, edges }: DownloadRecord): string[] {
  const offered = edges.map((edge) => ({ url: edge }));
  return usableEdges([{ url, headers }, { url: finalUrl }], offered);
}

/** Returns the download that a hand-off has made, or has given a new link. */
export function takenBy(
  records: Iterable<DownloadRecord>,
  handOff: string,
): DownloadRecord | undefined {
  return [...records].find(({ id, renewedBy }) => id === handOff || renewedBy === handOff);
}

/** Returns the paused record; undefined if there is nothing to pause. */
export function paused(record: DownloadRecord): DownloadRecord | undefined {
  return record.state === 'queued' ? { ...record, state: 'paused' } : undefined;
}

/** Parts of a download that belong to its link. */
export type LinkParts = Pick<
  DownloadRecord,
  'url' | 'finalUrl' | 'validators' | 'digests' | 'headers' | 'edges' | 'published'
>;

/**
 * Continues a failed or paused record with a new link of the same file, and all that belongs to it.
 *
 * @param renewedBy UUID of the hand-off that brought the link, if there was one
 * @returns undefined if it is in another state by now
 */
export function renewed(
  record: DownloadRecord,
  link: LinkParts,
  renewedBy: string | undefined,
): DownloadRecord | undefined {
  if (record.state !== 'paused' && record.state !== 'error') return undefined;
  const { error: _error, save: _save, ...rest } = record;
  const isBegun = record.length !== undefined;
  return {
    ...rest,
    ...link,
    ...(isBegun ? { journal: journalOf(record) } : {}),
    renewedBy: renewedBy ?? record.renewedBy,
    restarts: 0,
    state: 'queued',
  };
}

/** Returns the record of a download whose bytes are all stored. */
export function fetched(record: DownloadRecord, blobUrl: string): DownloadRecord {
  return {
    ...record,
    state: 'saving',
    storedBytes: record.length ?? record.storedBytes,
    save: { url: blobUrl },
  };
}

/**
 * Returns the record of a file in the user's folder, without the data for fetching it. The name is
 * the one that the file has there: the browser chooses another if the ordered one is taken, and
 * Chromium forgets the ordered one when the first answer to a request of its own is an error.
 */
export function saved(record: DownloadRecord, file: SavedFile): DownloadRecord {
  const { downloadId, length, fileName } = file;
  const url = record.save?.url ?? '';
  return {
    ...record,
    state: 'complete',
    fileName,
    length,
    storedBytes: length,
    headers: {},
    edges: [],
    save: { url, downloadId },
  };
}
