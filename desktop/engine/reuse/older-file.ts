/**
 * Takes those parts of a wanted file that an older one has. What is taken counts for this run only, until
 * the digest of the whole file has passed; if it does not pass, all that was taken is fetched instead.
 */

import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type ByteRange, intersect, RangeSet } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import type { PieceDigests } from '@millrace/shared/base/digest';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf, noteOfError } from '@millrace/shared/base/notes';
import { formatBytes } from '@millrace/shared/base/units';
import type { Statement } from '@millrace/shared/download/metalink/description-merge';
import type { OlderFile } from '@millrace/shared/download/request/request';
import type { FoundRun } from '@millrace/shared/reuse/block-search';
import { MAX_ZSYNC_BYTES } from '@millrace/shared/reuse/zsync-file';
import { readAll } from '../files/file-steps.ts';
import { openPlain } from '../files/open-plain.ts';
import type { PartialFile } from '../partial/partial-file.ts';
import type { Connections } from '../sources/connections.ts';
import { readSmallFile } from '../sources/small-file.ts';
import type { SearchReply, SearchTask } from './search-worker.ts';

export interface OlderFileOptions {
  readonly older: OlderFile;
  /** The wanted file. */
  readonly file: PartialFile;
  /** Bytes of the wanted file. */
  readonly length: number;
  /** URL of the wanted file. */
  readonly url: string;
  /** Digests of its pieces, from whoever has stated any. */
  readonly pieces: readonly PieceDigests[];
  readonly connections: Connections;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly onNote: (note: Note) => void;
}

/** Longest time to fetch a list of blocks, ms. */
const LIST_MS = 120_000;
const COPY_BYTES = 1024 * 1024;
/** Memory of the thread beside its tables, MiB. */
const THREAD_MIB = 256;

/** Bytes that were taken from an older file, and are not proven. */
export class TakenBytes {
  readonly #ranges: RangeSet;
  /** Statements of the list of blocks about the whole file. */
  readonly statements: readonly Statement[];
  /** Name of the older file. */
  readonly from: string;

  constructor(from: string, ranges: RangeSet, statements: readonly Statement[]) {
    this.from = from;
    this.#ranges = ranges;
    this.statements = statements;
  }

  get bytes(): number {
    return this.#ranges.bytes;
  }

  /**
   * Makes a partial file forget what was taken, so that it is fetched.
   *
   * @param within only in these ranges; undefined: all of it
   * @returns false if nothing of it was taken
   * @throws MillraceError of the file
   */
  async forget(file: PartialFile, within?: readonly ByteRange[]): Promise<boolean> {
    const taken = [...this.#ranges.ranges];
    const doubted =
      within === undefined
        ? taken
        : within.flatMap((one) => taken.flatMap((range) => intersect(one, range) ?? []));
    for (const range of doubted) {
      await file.forget(range);
      this.#ranges.remove(range);
    }
    return doubted.length > 0;
  }
}

/**
 * Takes what an older file has. Without a list of blocks, or if the older file cannot be read, nothing is
 * taken, and a note says so.
 *
 * @throws MillraceError of the wanted file; of the list of blocks if the user has named it; the signal's reason
 */
export async function takeFromOlder(options: OlderFileOptions): Promise<TakenBytes> {
  const { older, signal, onNote } = options;
  const from = basename(older.path);
  let opened: FileHandle | undefined;
  try {
    opened = await openPlain(older.path);
    const { blocks, by } = await findBlocks(options);
    const { size } = await opened.stat();
    const task = { fd: opened.fd, size, length: options.length, blocks };
    const { runs, sha1 } = await search(task, signal);
    const ranges = await copyRuns(opened, runs, options);
    const values = { bytes: formatBytes(ranges.bytes), file: from, url: by };
    onNote(noteOf('taken-from-older', values));
    const said: Statement[] =
      sha1 === undefined ? [] : [{ by, digests: [{ algorithm: 'sha1', hex: sha1 }] }];
    return new TakenBytes(from, ranges, said);
  } catch (thrown) {
    signal.throwIfAborted();
    const error = asMillraceError(thrown);
    if (older.zsync !== undefined || MUST_END.has(error.code)) throw error;
    onNote(noteOfError('older-not-used', error, { file: from }));
    return new TakenBytes(from, new RangeSet(), []);
  } finally {
    await opened?.close();
  }
}

/** Errors of the wanted file's own disk. */
const MUST_END: ReadonlySet<string> = new Set(['disk-full', 'file-not-writable', 'file-changed']);

/** Returns the list of blocks that the user has named, else the one beside the file, else pieces. */
async function findBlocks(
  options: OlderFileOptions,
): Promise<{ readonly blocks: Uint8Array | PieceDigests; readonly by: string }> {
  const { older, url, length, connections, random, signal } = options;
  const fetchList = async (at: string) => {
    const source = connections.source('mirror', at, random);
    return (await readSmallFile(source, MAX_ZSYNC_BYTES, signal, LIST_MS)).body;
  };
  if (older.zsync !== undefined) {
    return { blocks: await fetchList(older.zsync), by: older.zsync };
  }
  const [pieces] = options.pieces
    .filter(({ pieceBytes, hexes }) => hexes.length === Math.ceil(length / pieceBytes))
    .sort((a, b) => a.pieceBytes - b.pieceBytes);
  if (older.beside) {
    const at = besideUrl(url);
    try {
      return { blocks: await fetchList(at), by: at };
    } catch (error) {
      signal.throwIfAborted();
      if (pieces === undefined) throw error;
    }
  }
  if (pieces !== undefined) return { blocks: pieces, by: url };
  throw new MillraceError('bad-zsync', 'no list of blocks is known');
}

/** Returns where publishers put the list of a file's blocks. */
function besideUrl(url: string): string {
  const list = new URL(url);
  list.pathname += '.zsync';
  list.search = '';
  list.hash = '';
  return list.href;
}

/** Lets a thread search. @throws MillraceError `bad-zsync`; the signal's reason */
function search(
  task: SearchTask,
  signal: AbortSignal,
): Promise<Extract<SearchReply, { readonly runs: unknown }>> {
  const worker = new Worker(new URL('./search-worker.ts', import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MIB },
  });
  let onAbort = () => {};
  return new Promise<SearchReply>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new MillraceError('internal', 'the search has ended')));
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    signal.throwIfAborted();
  })
    .then((reply) => {
      if ('runs' in reply) return reply;
      if ('bad' in reply) throw new MillraceError('bad-zsync', reply.bad);
      throw new MillraceError('internal', reply.error);
    })
    .finally(async () => {
      signal.removeEventListener('abort', onAbort);
      await worker.terminate();
    });
}

/** Copies what was found. @returns the ranges of the wanted file that are now taken */
async function copyRuns(
  older: FileHandle,
  runs: readonly FoundRun[],
  { file, signal }: OlderFileOptions,
): Promise<RangeSet> {
  const taken = new RangeSet();
  const buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
  for (const { start, from, bytes } of runs) {
    for (const gap of file.stored.missing({ start, end: start + bytes })) {
      for (let at = gap.start; at < gap.end; at += COPY_BYTES) {
        signal.throwIfAborted();
        const part = buffer.subarray(0, Math.min(COPY_BYTES, gap.end - at));
        // Beyond the end of the older file zeros were found.
        part.fill(0);
        await readAll(older, part, from + at - start);
        await file.store(at, part, true);
        taken.add({ start: at, end: at + part.length });
      }
    }
  }
  return taken;
}
