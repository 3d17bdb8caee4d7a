/**
 * Takes those parts of a wanted file that an older one has. What is taken counts for this run only, until
 * the digest of the whole file has passed; if it does not pass, all that was taken is fetched instead. If
 * it still does not pass, a list of blocks that was only found beside the file is left aside.
 */

import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type ByteRange, intersect, RangeSet } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import { type Digest, fitsLength, isPlain, type PieceDigests } from '@millrace/shared/base/digest';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf, noteOfError } from '@millrace/shared/base/notes';
import { formatBytes } from '@millrace/shared/base/units';
import type { Statement } from '@millrace/shared/download/metalink/description-merge';
import type { OlderFile } from '@millrace/shared/download/request/request';
import type { ReadableExnode } from '@millrace/shared/exnode/exnode';
import type { FoundRun } from '@millrace/shared/reuse/block-search';
import { MAX_ZSYNC_BYTES } from '@millrace/shared/reuse/zsync-file';
import { readAll } from '../files/file-steps.ts';
import { openPlain } from '../files/open-plain.ts';
import { FileCheck } from '../hash/file-check.ts';
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

type TakenBytesOptions = Pick<OlderFileOptions, 'older' | 'onNote'>;

/** Longest time to fetch a list of blocks, ms. */
const LIST_MS = 120_000;
const COPY_BYTES = 1024 * 1024;
/** Memory of the thread beside its tables, MiB. */
const THREAD_MIB = 256;

/** Bytes that were taken from an older file, and are not proven. */
export class TakenBytes {
  readonly #ranges: RangeSet;
  readonly #older: OlderFile;
  readonly #onNote: (note: Note) => void;
  /** Statement of the list of blocks about the whole file. */
  #list: Statement | undefined;

  constructor({ older, onNote }: TakenBytesOptions, ranges = new RangeSet(), list?: Statement) {
    this.#older = older;
    this.#onNote = onNote;
    this.#ranges = ranges;
    this.#list = list;
  }

  /**
   * Makes the check of the complete file by what others say of it and by the list of blocks. A list
   * that was only found beside the file is left aside if it contradicts the others.
   *
   * @throws MillraceError `contradicting-statements`
   */
  check(said: readonly Statement[], signed: Digest | undefined): FileCheck {
    try {
      return new FileCheck([...said, ...this.statements], signed);
    } catch (error) {
      const isOfList = isMillraceError(error, 'contradicting-statements');
      if (!isOfList || this.#older.zsync !== undefined || !this.#leaveList()) throw error;
      return new FileCheck(said, signed);
    }
  }

  /** Statements of the list of blocks about the whole file. */
  get statements(): readonly Statement[] {
    return this.#list === undefined ? [] : [this.#list];
  }

  /** Returns true if `doubt` would doubt something after a check that has failed. */
  canDoubt(check: FileCheck): boolean {
    return this.#ranges.bytes > 0 || this.#isByListAlone(check);
  }

  /**
   * Doubts what the older file and its list have brought, after the complete file was wrong: first
   * the bytes, which are fetched then; if the file is still wrong, a list that nobody has named. It
   * may be that of another version, and publishers forget to renew it.
   *
   * @returns false if nothing is left to doubt
   * @throws MillraceError of the file
   */
  async doubt(file: PartialFile, check: FileCheck): Promise<boolean> {
    if (this.#ranges.bytes === 0) return this.#isByListAlone(check) && this.#leaveList();
    this.#onNote(noteOf('older-was-wrong', { file: basename(this.#older.path) }));
    return this.forget(file);
  }

  /** A repair is right only by a digest, so it relies on its list. */
  #isByListAlone({ wanted }: FileCheck): boolean {
    const { zsync, repairs } = this.#older;
    if (zsync !== undefined || repairs === true || wanted === undefined) return false;
    return this.#list?.digests?.some(({ hex }) => hex === wanted.hex) === true;
  }

  #leaveList(): boolean {
    if (this.#list === undefined) return false;
    this.#onNote(noteOf('list-was-stale', { url: this.#list.by }));
    this.#list = undefined;
    return true;
  }

  /** Notes that bytes are no longer stored, and come from elsewhere. */
  onLost(range: ByteRange): void {
    this.#ranges.remove(range);
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
  const taken = new RangeSet();
  let list: Statement | undefined;
  await withOlder(options, taken, older.zsync !== undefined, async (opened) => {
    if (older.except !== undefined) return takeAllBut(opened, older.except, taken, options);
    const { blocks, by } = await findBlocks(options);
    const { size } = await opened.stat();
    const task = { fd: opened.fd, size, length: options.length, blocks };
    const { runs, sha1 } = await search(task, signal);
    await copyRuns(opened, runs, taken, options);
    onNote(takenNote(older, taken.bytes, by));
    if (sha1 !== undefined) list = { by, digests: [{ algorithm: 'sha1', hex: sha1 }] };
  });
  return new TakenBytes(options, taken, list);
}

export interface OlderBlocksOptions
  extends Pick<OlderFileOptions, 'older' | 'file' | 'signal' | 'onNote'> {
  readonly exnode: ReadableExnode;
}

/**
 * Takes what an older file may have of the blocks of an exNode, each of which is proven afterwards. Of an
 * encrypted file the digests are those of its ciphertext: then all is taken that is at the same position.
 *
 * @returns the ranges that were taken
 * @throws MillraceError of the wanted file; the signal's reason
 */
export async function takeBlocks(options: OlderBlocksOptions): Promise<RangeSet> {
  const { signal, exnode } = options;
  const { size: length, blocks, bodyKey } = exnode;
  const taken = new RangeSet();
  await withOlder(options, taken, false, async (opened) => {
    const { size } = await opened.stat();
    const same = { start: 0, from: 0, bytes: Math.min(size, length) };
    const runs =
      bodyKey === undefined
        ? (await search({ fd: opened.fd, size, length, blocks }, signal)).runs
        : [same];
    await copyRuns(opened, runs, taken, options);
  });
  return taken;
}

/** Returns the note that says how much an older file has brought. @param by whose digests say so */
export function takenNote({ path }: OlderFile, bytes: number, by: string): Note {
  return noteOf('taken-from-older', { bytes: formatBytes(bytes), file: basename(path), url: by });
}

/**
 * Opens an older file and uses it. If that fails, nothing is taken, and a note says so.
 *
 * @param mustEnd true to throw every failure
 */
async function withOlder(
  { older, file, signal, onNote }: Pick<OlderFileOptions, 'older' | 'file' | 'signal' | 'onNote'>,
  taken: RangeSet,
  mustEnd: boolean,
  use: (opened: FileHandle) => Promise<void>,
): Promise<void> {
  let opened: FileHandle | undefined;
  try {
    opened = await openPlain(older.path);
    await use(opened);
  } catch (thrown) {
    signal.throwIfAborted();
    const error = asMillraceError(thrown);
    if (mustEnd || MUST_END.has(error.code)) throw error;
    // Nobody would check what had been copied before the older file failed.
    for (const range of [...taken.ranges]) {
      await file.forget(range);
      taken.remove(range);
    }
    onNote(noteOfError('older-not-used', error, { file: basename(older.path) }));
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
    .filter((one) => isPlain(one) && fitsLength(one, length))
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

/** Takes all of a file of the right length but for some ranges. */
async function takeAllBut(
  opened: FileHandle,
  except: readonly ByteRange[],
  taken: RangeSet,
  options: OlderFileOptions,
): Promise<void> {
  const { length } = options;
  if ((await opened.stat()).size !== length) throw new MillraceError('file-has-changed');
  const wanted = new RangeSet([{ start: 0, end: length }]);
  for (const range of except) wanted.remove(range);
  const runs = wanted.ranges.map(({ start, end }) => ({ start, from: start, bytes: end - start }));
  await copyRuns(opened, runs, taken, options);
}

/** Copies what was found. @param taken gets the ranges of the wanted file that were copied */
async function copyRuns(
  older: FileHandle,
  runs: readonly FoundRun[],
  taken: RangeSet,
  { file, signal }: Pick<OlderFileOptions, 'file' | 'signal'>,
): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
  for (const { start, from, bytes } of runs) {
    for (const gap of file.stored.missing({ start, end: start + bytes })) {
      for (let at = gap.start; at < gap.end; at += COPY_BYTES) {
        signal.throwIfAborted();
        const part = buffer.subarray(0, Math.min(COPY_BYTES, gap.end - at));
        // Beyond the end of the older file zeros were found.
        part.fill(0);
        await readAll(older, part, from + at - start);
        taken.add({ start: at, end: at + part.length });
        await file.store(at, part, true);
      }
    }
  }
}
