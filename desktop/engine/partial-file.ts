/**
 * A download on disk while it is not complete: the data at their final positions, and a journal of
 * what is known to be right. The journal is believed only where the bytes still have their digest:
 * whatever happens in between costs some bytes, never a wrong one. What is written survives the end
 * of the process at once, and that of the machine after the next flush.
 */

import { createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type ByteRange, intersect, type RangeSet } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Journal, JournalHeader } from '@millrace/shared/download/journal';
import { canPin, matchVersion, type Validators } from '@millrace/shared/http/validators';
import { fileError } from './file-error.ts';
import { lockFile } from './file-lock.ts';
import { exists, renameWithoutReplacing, syncFolder, writeAll } from './file-steps.ts';
import { FileWatch } from './file-watch.ts';
import { undoFinish } from './interrupted-finish.ts';
import { readJournal } from './journal-file.ts';
import { DATA_SUFFIX, JOURNAL_SUFFIX, LOCK_SUFFIX } from './partial-names.ts';
import { segmentDigest } from './segment-digest.ts';
import { StoredBytes } from './stored-bytes.ts';

export { DATA_SUFFIX, JOURNAL_SUFFIX };

/**
 * Written bytes are flushed after so long or so many: with the time that they are collected for
 * before (`SegmentWriter`), a second is what the end of the machine can cost.
 */
const FLUSH_EVERY_MS = 500;
const FLUSH_EVERY_BYTES = 64 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
/** What a journal takes on disk, per byte of the file, and at least. */
const JOURNAL_SHARE = 1 / 4096;
const JOURNAL_ROOM_BYTES = 256 * 1024;

export interface PartialFileOptions {
  /** Where the complete file will be. */
  readonly path: string;
  readonly overwrite: boolean;
  /** What is being downloaded; undefined length: not known, and not to be resumed. */
  readonly header: Omit<JournalHeader, 'length'> & { readonly length: number | undefined };
  /**
   * True: bytes of an earlier run are kept where the length is the same, also when the validators
   * do not show that they are of this version; `earlier` says what they are of.
   */
  readonly keepUnproven?: boolean;
  /**
   * URLs of the file, where more than one is known. What has been downloaded from any other is not
   * given up for it without being told to. Undefined: it is.
   */
  readonly ownUrls?: readonly string[];
  /** Told when what an earlier run left is going to be verified: that can take a while. */
  readonly onVerify?: () => void;
  /** Told when more has been stored. */
  readonly onStored?: () => void;
  /** Told how far that has come. */
  readonly onVerifyProgress?: (doneBytes: number, totalBytes: number) => void;
  /** Ends the verification; `open` rejects with its reason then. */
  readonly signal?: AbortSignal;
  /** Told of bytes that were stored and no longer are: they must be fetched again. */
  readonly onLost?: (ranges: readonly ByteRange[]) => void;
}

/** A write under way. */
interface Writing {
  readonly range: ByteRange;
  readonly done: Promise<void>;
}

export class PartialFile {
  readonly #o: PartialFileOptions;
  readonly #unlock: () => Promise<void>;
  readonly #data: FileHandle;
  readonly #watch: FileWatch;
  readonly #stored: StoredBytes;
  readonly #writing = new Set<Writing>();
  /** Written, but not yet flushed. */
  #unflushed: ByteRange[] = [];
  #unflushedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #flushes: Promise<void> = Promise.resolve();
  #failure: MillraceError | undefined;
  /** What was there before was of another file or version, and has been given up. */
  startedOver = false;
  /** What the earlier run was about whose bytes are there. */
  earlier: JournalHeader | undefined;
  /** Bytes that an earlier run had brought to disk for good, and that were found to be others. */
  damagedBytes = 0;

  private constructor(options: PartialFileOptions, unlock: () => Promise<void>, data: FileHandle) {
    const { path, header } = options;
    this.#o = options;
    this.#unlock = unlock;
    this.#data = data;
    this.#watch = new FileWatch(data, path + DATA_SUFFIX);
    this.#stored = new StoredBytes(data, {
      length: header.length,
      onLost: (ranges) => options.onLost?.(ranges),
      onFailure: (error) => {
        this.#failure ??= fileError(error, path);
      },
    });
  }

  /**
   * Opens the partial file for a download, going on with what an earlier run left where it is of
   * the same version, and making room for the rest.
   *
   * @throws MillraceError `file-exists`, `file-in-use`, `disk-full`, `file-not-writable`; the
   *   signal's reason
   */
  static async open(options: PartialFileOptions): Promise<PartialFile> {
    const { path, overwrite, signal } = options;
    const names = { path, data: path + DATA_SUFFIX, journal: path + JOURNAL_SUFFIX };
    try {
      const taken = !overwrite && (await exists(path));
      if (taken && !(await exists(names.journal))) throw new MillraceError('file-exists', path);
      const unlock = await lockFile(path + LOCK_SUFFIX);
      let data: FileHandle | undefined;
      try {
        const undone = await undoFinish(names, signal);
        if (taken && !undone) throw new MillraceError('file-exists', path);
        await open(names.data, 'a+').then((created) => created.close());
        data = await open(names.data, 'r+');
        const file = new PartialFile(options, unlock, data);
        await file.#recover();
        return file;
      } catch (error) {
        await data?.close().catch(() => {});
        await unlock();
        throw error;
      }
    } catch (error) {
      if (signal?.aborted && error === signal.reason) throw error;
      throw fileError(error, path);
    }
  }

  /** Where the complete file will be. */
  get path(): string {
    return this.#o.path;
  }

  /** Length of the complete file; undefined: not known. */
  get length(): number | undefined {
    return this.#o.header.length;
  }

  get validators(): Validators {
    return this.#o.header.validators;
  }

  /** True if a file of that name may be replaced. */
  get overwrite(): boolean {
    return this.#o.overwrite;
  }

  /** Where the data are until then. */
  get dataPath(): string {
    return this.#o.path + DATA_SUFFIX;
  }

  /** The bytes that need not be fetched. */
  get stored(): RangeSet {
    return this.#stored.ranges;
  }

  /** How often bytes have been taken out of `stored`: whoever has read them must do so again. */
  get removals(): number {
    return this.#stored.removals;
  }

  /**
   * Writes bytes at their position. They count as stored when this resolves, survive the end of the
   * process from then on, and that of the machine after the next flush. Bytes that are stored
   * already stay as they are: the first copy wins (LOCI 3.2).
   *
   * @param bytes must not change until this resolves
   * @param provisional it may turn out that they are wrong: without `confirm` the next run does not
   *   believe them
   * @throws MillraceError `disk-full`, `file-not-writable`, `file-changed`. What had been stored
   *   stays, and after `recoverFromFailure` it goes on
   */
  async store(position: number, bytes: Buffer, provisional = false): Promise<void> {
    const range = { start: position, end: position + bytes.length };
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      // Two copies at the same time: which of them would be on disk in the end?
      const other = [...this.#writing].find((writing) => intersect(writing.range, range));
      if (other === undefined) break;
      await other.done;
    }
    const missing = this.#stored.ranges.missing(range);
    if (missing.length === 0) return;
    const write = this.#write(missing, position, bytes, provisional);
    const writing = { range, done: write.catch(() => {}) };
    this.#writing.add(writing);
    try {
      await write;
    } catch (error) {
      throw fileError(error, this.#o.path);
    } finally {
      this.#writing.delete(writing);
    }
    this.#o.onStored?.();
    if (this.#unflushedBytes >= FLUSH_EVERY_BYTES) void this.flush().catch(() => {});
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_EVERY_MS);
  }

  /**
   * Makes what has been stored so far survive the end of the machine.
   *
   * @throws MillraceError `disk-full`, `file-not-writable`: the next flush tries again, `store`
   *   fails until then; `file-changed`, and every later call with it
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Beside the other tasks: lines for new bytes do not wait until old ones are on disk.
    const flush = this.#flushes.then(() => this.#flushOnce());
    this.#flushes = flush.catch(() => {});
    return flush;
  }

  /**
   * To be called when what has kept the file from being written may be over: there is room again.
   *
   * @throws MillraceError if it is not
   */
  recoverFromFailure(): Promise<void> {
    return this.flush();
  }

  /**
   * Room on the disk.
   *
   * @param bytes still to be stored
   * @returns bytes: what they take with their journal, and what there is
   */
  async roomFor(bytes: number): Promise<{ needed: number; free: number }> {
    const info = await statfs(dirname(this.#o.path)).catch((error: unknown) => {
      throw fileError(error, this.#o.path);
    });
    const needed = bytes + JOURNAL_ROOM_BYTES + Math.ceil(bytes * JOURNAL_SHARE);
    return { needed, free: info.bavail * info.bsize };
  }

  /**
   * Takes bytes out of what is stored: they have turned out to be wrong. After a crash, too, they
   * will not be there.
   *
   * @throws MillraceError
   */
  forget(range: ByteRange): Promise<void> {
    return this.#stored.forget([range]).catch((error: unknown) => {
      throw fileError(error, this.#o.path);
    });
  }

  /**
   * What has been stored as provisional within a range has been shown to be right.
   *
   * @throws MillraceError `file-not-writable`
   */
  confirm(range: ByteRange): Promise<void> {
    return this.#stored.confirm(range).catch((error: unknown) => {
      throw fileError(error, this.#o.path);
    });
  }

  /**
   * Works out the digest of the whole file.
   *
   * @param algorithm a name that Node's crypto knows
   * @returns hexadecimal
   */
  async digest(algorithm: string, length: number): Promise<string> {
    const hash = createHash(algorithm);
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    for (let at = 0; at < length; ) {
      const { bytesRead } = await this.#data.read(buffer, 0, READ_BYTES, at);
      if (bytesRead === 0) throw new MillraceError('file-not-writable', 'it has become shorter');
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    return hash.digest('hex');
  }

  /**
   * Reads stored bytes.
   *
   * @returns `into.length`
   * @throws MillraceError where the file has become shorter
   */
  async read(into: Buffer, position: number): Promise<number> {
    for (let at = 0; at < into.length; ) {
      const { bytesRead } = await this.#data.read(into, at, into.length - at, position + at);
      if (bytesRead === 0) throw new MillraceError('file-not-writable', 'it has become shorter');
      at += bytesRead;
    }
    return into.length;
  }

  /** The bytes of the earlier run have been shown to be of this version. @throws MillraceError */
  async adopt(): Promise<void> {
    const { path, header } = this.#o;
    const { url, length, validators } = header;
    if (length === undefined) return;
    this.#stored.journal?.setHeader({ url, length, validators });
    await this.#stored.write().catch((error: unknown) => {
      throw fileError(error, path);
    });
  }

  /** Forgets what is stored: the bytes have turned out to be useless. */
  async startOver(): Promise<void> {
    await this.#settle();
    this.#stored.clear();
    this.#unflushed = [];
    this.#unflushedBytes = 0;
    await this.#data.truncate(0);
    if (this.#o.header.length !== undefined) await this.#data.truncate(this.#o.header.length);
    await this.#stored.write();
  }

  /**
   * Gives the complete file its name, at once and without ever replacing another unless told to.
   *
   * @param length what the file must have
   * @throws MillraceError; `file-changed` where somebody has written to it: what is still right
   *   stays, `onLost` is told of the rest
   */
  async finish(length: number): Promise<void> {
    const { path, overwrite } = this.#o;
    try {
      await this.flush();
      await this.#watch.check();
      if (this.#watch.edited) await this.#verifyAgain();
    } catch (error) {
      throw fileError(error, path);
    }
    try {
      await this.#data.truncate(length);
      await this.#data.sync();
      await this.#data.close();
      await this.#stored.close();
      if (overwrite) await rename(this.dataPath, path);
      else await renameWithoutReplacing(this.dataPath, path);
      await syncFolder(dirname(path));
      // The journal last: as long as it is there, the next run can tell that the file is ours.
      await this.#unlock();
      await this.#stored.journal?.remove();
    } catch (error) {
      throw fileError(error, path);
    } finally {
      await this.#unlock();
    }
  }

  /** Leaves what is there to be gone on with; deletes it where that is not possible. */
  async leave(): Promise<void> {
    if (this.#stored.journal === undefined) await this.discard();
    else await this.close();
  }

  /** Closes the file as it is. */
  async close(): Promise<void> {
    await this.#settle();
    clearTimeout(this.#timer);
    await this.#stored.close();
    await this.#data.close().catch(() => {});
    await this.#unlock();
  }

  /** Deletes the partial file. */
  async discard(): Promise<void> {
    // What somebody has put in its place is not ours to delete.
    const ours = await this.#watch.check().then(
      () => true,
      () => false,
    );
    await this.close();
    if (ours) await rm(this.dataPath, { force: true });
    await rm(this.#o.path + JOURNAL_SUFFIX, { force: true });
  }

  /** Waits for what is under way, and flushes if that can be. */
  async #settle(): Promise<void> {
    await Promise.all([...this.#writing].map(({ done }) => done));
    await this.flush().catch(() => {});
  }

  async #write(
    missing: readonly ByteRange[],
    position: number,
    bytes: Buffer,
    provisional: boolean,
  ): Promise<void> {
    await this.#watch.beforeWrite();
    for (const gap of missing) {
      for (const range of this.#stored.cut(gap)) {
        const part = bytes.subarray(range.start - position, range.end - position);
        const write = writeAll(this.#data, part, range.start);
        // Beside the write.
        const digest = provisional ? undefined : segmentDigest(part);
        await write;
        this.#stored.add(range, digest);
        if (this.#stored.journal === undefined) continue;
        this.#unflushed.push(range);
        this.#unflushedBytes += part.length;
      }
    }
  }

  async #flushOnce(): Promise<void> {
    const { journal } = this.#stored;
    if (journal === undefined) return;
    const ranges = this.#unflushed;
    if (ranges.length === 0 && !journal.behind && this.#failure === undefined) return;
    this.#unflushed = [];
    this.#unflushedBytes = 0;
    try {
      await this.#watch.check();
      const { mark } = journal;
      await this.#syncData(ranges);
      await this.#stored.flushed(mark);
      this.#failure = undefined;
      if (this.#writing.size === 0 && this.#unflushed.length === 0) await this.#watch.afterWrites();
    } catch (error) {
      this.#unflushed = [...ranges, ...this.#unflushed];
      this.#failure = fileError(error, this.#o.path);
      throw this.#failure;
    }
  }

  /** @param ranges what has been written since the last time */
  async #syncData(ranges: ByteRange[]): Promise<void> {
    try {
      await this.#data.datasync();
    } catch (error) {
      // The system has tried and given up: it may have dropped the bytes, and says so only once.
      const lost = ranges.splice(0);
      this.#watch.edited = true;
      await this.#stored.forget(lost);
      throw error;
    }
  }

  /** Somebody has written to the file: keeps what is still as it was. */
  async #verifyAgain(): Promise<void> {
    const wrong = await this.#stored.changed();
    this.#watch.edited = false;
    if (wrong.length === 0) return;
    await this.#stored.forget(wrong);
    const bytes = wrong.reduce((sum, { start, end }) => sum + end - start, 0);
    throw new MillraceError('file-changed', `${bytes} bytes are not what was written`);
  }

  async #recover(): Promise<void> {
    const { path, header, overwrite } = this.#o;
    const { length } = header;
    const journal = await readJournal(path + JOURNAL_SUFFIX);
    const { size } = await this.#data.stat();
    // Files at different URLs may have a tag in common: servers make it from length and date.
    const proven =
      journal !== undefined &&
      this.#isOurs(journal.header) &&
      length === journal.header.length &&
      canPin(header.validators) &&
      matchVersion(journal.header.validators, header.validators) === 'same';
    const before = journal?.header;
    if (before !== undefined && before.length !== length && !overwrite && !this.#isOurs(before)) {
      throw new MillraceError('different-file', `${path + DATA_SUFFIX} is of ${before.url}`);
    }
    const kept =
      proven ||
      (this.#o.keepUnproven === true && length !== undefined && length === before?.length);
    this.earlier = before;
    if (!kept || journal === undefined) {
      this.startedOver = size > 0;
      await this.#data.truncate(0);
    } else {
      await this.#verify(journal);
    }
    if (length === undefined) {
      await rm(path + JOURNAL_SUFFIX, { force: true });
      return;
    }
    await this.#makeRoom(length);
    this.#watch.expect(length);
    const { url, validators } = header;
    // Until it is shown that the bytes are of this version, they are of the earlier one.
    const own = proven || !kept || this.#stored.ranges.bytes === 0;
    await this.#stored.open(
      path + JOURNAL_SUFFIX,
      own || journal === undefined ? { url, length, validators } : journal.header,
    );
  }

  /** True if the earlier run was about the same download: a new version takes its place. */
  #isOurs({ url }: JournalHeader): boolean {
    const { ownUrls, header } = this.#o;
    return ownUrls === undefined || url === header.url || ownUrls.includes(url);
  }

  async #verify(journal: Journal): Promise<void> {
    if (journal.entries.length === 0) return;
    const { onVerify, onVerifyProgress, signal } = this.#o;
    onVerify?.();
    this.damagedBytes = await this.#stored.recover(journal, {
      signal,
      onProgress: onVerifyProgress,
    });
  }

  /** Better to hear now than after hours that the disk is too small. */
  async #makeRoom(length: number): Promise<void> {
    const { blocks } = await this.#data.stat();
    const info = await statfs(dirname(this.#o.path));
    const needed = length - blocks * 512;
    const free = info.bavail * info.bsize;
    if (needed > free) {
      throw new MillraceError('disk-full', `${needed} bytes are needed, ${free} are free`);
    }
    await this.#data.truncate(length);
  }
}
