/**
 * A download on disk while it is not complete: the data at their final positions, and a journal of
 * what is known to be right. Bytes are flushed before the journal says so, and the journal is
 * believed only where the bytes still have their digest: whatever happens in between costs some
 * bytes, never a wrong one.
 */

import { createHash } from 'node:crypto';
import {
  type FileHandle,
  link,
  open,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises';
import { dirname } from 'node:path';
import { type ByteRange, RangeSet } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  formatEntry,
  formatHeader,
  type JournalEntry,
  type JournalHeader,
  parseJournal,
} from '@millrace/shared/download/journal';
import { canPin, matchVersion } from '@millrace/shared/http/validators';
import { fileError } from './file-error.ts';
import { lockFile } from './file-lock.ts';
import { SegmentDigest } from './segment-digest.ts';

export const DATA_SUFFIX = '.millrace-part';
export const JOURNAL_SUFFIX = '.millrace-journal';
const LOCK_SUFFIX = '.millrace-lock';

/** The journal is written at least so often, or after so many bytes: what a crash can cost. */
const FLUSH_EVERY_MS = 1000;
const FLUSH_EVERY_BYTES = 64 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;

export interface PartialFileOptions {
  /** Where the complete file will be. */
  readonly path: string;
  readonly overwrite: boolean;
  /** What is being downloaded; undefined length: not known, and not to be resumed. */
  readonly header: Omit<JournalHeader, 'length'> & { readonly length: number | undefined };
  /** Told when what an earlier run left is going to be verified: that can take a while. */
  readonly onVerify?: () => void;
}

export class PartialFile {
  readonly #o: PartialFileOptions;
  readonly #unlock: () => Promise<void>;
  readonly #data: FileHandle;
  #journal: FileHandle | undefined;
  /** Bytes in the data file. */
  readonly #stored = new RangeSet();
  readonly #digests = new SegmentDigest();
  /** Written, but not yet flushed and journaled. */
  #pending: JournalEntry[] = [];
  #pendingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #failure: MillraceError | undefined;
  /** What was there before was of another file or version, and has been given up. */
  startedOver = false;

  private constructor(options: PartialFileOptions, unlock: () => Promise<void>, data: FileHandle) {
    this.#o = options;
    this.#unlock = unlock;
    this.#data = data;
  }

  /**
   * Opens the partial file for a download, going on with what an earlier run left where it is of
   * the same version, and making room for the rest.
   *
   * @throws MillraceError `file-exists`, `file-in-use`, `disk-full`, `file-not-writable`
   */
  static async open(options: PartialFileOptions): Promise<PartialFile> {
    const { path, overwrite } = options;
    try {
      if (!overwrite && (await exists(path))) throw new MillraceError('file-exists', path);
      const unlock = await lockFile(path + LOCK_SUFFIX);
      try {
        const data = await open(path + DATA_SUFFIX, 'a+').then(async (created) => {
          await created.close();
          return open(path + DATA_SUFFIX, 'r+');
        });
        const file = new PartialFile(options, unlock, data);
        await file.#recover();
        return file;
      } catch (error) {
        await unlock();
        throw error;
      }
    } catch (error) {
      throw fileError(error, path);
    }
  }

  /** Where the complete file will be. */
  get path(): string {
    return this.#o.path;
  }

  /** The bytes that need not be fetched. */
  get stored(): RangeSet {
    return this.#stored;
  }

  /**
   * Writes bytes at their position. They count as stored when this resolves, and survive a crash
   * after the next flush.
   *
   * @param bytes must not change until this resolves
   * @throws MillraceError `disk-full`, `file-not-writable`
   */
  async store(position: number, bytes: Buffer): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const range = { start: position, end: position + bytes.length };
    try {
      const digest = this.#digests.of(bytes);
      await writeAll(this.#data, bytes, position);
      this.#pending.push({ range, digest: await digest });
    } catch (error) {
      throw fileError(error, this.#o.path);
    }
    this.#stored.add(range);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= FLUSH_EVERY_BYTES) void this.flush().catch(() => {});
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_EVERY_MS);
  }

  /**
   * Makes what has been stored so far survive a crash.
   *
   * @throws MillraceError, and every later call with it
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing = this.#flushing.then(() => this.#flushOnce());
    return this.#flushing;
  }

  async #flushOnce(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const entries = this.#pending;
    if (entries.length === 0 || this.#journal === undefined) return;
    this.#pending = [];
    this.#pendingBytes = 0;
    try {
      await this.#data.datasync();
      await this.#journal.appendFile(entries.map(formatEntry).join(''));
      await this.#journal.datasync();
    } catch (error) {
      this.#failure = fileError(error, this.#o.path);
      throw this.#failure;
    }
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

  /** Forgets what is stored: the bytes have turned out to be useless. */
  async startOver(): Promise<void> {
    await this.flush().catch(() => {});
    this.#stored.remove({ start: 0, end: Number.MAX_SAFE_INTEGER });
    await this.#data.truncate(0);
    await this.#newJournal();
  }

  /**
   * Gives the complete file its name, at once and without ever replacing another unless told to.
   *
   * @param length what the file must have
   * @throws MillraceError
   */
  async finish(length: number): Promise<void> {
    const { path, overwrite } = this.#o;
    try {
      await this.flush();
      await this.#data.truncate(length);
      await this.#data.sync();
      await this.#data.close();
      await this.#journal?.close();
      if (overwrite) await rename(path + DATA_SUFFIX, path);
      else await renameWithoutReplacing(path + DATA_SUFFIX, path);
      await syncFolder(dirname(path));
      await rm(path + JOURNAL_SUFFIX, { force: true });
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
    await this.flush().catch(() => {});
    clearTimeout(this.#timer);
    await this.#journal?.close().catch(() => {});
    await this.#data.close().catch(() => {});
    await this.#unlock();
  }

  /** Deletes the partial file. */
  async discard(): Promise<void> {
    await this.close();
    await rm(this.#o.path + DATA_SUFFIX, { force: true });
    await rm(this.#o.path + JOURNAL_SUFFIX, { force: true });
  }

  async #recover(): Promise<void> {
    const { path, header } = this.#o;
    const text = await readFile(path + JOURNAL_SUFFIX, 'utf8').catch(() => '');
    const journal = parseJournal(text);
    const { size } = await this.#data.stat();
    const same =
      journal !== undefined &&
      canPin(header.validators) &&
      header.length === journal.header.length &&
      matchVersion(journal.header.validators, header.validators) === 'same';
    if (!same) {
      this.startedOver = size > 0;
      await this.#data.truncate(0);
    } else {
      await this.#verify(journal.entries);
    }
    if (header.length === undefined) return;
    await this.#makeRoom(header.length);
    if (same) this.#journal = await open(path + JOURNAL_SUFFIX, 'a');
    else await this.#newJournal();
  }

  async #verify(entries: readonly JournalEntry[]): Promise<void> {
    if (entries.length > 0) this.#o.onVerify?.();
    for (const { range, digest } of entries) {
      if ((await this.#digestOf(range)) === digest) this.#stored.add(range);
    }
  }

  async #digestOf(range: ByteRange): Promise<string | undefined> {
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, range.end - range.start));
    for (let at = range.start; at < range.end; ) {
      const want = Math.min(buffer.length, range.end - at);
      const { bytesRead } = await this.#data.read(buffer, 0, want, at);
      if (bytesRead === 0) return undefined;
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    return hash.digest('hex');
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

  async #newJournal(): Promise<void> {
    const { path, header } = this.#o;
    await this.#journal?.close();
    this.#journal = undefined;
    if (header.length === undefined) return;
    const { url, length, validators } = header;
    // Written aside: a journal is there with its first line or not at all.
    await writeFile(`${path}${JOURNAL_SUFFIX}.new`, formatHeader({ url, length, validators }));
    await rename(`${path}${JOURNAL_SUFFIX}.new`, path + JOURNAL_SUFFIX);
    this.#journal = await open(path + JOURNAL_SUFFIX, 'a');
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

/** A rename would replace a file that has come into being meanwhile; a link cannot. */
async function renameWithoutReplacing(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    // File systems without links (FAT, some network shares): look, then rename.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error;
    if (await exists(to)) throw new MillraceError('file-exists', to);
    return rename(from, to);
  }
  await rm(from);
}

async function syncFolder(path: string): Promise<void> {
  // Not every system can open a folder for this; the rename is done either way.
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
