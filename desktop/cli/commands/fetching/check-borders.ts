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

/** Files while their pieces are checked: how often each part was fetched again. */
interface Looked extends FetchedFile {
  readonly again: readonly string[];
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
  const files: Looked[] = fetched.map((file) => ({ ...file, again: [] }));
  for (;;) {
    const found = await look(files);
    signal.throwIfAborted();
    if (found.again.size === 0) return conclude(files, found, view);
    for (const [index, parts] of found.again) {
      const file = files[index] as Looked;
      const { urls } = file.request;
      const bytes = formatBytes(new RangeSet(parts.map(rangeOfPart)).bytes);
      view.event({ kind: 'note', ...noteOf('shared-wrong', { bytes }) }, urls[0] as string);
      const before = { request: file.request, path: file.result?.path };
      const request = { ...requestAgain(before, parts), rename: false };
      const result = await fetch(request);
      const again = [...file.again, ...parts.map(({ key }) => key)];
      files[index] = { ...file, request, result, finishedAt: Date.now(), again };
      signal.throwIfAborted();
    }
  }
}

interface Found {
  /** Parts to fetch again, by the index of their file. */
  readonly again: Map<number, SharedPiece[]>;
  readonly right: Ranges;
  readonly unchecked: Ranges;
  /** Indexes of files that share a piece which stays wrong. */
  readonly failed: Set<number>;
}

type Ranges = Map<number, ByteRange[]>;

async function look(files: readonly Looked[]): Promise<Found> {
  const found: Found = {
    ...{ again: new Map(), right: new Map(), unchecked: new Map(), failed: new Set() },
  };
  const pieces = new Map(files.flatMap(({ shared }) => shared.map((one) => [one.key, one])));
  for (const { key, hex } of pieces.values()) {
    const holders = files.flatMap((file, index) => holderOf(file, index, key) ?? []);
    const cover = coverOf(holders);
    const digest =
      cover.kind === 'whole'
        ? await digestOfPiece(cover.stretches, (id) => leftFile(files[Number(id)]))
        : undefined;
    if (digest === undefined) note(found.unchecked, holders);
    else if (digest === hex) note(found.right, holders);
    else {
      const step = afterWrong(holders);
      // Digests of the files themselves say that they are right.
      if (step.kind === 'contradicts') continue;
      for (const { gid, part } of step.holders) {
        const index = Number(gid);
        if (step.kind === 'fail') found.failed.add(index);
        else found.again.set(index, [...(found.again.get(index) ?? []), part]);
      }
    }
  }
  return found;
}

function leftFile(file: Looked | undefined) {
  const { result, finishedAt } = file as Looked;
  return result && { path: result.path, length: result.bytes, finishedAt };
}

/** Returns what a file has of a piece, with its index as its id. */
function holderOf(file: Looked, index: number, key: string): Holder | undefined {
  const part = file.shared.find((one) => one.key === key);
  if (part === undefined) return undefined;
  const { result, request, again } = file;
  return {
    ...{ gid: String(index), part, sources: request.urls.length },
    state: result === undefined ? 'failed' : 'complete',
    isProven: result?.digest !== undefined || result?.vouch !== undefined,
    again: again.filter((one) => one === key).length,
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
  files: readonly Looked[],
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
