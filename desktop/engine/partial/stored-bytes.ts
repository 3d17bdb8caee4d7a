/**
 * Keeps account of the right bytes of a partial file: in memory for this run, and in the journal
 * for the next, with a digest per segment. Other classes write the data; this one says which bytes
 * count.
 */

import type { FileHandle } from 'node:fs/promises';
import { type ByteRange, intersect, RangeSet } from '@millrace/shared/base/byte-range';
import type {
  Journal,
  JournalEntry,
  JournalHeader,
} from '@millrace/shared/download/journal/journal';
import { JournalEntries } from '@millrace/shared/download/journal/journal-entries';
import { supersededEntries } from '@millrace/shared/download/journal/superseded';
import { readAll } from '../files/file-steps.ts';
import { JournalFile, type JournalMark } from './journal-file.ts';
import { Proofs } from './proofs.ts';
import { segmentDigest } from './segment-digest.ts';
import { SEGMENT_BYTES } from './segment-pool.ts';
import { UnitDigests, type WriteDigests } from './unit-digests.ts';
import { type VerifyOptions, verifyEntries } from './verify.ts';

/** Longest range with one digest, in bytes: smaller pieces are merged up to it. */
const UNIT_BYTES = SEGMENT_BYTES;
/** Longest time for which journal lines are collected, in milliseconds. */
const JOURNAL_EVERY_MS = 50;
/**
 * Bytes whose journal lines are collected, unless they arrive within JOURNAL_PAUSE_MS: a killed
 * process loses bytes whose lines are not written yet.
 */
const JOURNAL_EVERY_BYTES = 256 * 1024;
/** Shortest time from one write of the journal to the next, in milliseconds. */
const JOURNAL_PAUSE_MS = 8;

export interface StoredBytesOptions {
  /** Length of the file in bytes; undefined: not known, and no bytes are kept for another run. */
  readonly length: number | undefined;
  /** Called with ranges that are no longer stored. */
  readonly onLost: (ranges: readonly ByteRange[]) => void;
  /** Called when journal lines could not be written; they wait for the next flush. */
  readonly onFailure: (error: unknown) => void;
}

export class StoredBytes {
  /** Bytes in the data file that need not be fetched. */
  readonly ranges = new RangeSet();
  readonly #data: FileHandle;
  readonly #options: StoredBytesOptions;
  readonly #entries: JournalEntries | undefined;
  readonly #units: UnitDigests | undefined;
  #journal: JournalFile | undefined;
  readonly #proofs = new Proofs();
  /** Bytes that count for this run only. */
  readonly #provisional = new RangeSet();
  #removals = 0;
  /** Tasks that use the journal, run one after the other. */
  #tasks: Promise<void> = Promise.resolve();
  #unwrittenBytes = 0;
  /** Time of the last write of the journal, monotonic milliseconds. */
  #writtenAt = Number.NEGATIVE_INFINITY;
  /** Buffer for ranges that need a new digest, read one after the other. */
  #scratch: Buffer | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** True if the timer is set for the end of JOURNAL_PAUSE_MS. */
  #hurries = false;

  constructor(data: FileHandle, options: StoredBytesOptions) {
    this.#data = data;
    this.#options = options;
    const { length } = options;
    if (length === undefined) return;
    this.#entries = new JournalEntries(length, UNIT_BYTES);
    this.#units = new UnitDigests(length, UNIT_BYTES);
  }

  /** Number of times that bytes were removed: readers of them must then read again. */
  get removals(): number {
    return this.#removals;
  }

  /** The journal; undefined if no bytes are kept for another run. */
  get journal(): JournalFile | undefined {
    return this.#journal;
  }

  /** Begins the journal. @throws Error of the file system */
  async open(path: string, header: JournalHeader): Promise<void> {
    const entries = this.#entries as JournalEntries;
    this.#journal = new JournalFile(path, header, entries, () => this.#proofs.entries());
    await this.#journal.write();
  }

  /** Splits a range into parts that can each have a digest. */
  cut(range: ByteRange): Iterable<ByteRange> {
    return this.#entries?.cut(range) ?? [range];
  }

  /**
   * Computes the digests of bytes that are being written, for `add`.
   *
   * @param range one of the parts that `cut` returns
   * @returns undefined if no bytes are kept for another run
   */
  digests(range: ByteRange, bytes: Uint8Array): WriteDigests | undefined {
    return this.#units?.of(range, bytes);
  }

  /**
   * Notes that bytes have been written.
   *
   * @param range one of the parts that `cut` returns
   * @param digests of the bytes; undefined: they count for this run only, until `confirm`
   */
  add(range: ByteRange, digests: WriteDigests | undefined): void {
    this.ranges.add(range);
    if (this.#entries === undefined) return;
    if (digests === undefined) return this.#provisional.add(range);
    this.#prove({ range, digest: digests.digest }, this.#units?.written(range, digests));
  }

  /** Confirms provisional bytes in a range that was shown to be right. @throws Error */
  async confirm(range: ByteRange): Promise<void> {
    const proven = this.#provisional.ranges.flatMap((part) => intersect(part, range) ?? []);
    this.#provisional.remove(range);
    if (proven.length === 0) return;
    await this.run(async () => {
      for (const segment of proven.flatMap((part) => [...this.cut(part)])) {
        if (!this.ranges.covers(segment)) continue;
        const bytes = await this.#read(segment);
        if (bytes !== undefined) this.#prove({ range: segment, digest: segmentDigest(bytes) });
      }
    });
  }

  /**
   * Notes that bytes have the digests of their blocks.
   *
   * @param by name of these digests
   */
  addProven(range: ByteRange, by: string): void {
    this.#proofs.add({ range, by });
    this.#journal?.addProven({ range, by });
  }

  /** Returns the bytes that have some digests, as `addProven` was told in this run or an earlier one. */
  provenBy(by: string): readonly ByteRange[] {
    return this.#proofs.by(by);
  }

  /** Removes bytes, from the journal too. @throws Error of the file system */
  forget(ranges: readonly ByteRange[]): Promise<void> {
    return this.run(async () => {
      const entries = this.#entries;
      this.#removals++;
      this.#units?.clear();
      const unproven: ByteRange[] = [];
      for (const range of ranges) {
        this.ranges.remove(range);
        this.#provisional.remove(range);
        this.#proofs.remove(range);
        unproven.push(...(entries?.remove(range) ?? []));
      }
      this.#options.onLost(ranges);
      if (entries === undefined) return;
      this.#journal?.replace();
      for (const range of unproven) await this.#proveAgain(entries, range);
      await this.#journal?.write();
    });
  }

  /** Removes all bytes; the next `write` records that in the journal. */
  clear(): void {
    const all = { start: 0, end: this.#options.length ?? Number.MAX_SAFE_INTEGER };
    this.#removals++;
    this.#units?.clear();
    this.ranges.remove(all);
    this.#provisional.remove(all);
    this.#proofs.clear();
    this.#entries?.remove(all);
    this.#journal?.replace();
  }

  /**
   * Hands all journal lines to the system. @throws Error; the lines then wait for the next write
   */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#hurries = false;
    this.#unwrittenBytes = 0;
    this.#writtenAt = performance.now();
    return this.run(async () => this.#journal?.write());
  }

  /**
   * Records in the journal that bytes are on disk for good, and flushes the journal.
   *
   * @param mark taken before the bytes were flushed
   * @throws Error of the file system
   */
  async flushed(mark: JournalMark): Promise<void> {
    const journal = this.#journal;
    await this.run(async () => {
      await journal?.restore();
      await journal?.writeFlushed(mark);
    });
    await journal?.sync();
  }

  /**
   * Restores the bytes of an earlier run that match its journal.
   *
   * @returns number of bytes that the run had flushed, and that have changed since
   * @throws Error of the file system; the signal's reason
   */
  async recover({ entries, flushed, proven }: Journal, options: VerifyOptions): Promise<number> {
    const known = this.#entries as JournalEntries;
    const durable = new RangeSet();
    for (const { range } of entries.slice(0, flushed)) durable.add(range);
    // Lines that span several units are cut up.
    const isFit = ({ range }: JournalEntry) => [...known.cut(range)].length === 1;
    let lines = entries.filter(isFit);
    let unfit = entries.filter((entry) => !isFit(entry));
    while (lines.length > 0 || unfit.length > 0) {
      // A later line replaces earlier ones, unless the bytes do not match it.
      const latest = new JournalEntries(this.#options.length as number, UNIT_BYTES);
      for (const entry of lines) latest.add(entry);
      const fit = [...latest];
      const right = new Set(await verifyEntries(this.#data, [...fit, ...unfit], options));
      for (const entry of right) this.ranges.add(entry.range);
      for (const entry of fit) if (right.has(entry)) known.add(entry);
      for (const entry of unfit) {
        if (!right.has(entry)) continue;
        for (const part of known.cut(entry.range)) await this.#proveAgain(known, part);
      }
      const failed = fit.filter((entry) => !right.has(entry));
      lines = supersededEntries(lines, failed, this.ranges, UNIT_BYTES);
      unfit = [];
    }
    for (const entry of proven) this.#proofs.recover(entry, this.ranges);
    const kept = durable.ranges.reduce((sum, range) => sum + this.ranges.bytesWithin(range), 0);
    return durable.bytes - kept;
  }

  /** Returns ranges whose bytes have changed since they were written. @throws Error */
  async changed(): Promise<ByteRange[]> {
    const entries = [...(this.#entries ?? [])];
    const right = new Set(await verifyEntries(this.#data, entries));
    const wrong = entries.filter((entry) => !right.has(entry)).map(({ range }) => range);
    // Provisional bytes have no digest by which they could be recognised.
    return [...wrong, ...this.#provisional.ranges];
  }

  /** Runs a task on the journal after all earlier tasks. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const run = this.#tasks.then(task);
    this.#tasks = run.then(
      () => {},
      () => {},
    );
    return run;
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#journal?.close();
  }

  /**
   * Adds the digest of stored bytes.
   *
   * @param unit digest of the unit that these bytes fill, if it is known
   */
  #prove(entry: JournalEntry, unit?: string): void {
    const entries = this.#entries as JournalEntries;
    const parts = entries.add(entry);
    this.#journal?.add(entry);
    if (parts !== undefined && unit !== undefined) {
      this.#replace(entries, parts, unit);
    } else if (parts !== undefined) {
      const removals = this.#removals;
      void this.run(() => this.#merge(entries, parts, removals)).catch(() => {});
    }
    this.#journalSoon(entry.range.end - entry.range.start);
  }

  #journalSoon(bytes: number): void {
    this.#unwrittenBytes += bytes;
    const write = () => void this.write().catch(this.#options.onFailure);
    if (this.#unwrittenBytes < JOURNAL_EVERY_BYTES) {
      this.#timer ??= setTimeout(write, JOURNAL_EVERY_MS);
      return;
    }
    if (this.#hurries) return;
    const waitMs = this.#writtenAt + JOURNAL_PAUSE_MS - performance.now();
    if (waitMs <= 0) return write();
    this.#hurries = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(write, waitMs);
  }

  /** Replaces several digests by one if their bytes are unchanged. */
  async #merge(
    entries: JournalEntries,
    parts: readonly JournalEntry[],
    removals: number,
  ): Promise<void> {
    const { start, end } = hull(parts);
    const bytes = await this.#read({ start, end });
    if (bytes === undefined) return;
    for (const { range, digest } of parts) {
      const part = bytes.subarray(range.start - start, range.end - start);
      if (segmentDigest(part) !== digest) return;
    }
    if (removals !== this.#removals) return;
    this.#replace(entries, parts, segmentDigest(bytes));
  }

  /** Replaces the digests of parts, which fill a unit, by that of the unit. */
  #replace(entries: JournalEntries, parts: readonly JournalEntry[], digest: string): void {
    const entry = { range: hull(parts), digest };
    entries.add(entry);
    this.#journal?.add(entry);
  }

  /** Computes digests for the stored bytes in a range that has lost its own digest. */
  async #proveAgain(entries: JournalEntries, within: ByteRange): Promise<void> {
    const kept = this.ranges.ranges.flatMap((range) => intersect(range, within) ?? []);
    for (const range of kept) {
      const bytes = await this.#read(range);
      if (bytes !== undefined) entries.add({ range, digest: segmentDigest(bytes) });
    }
  }

  /**
   * Reads a range of one unit at most.
   *
   * @returns its bytes, valid until the next call; undefined if the file ends before them
   */
  async #read({ start, end }: ByteRange): Promise<Buffer | undefined> {
    this.#scratch ??= Buffer.allocUnsafeSlow(UNIT_BYTES);
    const bytes = this.#scratch.subarray(0, end - start);
    return (await readAll(this.#data, bytes, start)) ? bytes : undefined;
  }
}

/** Returns the range from the first to the last of some entries in order. */
function hull(entries: readonly JournalEntry[]): ByteRange {
  const [first, last] = [entries[0], entries.at(-1)] as [JournalEntry, JournalEntry];
  return { start: first.range.start, end: last.range.end };
}
