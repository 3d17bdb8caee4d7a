/**
 * The unfinished file of a download on disk: the data at their final positions, and a journal of
 * the bytes known to be right. The journal is trusted only where the bytes still match their
 * digest: damage between two runs costs some bytes, but never yields a wrong one. Written bytes
 * survive the end of the process at once, and a crash of the machine after the next flush.
 */

import { type FileHandle, rm } from 'node:fs/promises';
import type { ByteRange, RangeSet } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import type { JournalHeader } from '@millrace/shared/download/journal/journal';
import type { Validators } from '@millrace/shared/http/fields/validators';
import { fileError } from '../files/file-error.ts';
import { lockFile, removeLeftLock } from '../files/file-lock.ts';
import { exists, readAll } from '../files/file-steps.ts';
import { FileWatch } from '../files/file-watch.ts';
import { isHeld } from '../files/held-name.ts';
import { openOwn } from '../files/own-file.ts';
import { DATA_SUFFIX, JOURNAL_SUFFIX, LOCK_SUFFIX } from '../files/partial-names.ts';
import { DataFlush } from './data-flush.ts';
import { DataWriter } from './data-writer.ts';
import { type FileNames, undoFinish } from './interrupted-finish.ts';
import { closeComplete, nameComplete } from './name-complete.ts';
import { type RecoveryOptions, recoverPartial } from './partial-recovery.ts';
import { StoredBytes } from './stored-bytes.ts';

export interface PartialFileOptions extends RecoveryOptions {
  /** Final path of the complete file. */
  readonly path: string;
  /** Mark of the file that holds that path for this download; undefined: no file holds it. */
  readonly held?: string | undefined;
  /**
   * True if the file that has the path is to be repaired: then it is not the end of this download, even if
   * its journal is still there.
   */
  readonly repairs?: boolean | undefined;
  /** Called after more bytes have been stored. */
  readonly onStored?: () => void;
  /** Called with ranges that are no longer stored: they must be fetched again. */
  readonly onLost?: (ranges: readonly ByteRange[]) => void;
}

export class PartialFile {
  readonly #options: PartialFileOptions;
  readonly #names: FileNames;
  readonly #unlock: () => Promise<void>;
  readonly #data: FileHandle;
  readonly #watch: FileWatch;
  readonly #stored: StoredBytes;
  readonly #flush: DataFlush;
  readonly #writer: DataWriter;
  readonly #fail = (error: unknown): never => {
    throw fileError(error, this.#options.path);
  };
  /** True if the bytes of an earlier run belonged to another file or version, and were given up. */
  startedOver = false;
  /** Header from the journal of the earlier run that left the bytes. */
  earlier: JournalHeader | undefined;
  /** Number of bytes that an earlier run had flushed, and that have changed since. */
  damagedBytes = 0;

  private constructor(
    options: PartialFileOptions,
    names: FileNames,
    unlock: () => Promise<void>,
    data: FileHandle,
  ) {
    const { path, header } = options;
    this.#options = options;
    this.#names = names;
    this.#unlock = unlock;
    this.#data = data;
    this.#watch = new FileWatch(data, names.data);
    this.#stored = new StoredBytes(data, {
      length: header.length,
      onLost: (ranges) => options.onLost?.(ranges),
      onFailure: (error) => this.#flush.failed(error),
    });
    this.#flush = new DataFlush({
      path,
      data,
      watch: this.#watch,
      stored: this.#stored,
      isWriting: () => this.#writer.isBusy,
    });
    const [watch, stored, flush] = [this.#watch, this.#stored, this.#flush];
    this.#writer = new DataWriter({ data, watch, stored, flush });
  }

  /**
   * Opens the partial file for a download: keeps the bytes of an earlier run if they belong to the
   * same version, and reserves room for the rest.
   *
   * @throws MillraceError `file-exists`, `file-in-use`, `disk-full`, `file-not-writable`; the
   *   signal's reason
   */
  static async open(options: PartialFileOptions): Promise<PartialFile> {
    const { path, overwrite, held, signal, repairs = false } = options;
    const names = { path, data: path + DATA_SUFFIX, journal: path + JOURNAL_SUFFIX };
    try {
      const taken = !overwrite && (await exists(path)) && !(await isHeld(path, held));
      if (taken && !(await exists(names.journal))) {
        // A run that was killed after all other work was done left only its lock.
        await removeLeftLock(path + LOCK_SUFFIX);
        throw new MillraceError('file-exists', { code: 'path', values: { path } });
      }
      const unlock = await lockFile(path + LOCK_SUFFIX);
      let data: FileHandle | undefined;
      try {
        if (repairs && !(await exists(names.data))) await rm(names.journal, { force: true });
        const undone = await undoFinish(names, signal);
        if (taken && !undone)
          throw new MillraceError('file-exists', { code: 'path', values: { path } });
        data = await openOwn(names.data);
        const file = new PartialFile(options, names, unlock, data);
        const found = await recoverPartial(names, data, file.#watch, file.#stored, options);
        return Object.assign(file, found);
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

  /** Final path of the complete file. */
  get path(): string {
    return this.#options.path;
  }

  /** Length of the complete file in bytes; undefined: not known. */
  get length(): number | undefined {
    return this.#options.header.length;
  }

  get validators(): Validators {
    return this.#options.header.validators;
  }

  /** True if an existing file of that name may be replaced. */
  get overwrite(): boolean {
    return this.#options.overwrite;
  }

  /** Path of the data until the file is complete. */
  get dataPath(): string {
    return this.#names.data;
  }

  /** The bytes that need not be fetched. */
  get stored(): RangeSet {
    return this.#stored.ranges;
  }

  /**
   * Number of times that bytes were removed from `stored`: readers of them must then read again.
   */
  get removals(): number {
    return this.#stored.removals;
  }

  /**
   * Writes bytes at their position. They count as stored when this resolves; from then on they
   * survive the end of the process, and after the next flush a crash of the machine. Bytes that are
   * already stored stay as they are: the first copy wins (LOCI 3.2).
   *
   * @param bytes must not change until this resolves
   * @param provisional the bytes may turn out to be wrong: without `confirm` the next run does not
   *   trust them
   * @throws MillraceError `disk-full`, `file-not-writable`, `file-changed`. Bytes stored before
   *   stay, and writing can continue after a successful `flush`
   */
  async store(position: number, bytes: Buffer, provisional = false): Promise<void> {
    const isNew = await this.#writer.write(position, bytes, provisional).catch(this.#fail);
    if (isNew) this.#options.onStored?.();
  }

  /**
   * Makes the bytes stored so far survive a crash of the machine. After a failure it also checks
   * whether the file can be written again: the disk may have room now.
   *
   * @throws MillraceError `disk-full`, `file-not-writable`: the next flush tries again, and `store`
   *   fails until then; `file-changed`: every later call fails with it too
   */
  flush(): Promise<void> {
    return this.#flush.flush();
  }

  /**
   * Removes stored bytes that turned out to be wrong. They stay removed after a crash.
   *
   * @throws MillraceError
   */
  forget(range: ByteRange): Promise<void> {
    return this.#stored.forget([range]).catch(this.#fail);
  }

  /**
   * Confirms provisional bytes that have been shown to be right.
   *
   * @throws MillraceError `file-not-writable`
   */
  confirm(range: ByteRange): Promise<void> {
    return this.#stored.confirm(range).catch(this.#fail);
  }

  /**
   * Notes that stored bytes have the digests of their blocks, so that no later run has to prove them.
   *
   * @param by name of these digests
   * @throws MillraceError `file-not-writable`
   */
  async prove(range: ByteRange, by: string): Promise<void> {
    await this.confirm(range);
    if (this.stored.covers(range)) this.#stored.addProven(range, by);
  }

  /** Returns the bytes that have some digests. @param by name of these */
  provenBy(by: string): readonly ByteRange[] {
    return this.#stored.provenBy(by);
  }

  /**
   * Reads stored bytes.
   *
   * @returns `into.length`
   * @throws MillraceError if the file has become shorter
   */
  async read(into: Buffer, position: number): Promise<number> {
    if (await readAll(this.#data, into, position)) return into.length;
    throw new MillraceError('file-not-writable', { code: 'become-shorter' });
  }

  /**
   * Notes that the bytes of the earlier run are proven to belong to this version. @throws
   * MillraceError
   */
  async adopt(): Promise<void> {
    const { url, length, validators } = this.#options.header;
    if (length === undefined) return;
    this.#stored.journal?.setHeader({ url, length, validators });
    await this.#stored.write().catch(this.#fail);
  }

  /** Removes all stored bytes, because they turned out to be useless. */
  async startOver(): Promise<void> {
    await this.#settle();
    this.#stored.clear();
    this.#flush.clear();
    await this.#data.truncate(0);
    if (this.#options.header.length !== undefined)
      await this.#data.truncate(this.#options.header.length);
    await this.#stored.write();
  }

  /**
   * Gives the complete file its final name in one step, and replaces an existing file only if
   * `overwrite` is set. The caller must then call `settle`.
   *
   * @param length expected length of the file, in bytes
   * @throws MillraceError; `file-changed` if another program has written to the file: bytes that
   *   are still right stay, `onLost` is called with the rest; `internal` if bytes were never stored
   */
  async finish(length: number): Promise<void> {
    const { path, overwrite, held } = this.#options;
    try {
      await this.flush();
      await this.#watch.check();
      if (this.#watch.edited) await this.#verifyAgain();
    } catch (error) {
      throw fileError(error, path);
    }
    // A transfer counts bytes on their way; only those that the disk has taken make a file complete.
    const missing = this.#stored.ranges.missing({ start: 0, end: length });
    if (missing.length > 0) {
      throw new MillraceError('internal', `${missing.length} parts of the file are missing`);
    }
    try {
      const own = await closeComplete(this.#data, length);
      await this.#stored.close();
      const replaces = overwrite || (await isHeld(path, held));
      await nameComplete(own, this.dataPath, path, replaces);
    } catch (error) {
      await this.#unlock();
      throw fileError(error, path);
    }
  }

  /**
   * Releases the complete file. Its journal stays until then, so that after a crash the next run
   * can tell that the file is ours.
   *
   * @param written true if the completion has been recorded: deletes the journal
   */
  async settle(written: boolean): Promise<void> {
    try {
      if (written) await this.#stored.journal?.remove();
    } catch (error) {
      throw fileError(error, this.#options.path);
    } finally {
      await this.#unlock();
    }
  }

  /** Leaves the stored bytes for resuming, or deletes them if the download cannot be resumed. */
  async leave(): Promise<void> {
    if (this.#stored.journal === undefined) await this.discard();
    else await this.close();
  }

  /** Closes the partial file as it is. */
  async close(): Promise<void> {
    await this.#settle();
    this.#flush.stop();
    await this.#stored.close();
    await this.#data.close().catch(() => {});
    await this.#unlock();
  }

  /** Deletes the partial file. */
  async discard(): Promise<void> {
    // A file that another program put in its place is not ours to delete.
    const ours = await this.#watch.check().then(
      () => true,
      () => false,
    );
    await this.close();
    if (ours) await rm(this.dataPath, { force: true });
    await rm(this.#names.journal, { force: true });
  }

  /** Waits for all writes under way, and flushes if possible. */
  async #settle(): Promise<void> {
    await this.#writer.settled();
    await this.flush().catch(() => {});
  }

  /** Verifies the file after another program wrote to it: keeps the bytes that are unchanged. */
  async #verifyAgain(): Promise<void> {
    const wrong = await this.#stored.changed();
    this.#watch.edited = false;
    if (wrong.length === 0) return;
    await this.#stored.forget(wrong);
    const bytes = wrong.reduce((sum, { start, end }) => sum + end - start, 0);
    throw new MillraceError('file-changed', { code: 'not-what-was-written', values: { bytes } });
  }
}
