/**
 * A download on disk while it is not complete: the data at their final positions, and a journal of
 * what is known to be right. The journal is believed only where the bytes still have their digest:
 * whatever happens in between costs some bytes, never a wrong one. What is written survives the end
 * of the process at once, and that of the machine after the next flush.
 */

import { createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type ByteRange, intersect, RangeSet } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Journal, JournalEntry, JournalHeader } from '@millrace/shared/download/journal';
import { JournalEntries } from '@millrace/shared/download/journal-entries';
import { canPin, matchVersion, type Validators } from '@millrace/shared/http/validators';
import { fileError } from './file-error.ts';
import { lockFile } from './file-lock.ts';
import { exists, readAll, renameWithoutReplacing, syncFolder, writeAll } from './file-steps.ts';
import { FileWatch } from './file-watch.ts';
import { undoFinish } from './interrupted-finish.ts';
import { JournalFile, readJournal } from './journal-file.ts';
import { DATA_SUFFIX, JOURNAL_SUFFIX, LOCK_SUFFIX } from './partial-names.ts';
import { SegmentDigest } from './segment-digest.ts';
import { verifyEntries } from './verify.ts';

export { DATA_SUFFIX, JOURNAL_SUFFIX };

/**
 * Written bytes are flushed after so long or so many: with the time that they are collected for
 * before (`SegmentWriter`), a second is what the end of the machine can cost.
 */
const FLUSH_EVERY_MS = 500;
const FLUSH_EVERY_BYTES = 64 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
/** Stretches with a digest each, however small the pieces were in which they came. */
const UNIT_BYTES = 1024 * 1024;
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
  /** Undefined where the length is not known. */
  readonly #entries: JournalEntries | undefined;
  #journal: JournalFile | undefined;
  /** Bytes in the data file. */
  readonly #stored = new RangeSet();
  readonly #digests = new SegmentDigest();
  readonly #writing = new Set<Writing>();
  /** Written, but not yet flushed. */
  #unflushed: ByteRange[] = [];
  #unflushedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** What is done with the journal, one after the other. */
  #tasks: Promise<void> = Promise.resolve();
  #flushes: Promise<void> = Promise.resolve();
  #journaling = false;
  #failure: MillraceError | undefined;
  #removals = 0;
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
    if (header.length !== undefined) this.#entries = new JournalEntries(header.length, UNIT_BYTES);
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
    return this.#stored;
  }

  /** How often bytes have been taken out of `stored`: whoever has read them must do so again. */
  get removals(): number {
    return this.#removals;
  }

  /**
   * Writes bytes at their position. They count as stored when this resolves, survive the end of the
   * process from then on, and that of the machine after the next flush. Bytes that are stored
   * already stay as they are: the first copy wins (LOCI 3.2).
   *
   * @param bytes must not change until this resolves
   * @throws MillraceError `disk-full`, `file-not-writable`, `file-changed`. What had been stored
   *   stays, and after `recoverFromFailure` it goes on
   */
  async store(position: number, bytes: Buffer): Promise<void> {
    const range = { start: position, end: position + bytes.length };
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      // Two copies at the same time: which of them would be on disk in the end?
      const other = [...this.#writing].find((writing) => intersect(writing.range, range));
      if (other === undefined) break;
      await other.done;
    }
    const missing = this.#stored.missing(range);
    if (missing.length === 0) return;
    const write = this.#write(missing, position, bytes);
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
    return this.#run(() => this.#forget([range])).catch((error: unknown) => {
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
    this.#journal?.setHeader({ url, length, validators });
    await this.#run(async () => this.#journal?.write()).catch((error: unknown) => {
      throw fileError(error, path);
    });
  }

  /** Forgets what is stored: the bytes have turned out to be useless. */
  async startOver(): Promise<void> {
    await this.#settle();
    const all = { start: 0, end: this.#o.header.length ?? Number.MAX_SAFE_INTEGER };
    this.#removals++;
    this.#stored.remove(all);
    this.#entries?.remove(all);
    this.#unflushed = [];
    this.#unflushedBytes = 0;
    await this.#data.truncate(0);
    if (this.#o.header.length !== undefined) await this.#data.truncate(this.#o.header.length);
    this.#journal?.replace();
    await this.#run(async () => this.#journal?.write());
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
      await this.#journal?.close();
      if (overwrite) await rename(this.dataPath, path);
      else await renameWithoutReplacing(this.dataPath, path);
      await syncFolder(dirname(path));
      // The journal last: as long as it is there, the next run can tell that the file is ours.
      await this.#unlock();
      await this.#journal?.remove();
    } catch (error) {
      throw fileError(error, path);
    } finally {
      await this.#unlock();
    }
  }

  /** Leaves what is there to be gone on with; deletes it where that is not possible. */
  async leave(): Promise<void> {
    if (this.#journal === undefined) await this.discard();
    else await this.close();
  }

  /** Closes the file as it is. */
  async close(): Promise<void> {
    await this.#settle();
    clearTimeout(this.#timer);
    await this.#journal?.close();
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

  async #write(missing: readonly ByteRange[], position: number, bytes: Buffer): Promise<void> {
    await this.#watch.beforeWrite();
    for (const gap of missing) {
      for (const range of this.#entries?.cut(gap) ?? [gap]) {
        const part = bytes.subarray(range.start - position, range.end - position);
        const write = writeAll(this.#data, part, range.start);
        if (this.#entries === undefined) {
          await write;
          this.#stored.add(range);
        } else {
          const [digest] = await Promise.all([this.#digests.of(part), write]);
          this.#written(this.#entries, { range, digest });
        }
      }
    }
  }

  #written(entries: JournalEntries, entry: JournalEntry): void {
    const { range } = entry;
    this.#stored.add(range);
    this.#unflushed.push(range);
    this.#unflushedBytes += range.end - range.start;
    const parts = entries.add(entry);
    this.#journal?.add(entry);
    if (parts !== undefined) {
      const { removals } = this;
      void this.#run(() => this.#merge(entries, parts, removals)).catch(() => {});
    }
    this.#journalSoon();
  }

  /** Lines go out at once, but in one piece where the disk is slower than they come. */
  #journalSoon(): void {
    if (this.#journaling) return;
    this.#journaling = true;
    const write = async () => {
      this.#journaling = false;
      await this.#journal?.write();
    };
    this.#run(write).catch((error: unknown) => {
      this.#failure ??= fileError(error, this.#o.path);
    });
  }

  /** One digest in place of several, where what they are of is still what was written. */
  async #merge(
    entries: JournalEntries,
    parts: readonly JournalEntry[],
    removals: number,
  ): Promise<void> {
    const start = (parts[0] as JournalEntry).range.start;
    const end = (parts.at(-1) as JournalEntry).range.end;
    const bytes = Buffer.allocUnsafeSlow(end - start);
    if (!(await readAll(this.#data, bytes, start))) return;
    for (const { range, digest } of parts) {
      const part = bytes.subarray(range.start - start, range.end - start);
      if ((await this.#digests.of(part)) !== digest) return;
    }
    const digest = await this.#digests.of(bytes);
    if (removals !== this.#removals) return;
    const entry = { range: { start, end }, digest };
    entries.add(entry);
    this.#journal?.add(entry);
  }

  async #flushOnce(): Promise<void> {
    const journal = this.#journal;
    if (journal === undefined) return;
    const ranges = this.#unflushed;
    if (ranges.length === 0 && !journal.behind && this.#failure === undefined) return;
    this.#unflushed = [];
    this.#unflushedBytes = 0;
    try {
      await this.#watch.check();
      const { mark } = journal;
      await this.#syncData(ranges);
      await this.#run(async () => {
        await journal.restore();
        await journal.writeFlushed(mark);
      });
      await journal.sync();
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
      await this.#run(() => this.#forget(lost));
      throw error;
    }
  }

  async #forget(ranges: readonly ByteRange[]): Promise<void> {
    const entries = this.#entries;
    this.#removals++;
    const unproven: ByteRange[] = [];
    for (const range of ranges) {
      this.#stored.remove(range);
      unproven.push(...(entries?.remove(range) ?? []));
    }
    this.#o.onLost?.(ranges);
    if (entries === undefined) return;
    this.#journal?.replace();
    for (const range of unproven) await this.#proveAgain(entries, range);
    await this.#journal?.write();
  }

  /** Digests for what is still stored of a stretch that has lost its own. */
  async #proveAgain(entries: JournalEntries, stretch: ByteRange): Promise<void> {
    const kept = this.#stored.ranges.flatMap((range) => intersect(range, stretch) ?? []);
    for (const range of kept) {
      const bytes = Buffer.allocUnsafeSlow(range.end - range.start);
      if (!(await readAll(this.#data, bytes, range.start))) continue;
      entries.add({ range, digest: await this.#digests.of(bytes) });
    }
  }

  /** Somebody has written to the file: keeps what is still as it was. */
  async #verifyAgain(): Promise<void> {
    const entries = [...(this.#entries ?? [])];
    const right = new Set(await verifyEntries(this.#data, entries));
    const wrong = entries.filter((entry) => !right.has(entry)).map(({ range }) => range);
    this.#watch.edited = false;
    if (wrong.length === 0) return;
    await this.#run(() => this.#forget(wrong));
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
    if (length === undefined || this.#entries === undefined) {
      await rm(path + JOURNAL_SUFFIX, { force: true });
      return;
    }
    await this.#makeRoom(length);
    this.#watch.expect(length);
    const { url, validators } = header;
    // Until it is shown that the bytes are of this version, they are of the earlier one.
    const own = proven || !kept || this.#stored.bytes === 0;
    this.#journal = new JournalFile(
      path + JOURNAL_SUFFIX,
      own || journal === undefined ? { url, length, validators } : journal.header,
      this.#entries,
    );
    await this.#journal.write();
  }

  /** True if the earlier run was about the same download: a new version takes its place. */
  #isOurs({ url }: JournalHeader): boolean {
    const { ownUrls, header } = this.#o;
    return ownUrls === undefined || url === header.url || ownUrls.includes(url);
  }

  async #verify({ entries, flushed }: Journal): Promise<void> {
    if (entries.length === 0) return;
    const { onVerify, onVerifyProgress, signal } = this.#o;
    onVerify?.();
    const known = this.#entries as JournalEntries;
    // Later lines take the place of earlier ones; those that do not fit in are cut up.
    const settled = new Set<JournalEntry>();
    const durable = new RangeSet();
    for (const [index, entry] of entries.entries()) {
      if (index < flushed) durable.add(entry.range);
      if ([...known.cut(entry.range)].length === 1) known.add(entry);
      else settled.add(entry);
    }
    const claimed = [...known, ...settled];
    const options = { signal, onProgress: onVerifyProgress };
    const right = new Set(await verifyEntries(this.#data, claimed, options));
    for (const entry of claimed) {
      if (right.has(entry)) this.#stored.add(entry.range);
      else if (!settled.has(entry)) known.remove(entry.range);
    }
    for (const entry of settled) {
      if (!right.has(entry)) continue;
      for (const part of known.cut(entry.range)) await this.#proveAgain(known, part);
    }
    const kept = durable.ranges.reduce((sum, range) => sum + this.#stored.bytesWithin(range), 0);
    this.damagedBytes = durable.bytes - kept;
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

  #run<T>(task: () => Promise<T>): Promise<T> {
    const run = this.#tasks.then(task);
    this.#tasks = run.then(
      () => {},
      () => {},
    );
    return run;
  }
}
