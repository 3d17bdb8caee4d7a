/**
 * The journal on disk. Lines are appended as bytes are written; now and then it is rewritten
 * without superfluous lines. It exists as a whole or not at all.
 */

import { type FileHandle, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  formatEntry,
  formatFlushed,
  formatHeader,
  type Journal,
  type JournalEntry,
  type JournalHeader,
  parseJournal,
} from '@millrace/shared/download/journal/journal';
import type { JournalEntries } from '@millrace/shared/download/journal/journal-entries';
import { isAt, syncFolder, writeAll } from '../files/file-steps.ts';
import { makeOwn, openOwnToRead } from '../files/own-file.ts';

/**
 * Superfluous lines that a journal may have before it is rewritten, beside one for each needed
 * line.
 */
const SPARE_LINES = 10_000;
/** A journal of a file of 2 TiB; a longer one is not ours. */
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

/** A place in a journal. */
export interface JournalMark {
  readonly edition: number;
  readonly lines: number;
}

export class JournalFile {
  readonly #path: string;
  #header: JournalHeader;
  readonly #entries: JournalEntries;
  #file: FileHandle | undefined;
  /** Position of the next line. A line whose writing failed is overwritten. */
  #size = 0;
  #lines = 0;
  /** Lines that the file does not have yet. */
  #waiting: string[] = [];
  /** Lines that are being written. */
  #underWay = 0;
  #stale = true;
  /** How often it has been rewritten. */
  #edition = 0;

  /** @param entries contents of a rewritten journal */
  constructor(path: string, header: JournalHeader, entries: JournalEntries) {
    this.#path = path;
    this.#header = header;
    this.#entries = entries;
  }

  /** Sets another name or version of the file: the next `write` writes it down. */
  setHeader(header: JournalHeader): void {
    this.#header = header;
    this.#stale = true;
  }

  /** Adds a line, for the next `write`. */
  add(entry: JournalEntry): void {
    this.#waiting.push(formatEntry(entry));
  }

  /** The lines no longer match the entries: the next `write` rewrites all. */
  replace(): void {
    this.#stale = true;
  }

  /** True when there are lines that the file does not have. */
  get behind(): boolean {
    return this.#stale || this.#waiting.length > 0;
  }

  /** The lines so far, including waiting ones: an argument for `writeFlushed`. */
  get mark(): JournalMark {
    return { edition: this.#edition, lines: this.#lines + this.#underWay + this.#waiting.length };
  }

  /** Hands all lines to the system. @throws Error; they still wait then */
  async write(): Promise<void> {
    const tooLong = this.#lines > 2 * this.#entries.count + SPARE_LINES;
    if (this.#stale || tooLong) return this.#writeAnew();
    if (this.#waiting.length === 0) return;
    // Lines after the end of a file that another program has truncated would be worthless.
    if ((await this.#file?.stat())?.size !== this.#size) return this.#writeAnew();
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
   * Says that the bytes of some lines are on disk for good.
   *
   * @param mark taken before the bytes were brought to disk
   */
  async writeFlushed(mark: JournalMark): Promise<void> {
    await this.write();
    // In a journal rewritten since then, the lines are others.
    if (mark.edition === this.#edition) await this.#append([formatFlushed(mark.lines)]);
  }

  /** Makes the lines of the journal survive the end of the machine. */
  async sync(): Promise<void> {
    const file = this.#file;
    try {
      await file?.datasync();
    } catch (error) {
      // A journal that has been rewritten meanwhile is on disk already.
      if (file === this.#file) throw error;
    }
  }

  /** Writes the journal again if another program has removed it or changed its length. */
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
    const entries = [...this.#entries];
    const text = Buffer.from(formatHeader(this.#header) + entries.map(formatEntry).join(''));
    // They are among the entries. Others may be added meanwhile.
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#stale = false;
    let file: FileHandle | undefined;
    try {
      file = await makeOwn(aside);
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
    this.#lines = entries.length;
    this.#edition++;
  }
}
