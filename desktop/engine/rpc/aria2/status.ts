/** Describes a download in aria2's words: numbers as text, its states, its error codes. */

import { join } from 'node:path';
import type { ErrorCode } from '@millrace/shared/base/errors';
import type { SourceStatus } from '@millrace/shared/bridge/rpc/detail-api';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import type { Manager } from '../../downloads/manager.ts';
import { type DownloadRecord, isFinished } from '../../store/record.ts';
import { isNotKept, viewOf } from '../../views/view.ts';

const MIN_PIECE_BYTES = 1024 * 1024;
/** Most pieces; pieces are made large enough to stay below it. */
const MAX_PIECES = 4096;

/** aria2's exit statuses (aria2c(1), "EXIT STATUS") for errors that have a counterpart there. */
const ERROR_CODES: Readonly<Partial<Record<ErrorCode, number>>> = {
  'origin-timeout': 2,
  'origin-not-found': 3,
  'origin-gone': 3,
  'origin-unreachable': 6,
  'origin-refused': 6,
  'network-away': 6,
  'origin-unknown': 19,
  'origin-reset': 6,
  'disk-full': 9,
  'file-in-use': 11,
  'file-exists': 13,
  'file-not-writable': 17,
  'malformed-response': 22,
  'wrong-range': 22,
  'origin-error': 22,
  'too-many-redirects': 23,
  'origin-denied': 24,
  'origin-login': 24,
  'bad-option': 28,
  'bad-url': 28,
  'origin-busy': 29,
  'too-many-requests': 29,
  'checksum-mismatch': 32,
  'bad-signature': 32,
  'wrong-digest': 32,
};
const UNKNOWN = 1;
const REMOVED = 31;

export type Aria2Struct = Record<string, unknown>;

/**
 * Describes a download in aria2's form.
 *
 * @param keys wanted keys; undefined or empty for all keys
 */
export function tellStatus(
  manager: Manager,
  record: DownloadRecord,
  keys: readonly string[] | undefined,
): Aria2Struct {
  const all: Aria2Struct = { ...statusOf(manager, record), ...relationsOf(manager, record) };
  if (keys === undefined || keys.length === 0) return all;
  return Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)));
}

/** Returns the downloads that a download has led to, and the one that has led to it, by gid. */
function relationsOf({ store }: Manager, { gid, options }: DownloadRecord): Aria2Struct {
  const { follows, following } = options;
  const followedBy = follows === undefined ? [] : store.followedBy(gid);
  return {
    ...(followedBy.length === 0 ? {} : { followedBy }),
    ...(following === undefined ? {} : { following }),
  };
}

function statusOf(manager: Manager, record: DownloadRecord): Aria2Struct {
  const view = viewOf(manager, record);
  const length = view.length ?? 0;
  const { pieceLength, numPieces } = piecesOf(length);
  const bitfield = bitfieldOf(manager, record, numPieces);
  return {
    ...(bitfield === undefined ? {} : { bitfield }),
    completedLength: String(view.storedBytes),
    connections: String(view.connections),
    dir: view.dir,
    downloadSpeed: String(view.bytesPerSecond),
    ...(isFinished(record.state) ? stopOf(record) : {}),
    files: filesOf(manager, record),
    gid: record.gid,
    numPieces: String(numPieces),
    pieceLength: String(pieceLength),
    status: aria2State(record),
    totalLength: String(length),
    uploadLength: '0',
    uploadSpeed: '0',
  };
}

export function filesOf(manager: Manager, record: DownloadRecord): Aria2Struct[] {
  const view = viewOf(manager, record);
  const { dir, file, urls } = record.request;
  // aria2's own name for a description that was not kept.
  const isGone = isNotKept(record);
  return [
    {
      completedLength: String(view.storedBytes),
      index: '1',
      length: String(view.length ?? 0),
      path:
        view.path ??
        (isGone ? `[MEMORY]${record.name}` : join(dir, file ?? nameFromUrl(urls[0] as string))),
      selected: 'true',
      uris: urisOf(manager, record),
    },
  ];
}

export function urisOf(manager: Manager, record: DownloadRecord): Aria2Struct[] {
  const used = new Set(sourcesOf(manager, record).map(({ url }) => url));
  return record.request.urls.map((uri, i) => {
    const first = i === 0 && record.startedAt !== undefined;
    return { status: used.has(uri) || first ? 'used' : 'waiting', uri };
  });
}

export function serversOf(manager: Manager, record: DownloadRecord): Aria2Struct[] {
  const servers = sourcesOf(manager, record).map(({ url, bytesPerSecond }) => ({
    currentUri: url,
    downloadSpeed: String(Math.round(bytesPerSecond)),
    uri: url,
  }));
  return [{ index: '1', servers }];
}

function sourcesOf(manager: Manager, { gid }: DownloadRecord): readonly SourceStatus[] {
  const sources = manager.running(gid)?.progress().sources ?? [];
  return sources.filter(({ state }) => state === 'used' || state === 'trying');
}

/** Returns aria2's state. Our `queued` and `waiting` are both "waiting" in aria2. */
function aria2State({ state }: DownloadRecord): string {
  return state === 'queued' ? 'waiting' : state;
}

function stopOf({ state, error }: DownloadRecord): Aria2Struct {
  if (state === 'complete') return { errorCode: '0', errorMessage: '' };
  if (state === 'removed') return { errorCode: String(REMOVED), errorMessage: '' };
  const code = ERROR_CODES[error?.code as ErrorCode] ?? UNKNOWN;
  return { errorCode: String(code), errorMessage: error?.message ?? '' };
}

function piecesOf(length: number): { pieceLength: number; numPieces: number } {
  let pieceLength = MIN_PIECE_BYTES;
  while (length / pieceLength > MAX_PIECES) pieceLength *= 2;
  return { pieceLength, numPieces: Math.ceil(length / pieceLength) };
}

/**
 * Returns a bit per piece in hexadecimal, the first piece as the highest bit; undefined if the
 * stored pieces are not known.
 */
function bitfieldOf(manager: Manager, record: DownloadRecord, pieces: number): string | undefined {
  if (pieces === 0) return undefined;
  const run = manager.running(record.gid);
  if (run === undefined && record.state !== 'complete') return undefined;
  const shares = run?.progress().strip(pieces) ?? Array.from({ length: pieces }, () => 1);
  const bytes = Buffer.alloc(Math.ceil(pieces / 8));
  shares.forEach((share, i) => {
    const at = i >> 3;
    if (share >= 1) bytes.writeUInt8(bytes.readUInt8(at) | (0x80 >> (i & 7)), at);
  });
  return bytes.toString('hex');
}
