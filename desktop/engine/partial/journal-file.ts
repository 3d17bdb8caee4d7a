/**
 * The journal on disk. Lines are appended as bytes are written; now and then the journal is
 * rewritten without superfluous lines. A rewrite replaces the file as a whole or not at all.
 */

import { type FileHandle, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  formatEntry,
  formatFlushed,
  formatHeader,
  formatProven,
  type Journal,
  type JournalEntry,
  type JournalHeader,
  type ProvenEntry,
  parseJournal,
} from '@millrace/shared/download/journal/journal';
import type { JournalEntries } from '@millrace/shared/download/journal/journal-entries';
import { syncFolder } from '@millrace/shared/node/files/replace-file';
import { isAt, writeAll } from '../files/file-steps.ts';
import { makeOwnLog, openOwnToRead } from '../files/own-file.ts';

/**
 * Superfluous lines that a journal may have, beside one for each needed line, before it is
 * rewritten.
 */
const SPARE_LINES = 10_000;
/** Longest journal that is read, in bytes: that of a file of 2 TiB. A longer one is not ours. */
const MAX_JOURNAL_BYTES = 256 * 1024 * 1024;

/** Reads the journal of an earlier run; undefined if the file is not a journal. */
export async function readJournal(path: string): Promise<Journal | undefined> {
  const file = await openOwnToRead(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    if (size > MAX_JOURNAL_BYTES) return undefined;
    return parseJournal(await file.readFile('utf8'));
  } finally {
    await file.close();
  }
}

/** A position in a journal. */
export interface JournalMark {
  readonly edition: number;
  readonly lines: number;
}

export class JournalFile {
  readonly #path: string;
  #header: JournalHeader;
  readonly #entries: JournalEntries;
  readonly #proven: () => readonly ProvenEntry[];
  #file: FileHandle | undefined;
  /** Length that our lines have given the file, in bytes. */
  #size = 0;
  #lines = 0;
  /** Lines that are not in the file yet. */
  #waiting: string[] = [];
  /** Number of lines that are being written. */
  #underWay = 0;
  #stale = true;
  /** Number of times the journal has been rewritten. */
  #edition = 0;

  /**
   * @param entries contents of a rewritten journal
   * @param proven lists its other contents
   */
  constructor(
    path: string,
    header: JournalHeader,
    entries: JournalEntries,
    proven: () => readonly ProvenEntry[] = () => [],
  ) {
    this.#path = path;
    this.#header = header;
    this.#entries = entries;
    this.#proven = proven;
  }

  /** Sets a changed URL or version of the file, for the next `write`. */
  setHeader(header: JournalHeader): void {
    this.#header = header;
    this.#stale = true;
  }

  /** Adds a line, for the next `write`. */
  add(entry: JournalEntry): void {
    this.#waiting.push(formatEntry(entry));
  }

  /** Adds a line about proven bytes, for the next `write`. */
  addProven(entry: ProvenEntry): void {
    this.#waiting.push(formatProven(entry));
  }

  /** Notes that the lines no longer match the entries: the next `write` rewrites the journal. */
  replace(): void {
    this.#stale = true;
  }

  /** True if there are lines that are not in the file yet. */
  get behind(): boolean {
    return this.#stale || this.#waiting.length > 0;
  }

  /** The lines so far, including waiting ones, as an argument for `writeFlushed`. */
  get mark(): JournalMark {
    return { edition: this.#edition, lines: this.#lines + this.#underWay + this.#waiting.length };
  }

  /** Hands all lines to the system. @throws Error; the lines then wait for the next `write` */
  async write(): Promise<void> {
    const needed = this.#entries.count + this.#proven().length;
    const tooLong = this.#lines > 2 * needed + SPARE_LINES;
    if (this.#stale || tooLong) return this.#writeAnew();
    if (this.#waiting.length === 0) return;
    const lines = this.#waiting;
    this.#waiting = [];
    this.#underWay = lines.length;
    try {
      await this.#append(lines);
    } catch (error) {
      this.#underWay = 0;
      this.#waiting = [...lines, ...this.#waiting];
      throw error;
    }
  }

  /**
   * Records that the bytes of some lines are on disk for good.
   *
   * @param mark taken before the bytes were flushed
   */
  async writeFlushed(mark: JournalMark): Promise<void> {
    await this.write();
    // A journal that was rewritten since then has other lines.
    if (mark.edition === this.#edition) await this.#append([formatFlushed(mark.lines)]);
  }

  /** Flushes the journal's lines, so that they survive a crash of the machine. */
  async sync(): Promise<void> {
    const file = this.#file;
    try {
      await file?.datasync();
    } catch (error) {
      // A journal that was rewritten meanwhile is already on disk.
      if (file === this.#file) throw error;
    }
  }

  /** Marks the journal for rewriting if another program removed it or changed its length. */
  async restore(): Promise<void> {
    const file = this.#file;
    if (file === undefined || this.#stale) return;
    const { size } = await file.stat();
    if (size !== this.#size || !(await isAt(file, this.#path))) this.#stale = true;
  }

  async close(): Promise<void> {
    await this.#file?.close().catch(() => {});
    this.#file = undefined;
  }

  async remove(): Promise<void> {
    await this.close();
    await rm(this.#path, { force: true });
  }

  async #append(lines: readonly string[]): Promise<void> {
    const text = Buffer.from(lines.join(''));
    const file = this.#file as FileHandle;
    try {
      await writeAll(file, text, this.#size);
    } catch (error) {
      // Half a line would make the next one unreadable.
      await file.truncate(this.#size).catch(() => {});
      throw error;
    }
    this.#size += text.length;
    this.#lines += lines.length;
    this.#underWay = 0;
  }

  async #writeAnew(): Promise<void> {
    const aside = `${this.#path}.new`;
    const lines = [...this.#entries].map(formatEntry);
    lines.push(...this.#proven().map(formatProven));
    const text = Buffer.from(formatHeader(this.#header) + lines.join(''));
    // The waiting lines are among the entries. More may be added meanwhile.
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#stale = false;
    let file: FileHandle | undefined;
    try {
      file = await makeOwnLog(aside);
      await writeAll(file, text, 0);
      await file.datasync();
      await rename(aside, this.#path);
    } catch (error) {
      this.#stale = true;
      this.#waiting = [...waiting, ...this.#waiting];
      await file?.close();
      await rm(aside, { force: true }).catch(() => {});
      throw error;
    }
    await syncFolder(dirname(this.#path));
    await this.#file?.close();
    this.#file = file;
    this.#size = text.length;
    this.#lines = lines.length;
    this.#edition++;
  }
}
