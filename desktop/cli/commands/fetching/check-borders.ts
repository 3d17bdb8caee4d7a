/**
 * Checks pieces of torrents that several files have in common, once `millrace get` has fetched these. The
 * parts of a wrong piece are fetched again, as the daemon does.
 */

import { basename } from 'node:path';
import { type ByteRange, RangeSet } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import { formatBytes } from '@millrace/shared/base/units';
import type { SharedPiece } from '@millrace/shared/download/metalink/description';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import {
  afterWrong,
  coverOf,
  type Holder,
  rangeOfPart,
} from '@millrace/shared/download/torrent/shared-pieces';
import { digestOfPiece } from '../../../engine/after/read-shared-piece.ts';
import { requestAgain } from '../../../engine/after/shared-piece-records.ts';
import type { DownloadResult } from '../../../engine/download/download-types.ts';
import type { TransferView } from '../../view/transfer-view.ts';

/** A file of a description after its download. */
export interface FetchedFile {
  readonly request: DownloadRequest;
  readonly shared: readonly SharedPiece[];
  /** Undefined: it has failed. */
  readonly result: DownloadResult | undefined;
  /** Unix milliseconds. */
  readonly finishedAt: number;
}

export interface BorderOptions {
  readonly view: Pick<TransferView, 'event' | 'failed'>;
  /** Downloads a file, and reports on it. @returns undefined if it has failed */
  readonly fetch: (request: DownloadRequest) => Promise<DownloadResult | undefined>;
  readonly signal: AbortSignal;
}

/** Most names in an error. */
const MOST_NAMES = 3;

/**
 * Checks the pieces that files share, and fetches the parts of wrong ones again.
 *
 * @returns an error if a piece stays wrong
 */
export async function checkBorders(
  fetched: readonly FetchedFile[],
  { view, fetch, signal }: BorderOptions,
): Promise<MillraceError | undefined> {
  const files = [...fetched];
  const found: Found = { right: new Map(), unchecked: new Map(), failed: new Set() };
  let open = piecesOf(files);
  for (;;) {
    const wrong: SharedPieceOf[] = [];
    for (const piece of open) {
      if (!(await isJudged(piece, files, found))) wrong.push(piece);
      signal.throwIfAborted();
    }
    if (wrong.length === 0) return conclude(files, found, view);
    for (const [index, parts] of partsAgain(wrong, files)) {
      const file = files[index] as FetchedFile;
      const bytes = formatBytes(new RangeSet(parts.map(rangeOfPart)).bytes);
      const note = { kind: 'note', ...noteOf('shared-wrong', { bytes }) } as const;
      view.event(note, file.request.urls[0] as string);
      const before = { request: file.request, path: file.result?.path };
      const request = { ...requestAgain(before, parts), rename: false };
      files[index] = { ...file, request, result: await fetch(request), finishedAt: Date.now() };
      signal.throwIfAborted();
    }
    open = wrong;
  }
}

/** A piece, with the parts that files have of it. */
interface SharedPieceOf {
  readonly hex: string;
  readonly parts: readonly {
    /** Index of the file. */
    readonly index: number;
    readonly part: SharedPiece;
    /** How often it was fetched again. */
    again: number;
  }[];
}

type Ranges = Map<number, ByteRange[]>;

/** Results of the checks, by the indexes of files. */
interface Found {
  readonly right: Ranges;
  readonly unchecked: Ranges;
  /** Files that share a piece which stays wrong. */
  readonly failed: Set<number>;
}

function piecesOf(files: readonly FetchedFile[]): SharedPieceOf[] {
  const pieces = new Map<string, { hex: string; parts: SharedPieceOf['parts'][number][] }>();
  for (const [index, { shared }] of files.entries()) {
    for (const part of shared) {
      const piece = pieces.get(part.key) ?? { hex: part.hex, parts: [] };
      piece.parts.push({ index, part, again: 0 });
      pieces.set(part.key, piece);
    }
  }
  return [...pieces.values()];
}

/** Checks a piece. @returns false if its parts are to be fetched again */
async function isJudged(
  { hex, parts }: SharedPieceOf,
  files: readonly FetchedFile[],
  { right, unchecked, failed }: Found,
): Promise<boolean> {
  const holders = parts.map(({ index, part, again }) => holderOf(files, index, part, again));
  const cover = coverOf(holders);
  const digest =
    cover.kind === 'whole'
      ? await digestOfPiece(cover.stretches, (id) => leftFile(files[Number(id)]))
      : undefined;
  if (digest === undefined) note(unchecked, holders);
  else if (digest === hex) note(right, holders);
  else {
    const step = afterWrong(holders);
    if (step.kind === 'again') return false;
    // Where the files contradict the piece, digests of their own say that they are right.
    if (step.kind === 'fail') for (const { gid } of step.holders) failed.add(Number(gid));
  }
  return true;
}

/** Counts the parts of wrong pieces as fetched again. @returns them, by the index of their file */
function partsAgain(wrong: readonly SharedPieceOf[], files: readonly FetchedFile[]) {
  const again = new Map<number, SharedPiece[]>();
  for (const one of wrong.flatMap(({ parts }) => parts)) {
    // A digest of the whole file has shown that this one is right.
    if (isProven(files[one.index])) continue;
    one.again++;
    again.set(one.index, [...(again.get(one.index) ?? []), one.part]);
  }
  return again;
}

function leftFile(file: FetchedFile | undefined) {
  const { result, finishedAt } = file as FetchedFile;
  return result && { path: result.path, length: result.bytes, finishedAt };
}

const isProven = (file: FetchedFile | undefined) =>
  file?.result?.digest !== undefined || file?.result?.vouch !== undefined;

/** Returns what a file has of a piece, with its index as its id. */
function holderOf(
  files: readonly FetchedFile[],
  index: number,
  part: SharedPiece,
  again: number,
): Holder {
  const { result, request } = files[index] as FetchedFile;
  return {
    ...{ gid: String(index), part, sources: request.urls.length, again },
    state: result === undefined ? 'failed' : 'complete',
    isProven: isProven(files[index]),
  };
}

function note(ranges: Ranges, holders: readonly Holder[]): void {
  for (const { gid, part, state } of holders) {
    if (state !== 'complete') continue;
    const index = Number(gid);
    ranges.set(index, [...(ranges.get(index) ?? []), rangeOfPart(part)]);
  }
}

/** Reports what is known of the pieces in the end. */
function conclude(
  files: readonly FetchedFile[],
  { right, unchecked, failed }: Found,
  view: BorderOptions['view'],
): MillraceError | undefined {
  const urlOf = (index: number) => files[index]?.request.urls[0] as string;
  for (const [code, ranges] of [
    ['shared-right', right],
    ['shared-unchecked', unchecked],
  ] as const) {
    const all = [...ranges].map(([, some]) => new RangeSet(some).bytes);
    const bytes = all.reduce((sum, some) => sum + some, 0);
    const [first] = ranges.keys();
    if (first === undefined) continue;
    view.event({ kind: 'note', ...noteOf(code, { bytes: formatBytes(bytes) }) }, urlOf(first));
  }
  if (failed.size === 0) return undefined;
  const names = [...failed].map((index) => basename(files[index]?.result?.path ?? ''));
  const some = names.slice(0, MOST_NAMES).join(', ');
  const detail = `a piece that these files share is wrong in at least one: ${some}`;
  const error = new MillraceError('wrong-digest', detail);
  view.failed(error, urlOf(Math.min(...failed)));
  return error;
}
