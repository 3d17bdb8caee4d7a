/**
 * Record of a download of the engine in the extension, and the changes that events make to it.
 * These functions only decide; callers store a record before they announce it.
 */

import type { Digest } from '@millrace/shared/base/digest';
import {
  adviceOf,
  type ErrorCode,
  isErrorCode,
  type MillraceError,
} from '@millrace/shared/base/errors';
import type { ShownFailure } from '@millrace/shared/bridge/native/native-api';
import type { JournalHeader } from '@millrace/shared/download/journal/journal';
import { usableEdges } from '@millrace/shared/download/request/edge-use';
import { nameFromUrl, safeFileName } from '@millrace/shared/download/request/file-name';
import type { Validators } from '@millrace/shared/http/fields/validators';
import type { SavedFile } from '../../contract/protocol.ts';
import type { AddedLink, ShownDownload } from '../../contract/taker.ts';
import { MAX_PER_HOST } from '../sources/host-slots.ts';

/** Most downloads at a time: fewer than connections, so that each download has one. */
const MAX_RUNNING = 16;
/** Most records, in any state. */
export const MAX_RECORDS = 500;

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

/** Figures of a download that exist only while it runs. */
export interface LiveFigures {
  readonly storedBytes: number;
  readonly bytesPerSecond: number;
  /** Whether there is no source to ask at present. */
  readonly waiting: boolean;
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

/** Returns the download that a hand-off has made, or has given a new link. */
export function takenBy(
  records: Iterable<DownloadRecord>,
  handOff: string,
): DownloadRecord | undefined {
  return [...records].find(({ id, renewedBy }) => id === handOff || renewedBy === handOff);
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

/** Returns the host and port that most of the file's bytes come from, as far as is known. */
export function hostOf({ url, finalUrl }: Pick<DownloadRecord, 'url' | 'finalUrl'>): string {
  return new URL(finalUrl || url).host;
}

/** Returns whether one more download of a host could have a connection at once. */
export function hasRoom(host: string, busy: readonly string[]): boolean {
  return busy.length < MAX_RUNNING && busy.filter((one) => one === host).length < MAX_PER_HOST;
}

/**
 * Returns the downloads to start now: first those just taken from the browser, which had
 * connections for them, then the oldest. A download without room at its host does not delay others.
 *
 * @param running ids of the downloads under way
 * @param given hosts of the connections in use, one entry for each connection
 */
export function toStart(
  records: Iterable<DownloadRecord>,
  running: { has(id: string): boolean },
  given: readonly string[],
): DownloadRecord[] {
  const isTaken = ({ promised, storedBytes }: DownloadRecord) =>
    promised !== undefined && storedBytes === 0;
  const busy = [...given];
  return [...records]
    .filter(({ id, state }) => state === 'queued' && !running.has(id))
    .sort((a, b) => Number(isTaken(b)) - Number(isTaken(a)) || a.createdAt - b.createdAt)
    .filter((record) => {
      const host = hostOf(record);
      if (!hasRoom(host, busy)) return false;
      busy.push(host);
      return true;
    });
}

/** Returns the records to forget when there are too many: the oldest of the ended downloads. */
export function toForget(records: Iterable<DownloadRecord>): DownloadRecord[] {
  const all = [...records];
  return all
    .filter(({ state }) => state === 'complete' || state === 'error')
    .sort((a, b) => a.createdAt - b.createdAt)
    .slice(0, Math.max(0, all.length - MAX_RECORDS));
}

/** Returns whether there is a place for one more download: unfinished ones are never forgotten. */
export function hasPlace(records: Iterable<DownloadRecord>): boolean {
  let open = 0;
  for (const { state } of records) if (state !== 'complete' && state !== 'error') open++;
  return open < MAX_RECORDS;
}

/** Returns the paused record; undefined if there is nothing to pause. */
export function paused(record: DownloadRecord): DownloadRecord | undefined {
  return record.state === 'queued' ? { ...record, state: 'paused' } : undefined;
}

/** Errors after which the stored bytes cannot be used. */
const OTHER_FILE: ReadonlySet<ErrorCode> = new Set([
  'version-changed',
  'different-file',
  'wrong-digest',
]);

/**
 * Resumes a record.
 *
 * @returns the queued record, and whether it starts over; undefined if there is nothing to resume
 */
export function resumed(
  record: DownloadRecord,
): { readonly record: DownloadRecord; readonly anew: boolean } | undefined {
  if (record.state !== 'paused' && record.state !== 'error') return undefined;
  const anew = isOtherFile(record.error?.code);
  const { error: _error, save: _save, ...rest } = record;
  const queued: DownloadRecord = { ...rest, state: 'queued' };
  if (!anew) return { record: queued, anew };
  return { record: { ...fresh(queued), restarts: 0 }, anew };
}

/**
 * Returns whether an error means another file.
 *
 * @param code code of a stored record, perhaps written by another version
 */
function isOtherFile(code: string | undefined): boolean {
  return isErrorCode(code) && OTHER_FILE.has(code);
}

/** Errors that show that the origin cannot serve parts; it may still serve the whole file. */
const NOT_IN_PARTS: ReadonlySet<ErrorCode> = new Set([
  'range-ignored',
  'version-unproven',
  'wrong-range',
  'wrong-length',
  'wrong-encoding',
  'malformed-response',
]);
/** Errors with which the origin refused a part; it may still serve the whole file. */
const REFUSED: ReadonlySet<ErrorCode> = new Set([
  ...(['origin-denied', 'origin-login', 'origin-error', 'origin-busy'] as const),
]);
/** Stored bytes at which a download is too far along to be left to the browser. */
const MAX_GIVEN_UP = 16 * 1024 * 1024;
/** Most restarts of a file that changes while it is fetched. */
const MAX_RESTARTS = 3;

/**
 * Returns the record after a failure. A download that was taken from the browser is not lost: it
 * starts over if that may help, and if only parts fail, the browser fetches the whole file.
 */
export function failed(record: DownloadRecord, error: MillraceError): DownloadRecord {
  const { code } = error;
  if (record.state !== 'browser' && isForBrowser(record, code)) {
    // The browser's answer must have the promised length: it could be a log-in page. Parts that
    // fail may have stated a wrong length themselves.
    const length = record.promised ?? record.length;
    return { ...fresh(record), length, state: 'browser', save: { url: record.url } };
  }
  const { restarts = 0 } = record;
  if (code === 'version-changed' && restarts < MAX_RESTARTS && record.state !== 'browser') {
    return { ...fresh(record), restarts: restarts + 1 };
  }
  if (code === 'wrong-digest' && edgesOf(record).length > 0) {
    // An edge sent bytes that differ from the origin's: ask only the origin from now on.
    return { ...fresh(record), edges: [], restarts: restarts + 1 };
  }
  // The browser fetches the whole file, which a later attempt of it begins again.
  const onePiece = record.state === 'browser';
  const message = `${error.message}. ${adviceOf(error.row, onePiece)}`;
  const { storedBytes } = OTHER_FILE.has(code) ? fresh(record) : record;
  return {
    ...record,
    storedBytes,
    state: 'error',
    error: { code, message, ...(onePiece ? { onePiece } : {}) },
    save: undefined,
  };
}

/**
 * Returns whether parts have failed, but a plain GET by the browser may succeed. If every part
 * belongs to another version, because mirrors are out of step, one answer still has one version.
 */
function isForBrowser({ storedBytes, restarts = 0 }: DownloadRecord, code: ErrorCode): boolean {
  if (code === 'version-changed') return restarts >= MAX_RESTARTS;
  return NOT_IN_PARTS.has(code) || (REFUSED.has(code) && storedBytes < MAX_GIVEN_UP);
}

/** Returns the record without a known version and without stored bytes. */
function fresh(record: DownloadRecord): DownloadRecord {
  const unknown = {
    ...{ length: undefined, validators: undefined, digests: undefined },
    // Bytes of the earlier version must not count, even if they could not be deleted.
    journal: undefined,
  };
  return { ...record, ...unknown, storedBytes: 0 };
}

/**
 * Returns whether the stored bytes are no longer needed: the download starts over, or the browser
 * needs the room.
 */
export function isOfNoUse({ state, length, error }: DownloadRecord): boolean {
  if (state === 'error') return isOtherFile(error?.code);
  return state === 'browser' || length === undefined;
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

/** Returns the edges that may be asked for the file, as far as is known by now. */
export function edgesOf({ url, finalUrl = url, headers, edges }: DownloadRecord): string[] {
  const offered = edges.map((edge) => ({ url: edge }));
  return usableEdges([{ url, headers }, { url: finalUrl }], offered);
}

/** Returns the download as pages show it. */
export function shown(record: DownloadRecord, live: LiveFigures | undefined): ShownDownload {
  const { id, fileName, length, createdAt, error, state } = record;
  const storedBytes = live?.storedBytes ?? record.storedBytes;
  const bytesPerSecond = live?.waiting === false ? Math.round(live.bytesPerSecond) : 0;
  const left = length === undefined ? undefined : length - storedBytes;
  return {
    taker: 'browser',
    id,
    name: fileName,
    status: statusOf(state, live),
    ...(length === undefined ? {} : { length }),
    storedBytes,
    bytesPerSecond,
    ...(left === undefined || bytesPerSecond === 0
      ? {}
      : { etaMs: Math.round((left * 1000) / bytesPerSecond) }),
    createdAt,
    ...(error === undefined ? {} : { error }),
  };
}

function statusOf(
  state: DownloadRecord['state'],
  live: LiveFigures | undefined,
): ShownDownload['status'] {
  if (state === 'saving' || state === 'browser') return 'active';
  if (state !== 'queued') return state;
  if (live === undefined) return 'queued';
  return live.waiting ? 'waiting' : 'active';
}
