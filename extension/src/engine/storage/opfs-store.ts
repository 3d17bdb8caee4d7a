/**
 * The bytes of an unfinished download, with a journal beside them. The journal has a line with a
 * digest for each written stretch; after a crash a stretch counts only if its bytes still have that
 * digest. Bytes that are fetched twice are written twice: no other program writes to these files.
 */

import { type ByteRange, intersect, RangeSet, rangeBytes } from '@millrace/shared/base/byte-range';
import { toHex } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  formatEntry,
  formatFlushed,
  formatHeader,
  type JournalEntry,
  type JournalHeader,
  parseJournal,
} from '@millrace/shared/download/journal/journal';
import { JournalEntries } from '@millrace/shared/download/journal/journal-entries';
import { matchVersion } from '@millrace/shared/http/fields/validators';

/** The members of FileSystemSyncAccessHandle in use. */
export interface SyncFile {
  read(into: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  write(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  truncate(bytes: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
}

/**
 * Unit of digests, bytes: stretches with a digest begin and end at its multiples, or where an
 * answer ended.
 */
export const UNIT_BYTES = 1024 * 1024;
/** Longest journal that is read, bytes: that of a file of 1 TiB. A longer one is not ours. */
const MAX_JOURNAL_BYTES = 128 * 1024 * 1024;

export class Partial {
  /** Ranges that need not be fetched. */
  readonly stored = new RangeSet();
  readonly #data: SyncFile;
  readonly #journal: SyncFile;
  readonly #header: JournalHeader;
  readonly #entries: JournalEntries;
  readonly #scratch = new Uint8Array(UNIT_BYTES);
  /** Digests under way. */
  readonly #proving = new Set<Promise<void>>();
  /**
   * Number of removals of bytes: a digest that was begun before a removal may cover other bytes.
   */
  #removals = 0;
  #journalBytes = 0;
  #lines = 0;

  private constructor(data: SyncFile, journal: SyncFile, header: JournalHeader) {
    this.#data = data;
    this.#journal = journal;
    this.#header = header;
    this.#entries = new JournalEntries(header.length, UNIT_BYTES);
  }

  /**
   * Opens the files, with the stored bytes if they belong to the expected version.
   *
   * @param header expected version of the file: bytes of another version are discarded
   * @throws MillraceError `disk-full`, `file-not-writable`
   */
  static async open(data: SyncFile, journal: SyncFile, header: JournalHeader): Promise<Partial> {
    const partial = new Partial(data, journal, header);
    const size = journal.getSize();
    const text = size > MAX_JOURNAL_BYTES ? '' : readText(journal, size);
    const earlier = parseJournal(text);
    const same =
      earlier !== undefined &&
      earlier.header.length === header.length &&
      earlier.header.url === header.url &&
      matchVersion(header.validators, earlier.header.validators) === 'same';
    attempt(() => {
      if (!same) data.truncate(0);
      // Reserve the room now, so that a lack of it shows before anything is fetched.
      if (data.getSize() !== header.length) data.truncate(header.length);
    });
    if (same) await partial.#recover(earlier.entries);
    partial.#writeAnew();
    return partial;
  }

  /** Writes bytes at a position. @throws MillraceError `disk-full`, `file-not-writable` */
  write(position: number, bytes: Uint8Array<ArrayBuffer>): void {
    attempt(() => {
      const written = this.#data.write(bytes, { at: position });
      if (written !== bytes.length) throw new MillraceError('disk-full');
    });
    this.stored.add({ start: position, end: position + bytes.length });
  }

  /** Reads bytes from a position on. @returns the number of bytes read @throws MillraceError */
  read(position: number, into: Uint8Array<ArrayBuffer>): number {
    return attempt(() => this.#data.read(into, { at: position }));
  }

  /**
   * Adds digests of written bytes to the journal, in the background. If this fails, a `flush` that
   * waits for it fails as well; otherwise the bytes only lack a digest.
   */
  prove(range: ByteRange): void {
    for (const stretch of this.#entries.cut(range)) {
      const work = this.#prove(stretch).finally(() => this.#proving.delete(work));
      this.#proving.add(work);
      work.catch(() => {});
    }
  }

  /** Removes bytes, also from the journal, before it returns. @throws MillraceError */
  forget(ranges: readonly ByteRange[]): void {
    this.#removals++;
    const unproven: ByteRange[] = [];
    for (const range of ranges) {
      this.stored.remove(range);
      unproven.push(...this.#entries.remove(range));
    }
    this.#writeAnew();
    // Bytes beside the removed ones have lost their common digest.
    for (const range of unproven) this.#proveKept(range);
  }

  /** Flushes all bytes to disk, and then notes that in the journal. @throws MillraceError */
  async flush(): Promise<void> {
    while (this.#proving.size > 0) await Promise.all(this.#proving);
    attempt(() => {
      this.#data.flush();
      this.#append(formatFlushed(this.#lines));
      this.#journal.flush();
    });
  }

  close(): void {
    this.#data.close();
    this.#journal.close();
  }

  #proveKept(range: ByteRange): void {
    for (const kept of this.stored.ranges) {
      const part = intersect(kept, range);
      if (part !== undefined) this.prove(part);
    }
  }

  async #prove(range: ByteRange): Promise<void> {
    for (;;) {
      if (!this.stored.covers(range)) return this.#proveKept(range);
      const removals = this.#removals;
      const entry = { range, digest: await this.#digest(range) };
      if (removals !== this.#removals) continue;
      const replaced = this.#entries.remove(range);
      this.#entries.add(entry);
      attempt(() => this.#append(formatEntry(entry)));
      // Bytes that shared a digest with some of these need a digest of their own.
      for (const { start, end } of replaced) {
        if (start < range.start) this.#proveKept({ start, end: Math.min(end, range.start) });
        if (end > range.end) this.#proveKept({ start: Math.max(start, range.end), end });
      }
      return;
    }
  }

  /** Returns the SHA-256 of the bytes at the time of the call, cut to the journal's length. */
  async #digest(range: ByteRange): Promise<string> {
    const bytes = this.#scratch.subarray(0, rangeBytes(range));
    const read = attempt(() => this.#data.read(bytes, { at: range.start }));
    // The browser computes the digest outside this thread, from a copy that it makes at once.
    const hash = await crypto.subtle.digest('SHA-256', bytes.subarray(0, read));
    return toHex(new Uint8Array(hash, 0, 8));
  }

  /** Recovers the stretches whose bytes still have their digest. */
  async #recover(entries: readonly JournalEntry[]): Promise<void> {
    for (const entry of entries) {
      if ([...this.#entries.cut(entry.range)].length === 1) this.#entries.add(entry);
    }
    for (const { range, digest } of [...this.#entries]) {
      if ((await this.#digest(range)) === digest) this.stored.add(range);
      else this.#entries.remove(range);
    }
  }

  /**
   * Rewrites the journal. A crash in the middle loses the stored bytes, but makes none of them
   * wrong.
   */
  #writeAnew(): void {
    attempt(() => {
      this.#journal.truncate(0);
      this.#journalBytes = 0;
      this.#lines = 0;
      const entries = [...this.#entries];
      const lines = entries.map(formatEntry).join('');
      this.#append(formatHeader(this.#header) + lines);
      this.#lines = entries.length;
      this.#journal.flush();
    });
  }

  #append(text: string): void {
    const bytes = new TextEncoder().encode(text);
    if (this.#journal.write(bytes, { at: this.#journalBytes }) !== bytes.length) {
      // Half a line would make the next one unreadable.
      this.#journal.truncate(this.#journalBytes);
      throw new MillraceError('disk-full');
    }
    this.#journalBytes += bytes.length;
    this.#lines++;
  }
}

function readText(file: SyncFile, size: number): string {
  const bytes = new Uint8Array(size);
  file.read(bytes, { at: 0 });
  return new TextDecoder().decode(bytes);
}

/** Carries out a step. @throws MillraceError in place of the file system's error */
function attempt<T>(step: () => T): T {
  try {
    return step();
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    const { name, message } = cause as Error;
    const full = name === 'QuotaExceededError' || /no.?space/i.test(message);
    throw new MillraceError(full ? 'disk-full' : 'file-not-writable', message, { cause });
  }
}
