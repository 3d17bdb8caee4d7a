/**
 * The extension engine's record of a download, and the changes that events make to it. Decisions
 * only: the record is stored before it is announced.
 */

import type { Digest } from '@millrace/shared/base/digest';
import {
  ERRORS,
  type ErrorCode,
  isErrorCode,
  type MillraceError,
} from '@millrace/shared/base/errors';
import { usableEdges } from '@millrace/shared/download/request/edge-use';
import type { Validators } from '@millrace/shared/http/fields/validators';
import type { ShownDownload } from '../../contract/taker.ts';
import { MAX_PER_HOST } from '../sources/host-slots.ts';

/** Downloads at a time. Each has a connection: there are more than that. */
const MAX_RUNNING = 16;
/** Most records, in any state. */
export const MAX_RECORDS = 500;

export interface DownloadRecord {
  /** The hand-off's, or a new one for an added download: a UUID. */
  readonly id: string;
  readonly url: string;
  /** Where its redirects ended when that was looked at last. */
  readonly finalUrl?: string | undefined;
  readonly fileName: string;
  /** The name is made from the URL: the origin may know a better one. */
  readonly nameIsGuess?: true | undefined;
  /** Undefined until the origin has said so. */
  readonly length?: number | undefined;
  /** Bytes that the browser was told of when it was taken from it. */
  readonly promised?: number | undefined;
  /** The version that all bytes are of. */
  readonly validators?: Validators | undefined;
  /** Of the whole file, as the origin states them. */
  readonly digests?: readonly Digest[] | undefined;
  /** Fields for the origin; cookies are the browser's to send. */
  readonly headers: Readonly<Record<string, string>>;
  readonly edges: readonly string[];
  /**
   * The edges among them that only the publisher has named: compared with the origin before use.
   */
  readonly published?: readonly string[] | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /**
   * saving: complete, and the browser puts it into the user's folder. browser: it could not be
   * fetched in parts, and the browser fetches it on its own.
   */
  readonly state: 'queued' | 'paused' | 'saving' | 'browser' | 'complete' | 'error';
  readonly storedBytes: number;
  /** How often it has begun again by itself, since the file was another. */
  readonly restarts?: number | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** The browser's download that saves it or has saved it, and from where. */
  readonly save?: { readonly url: string; readonly downloadId?: number | undefined } | undefined;
}

/** Figures of a download that exist only while it runs. */
export interface LiveFigures {
  readonly storedBytes: number;
  readonly bytesPerSecond: number;
  /** There is no source to ask at present. */
  readonly waiting: boolean;
}

export const isUnfinished = ({ state }: DownloadRecord) =>
  state !== 'complete' && state !== 'error' && state !== 'paused';

/** True while the browser puts it into the user's folder, or fetches it. */
export const isAtBrowser = ({ state }: DownloadRecord) => state === 'saving' || state === 'browser';

/** Host and port that most of its bytes come from, as far as is known. */
export function hostOf({ url, finalUrl }: Pick<DownloadRecord, 'url' | 'finalUrl'>): string {
  return new URL(finalUrl || url).host;
}

/** True where a download more of a host can have a connection from its first second on. */
export function hasRoom(host: string, busy: readonly string[]): boolean {
  return busy.length < MAX_RUNNING && busy.filter((one) => one === host).length < MAX_PER_HOST;
}

/**
 * The downloads to start now: first those that were taken from the browser, which had room for
 * them, then the oldest. One without room at its host does not delay others.
 *
 * @param running ids of those under way
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

/** Chooses the records that make room for others: those that ended longest ago. */
export function toForget(records: Iterable<DownloadRecord>): DownloadRecord[] {
  const all = [...records];
  return all
    .filter(({ state }) => state === 'complete' || state === 'error')
    .sort((a, b) => a.createdAt - b.createdAt)
    .slice(0, Math.max(0, all.length - MAX_RECORDS));
}

/** True where one more can be taken: unfinished ones are never forgotten. */
export function hasPlace(records: Iterable<DownloadRecord>): boolean {
  let open = 0;
  for (const { state } of records) if (state !== 'complete' && state !== 'error') open++;
  return open < MAX_RECORDS;
}

/** @returns undefined where there is nothing to pause */
export function paused(record: DownloadRecord): DownloadRecord | undefined {
  return record.state === 'queued' ? { ...record, state: 'paused' } : undefined;
}

/** Failures after which the bytes that are there are of no use. */
const OTHER_FILE: ReadonlySet<ErrorCode> = new Set([
  'version-changed',
  'different-file',
  'wrong-digest',
]);

/**
 * @returns the record in the queue, and whether it begins from nothing; undefined where there is
 *   nothing to resume
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

/** @param code of a stored record; those of other versions may have others */
function isOtherFile(code: string | undefined): boolean {
  return isErrorCode(code) && OTHER_FILE.has(code);
}

/** With these the origin has shown that it cannot be asked for parts, though for all perhaps. */
const NOT_IN_PARTS: ReadonlySet<ErrorCode> = new Set([
  'range-ignored',
  'version-unproven',
  'wrong-range',
  'wrong-length',
  'wrong-encoding',
  'malformed-response',
]);
/** With these the origin has refused a part, though it might give the whole. */
const REFUSED: ReadonlySet<ErrorCode> = new Set(['origin-denied', 'origin-error', 'origin-busy']);
/** Bytes that may be given up for the browser to try it whole. */
const MAX_GIVEN_UP = 16 * 1024 * 1024;
/** Most restarts of a file that changes while it is fetched. */
const MAX_RESTARTS = 3;

/**
 * It cannot continue as it is. A download that was taken from the browser is never lost by that:
 * where a restart may help it starts again, and where parts are the trouble the browser fetches it
 * whole.
 */
export function failed(record: DownloadRecord, error: MillraceError): DownloadRecord {
  const { code } = error;
  if (record.state !== 'browser' && isForBrowser(record, code)) {
    // The answer must have the length that was promised: it could be a page that asks for a
    // log-in.
    const length = record.length ?? record.promised;
    return { ...fresh(record), length, state: 'browser', save: { url: record.url } };
  }
  const { restarts = 0 } = record;
  if (code === 'version-changed' && restarts < MAX_RESTARTS) {
    return { ...fresh(record), restarts: restarts + 1 };
  }
  if (code === 'wrong-digest' && edgesOf(record).length > 0) {
    // Another source has given bytes that the origin does not have: only the origin is asked from
    // now on.
    return { ...fresh(record), edges: [], restarts: restarts + 1 };
  }
  const message = `${error.message}. ${ERRORS[code].advice}`;
  const { storedBytes } = OTHER_FILE.has(code) ? fresh(record) : record;
  return { ...record, storedBytes, state: 'error', error: { code, message }, save: undefined };
}

/** True where a plain GET may succeed and parts have not: the browser can try one. */
function isForBrowser({ storedBytes }: DownloadRecord, code: ErrorCode): boolean {
  return NOT_IN_PARTS.has(code) || (REFUSED.has(code) && storedBytes < MAX_GIVEN_UP);
}

/** Nothing is known of its version, and nothing is there. */
function fresh(record: DownloadRecord): DownloadRecord {
  const unknown = { length: undefined, validators: undefined, digests: undefined };
  return { ...record, ...unknown, storedBytes: 0 };
}

/**
 * True if the stored bytes are no longer needed: it starts again, or the browser needs the room for
 * it.
 */
export function isOfNoUse({ state, length, error }: DownloadRecord): boolean {
  if (state === 'error') return isOtherFile(error?.code);
  return state === 'browser' || length === undefined;
}

/** All bytes are there. */
export function fetched(record: DownloadRecord, blobUrl: string): DownloadRecord {
  return {
    ...record,
    state: 'saving',
    storedBytes: record.length ?? record.storedBytes,
    save: { url: blobUrl },
  };
}

/** It is in the user's folder: the data for fetching it are forgotten. */
export function saved(record: DownloadRecord, downloadId: number, length: number): DownloadRecord {
  const url = record.save?.url ?? '';
  return {
    ...record,
    state: 'complete',
    length,
    storedBytes: length,
    headers: {},
    edges: [],
    save: { url, downloadId },
  };
}

/** The edges that may be asked for it, as far as is known by now. */
export function edgesOf({ url, finalUrl = url, headers, edges }: DownloadRecord): string[] {
  const offered = edges.map((edge) => ({ url: edge }));
  return usableEdges([{ url, headers }, { url: finalUrl }], offered);
}

/** As people see it. */
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
