/**
 * The bytes of an unfinished download, with a journal beside them. The journal has a line with a
 * digest for each written stretch; after a crash a stretch counts only where its bytes still have
 * that digest. Bytes that are fetched twice are written twice: no other program writes to these
 * files.
 */

import { type ByteRange, intersect, RangeSet, rangeBytes } from '@millrace/shared/base/byte-range';
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
import { toHex } from './hex.ts';

/** The part of FileSystemSyncAccessHandle that is used. */
export interface SyncFile {
  read(into: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  write(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  truncate(bytes: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
}

/** Stretches with a digest each begin and end at multiples of this, or where an answer has ended. */
export const UNIT_BYTES = 1024 * 1024;
/** A journal of a file of 1 TiB; a longer one is not ours. */
const MAX_JOURNAL_BYTES = 128 * 1024 * 1024;

export class Partial {
  /** Bytes that need not be fetched. */
  readonly stored = new RangeSet();
  readonly #data: SyncFile;
  readonly #journal: SyncFile;
  readonly #header: JournalHeader;
  readonly #entries: JournalEntries;
  readonly #scratch = new Uint8Array(UNIT_BYTES);
  /** Digests that are being worked out. */
  readonly #proving = new Set<Promise<void>>();
  /** How often bytes were taken back: a digest of before may be of others. */
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
   * Opens the stored bytes, or begins.
   *
   * @param header expected version of the file: bytes of another one are discarded
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
      // Takes the room at once: a lack of it shows before anything is fetched.
      if (data.getSize() !== header.length) data.truncate(header.length);
    });
    if (same) await partial.#recover(earlier.entries);
    partial.#writeAnew();
    return partial;
  }

  /** @throws MillraceError `disk-full`, `file-not-writable` */
  write(position: number, bytes: Uint8Array<ArrayBuffer>): void {
    attempt(() => {
      const written = this.#data.write(bytes, { at: position });
      if (written !== bytes.length) throw new MillraceError('disk-full');
    });
    this.stored.add({ start: position, end: position + bytes.length });
  }

  /** @returns how many bytes there were from the position on @throws MillraceError */
  read(position: number, into: Uint8Array<ArrayBuffer>): number {
    return attempt(() => this.#data.read(into, { at: position }));
  }

  /**
   * Has digests of bytes that were written put into the journal.
   *
   * @throws MillraceError `file-not-writable`
   */
  prove(range: ByteRange): void {
    for (const stretch of this.#entries.cut(range)) {
      const work = this.#prove(stretch).finally(() => this.#proving.delete(work));
      this.#proving.add(work);
      work.catch(() => {});
    }
  }

  /** Takes bytes out, in the journal too, before it returns. @throws MillraceError */
  forget(ranges: readonly ByteRange[]): void {
    this.#removals++;
    const unproven: ByteRange[] = [];
    for (const range of ranges) {
      this.stored.remove(range);
      unproven.push(...this.#entries.remove(range));
    }
    this.#writeAnew();
    // Bytes beside these have lost their digest with them.
    for (const range of unproven) this.#proveKept(range);
  }

  /** Brings everything to disk, and then says so in the journal. @throws MillraceError */
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
      // Bytes that had a digest together with some of these need one of their own.
      for (const { start, end } of replaced) {
        if (start < range.start) this.#proveKept({ start, end: Math.min(end, range.start) });
        if (end > range.end) this.#proveKept({ start: Math.max(start, range.end), end });
      }
      return;
    }
  }

  /** SHA-256 of the bytes at the time of the call, cut to the journal's length. */
  async #digest(range: ByteRange): Promise<string> {
    const bytes = this.#scratch.subarray(0, rangeBytes(range));
    const read = attempt(() => this.#data.read(bytes, { at: range.start }));
    // The browser works it out beside this thread, from a copy that it makes at once.
    const hash = await crypto.subtle.digest('SHA-256', bytes.subarray(0, read));
    return toHex(hash.slice(0, 8));
  }

  /** Recovers the stretches that an earlier run has left unchanged. */
  async #recover(entries: readonly JournalEntry[]): Promise<void> {
    for (const entry of entries) {
      if ([...this.#entries.cut(entry.range)].length === 1) this.#entries.add(entry);
    }
    for (const { range, digest } of [...this.#entries]) {
      if ((await this.#digest(range)) === digest) this.stored.add(range);
      else this.#entries.remove(range);
    }
  }

  /** A crash in the middle of this costs the stored bytes, but makes none of them wrong. */
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

/** @throws MillraceError in place of the file system's error */
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
