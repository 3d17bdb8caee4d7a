/**
 * Decides how downloads go on after failures: whether they start over or are left to the browser,
 * and whether a later attempt can use the stored bytes.
 */

import {
  adviceOf,
  type ErrorCode,
  isErrorCode,
  type MillraceError,
} from '@millrace/shared/base/errors';
import { type DownloadRecord, edgesOf } from './record.ts';

/** Errors after which the stored bytes cannot be used. */
const OTHER_FILE: ReadonlySet<ErrorCode> = new Set([
  'version-changed',
  'different-file',
  'wrong-digest',
]);

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
