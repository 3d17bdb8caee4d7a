/**
 * Downloads from a source that cannot show which version a range belongs to: one answer at a time.
 * If the source serves ranges all the same, the download resumes after the last stored bytes were
 * compared (ANYCAST 3.1.1); otherwise it starts again from the beginning.
 */

import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import { asMillraceError, endsDownload, MillraceError } from '@millrace/shared/base/errors';
import { Patience } from '@millrace/shared/download/transfer/patience';
import { compareVersions } from '@millrace/shared/download/transfer/same-file';
import type { Session } from '@millrace/shared/download/transfer/session';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import type { PartialFile } from '../partial/partial-file.ts';
import type { SegmentPool } from '../partial/segment-pool.ts';
import { SegmentWriter } from '../partial/segment-writer.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import { versionOf } from '../sources/sample-check.ts';
import type { Opened } from '../sources/source-answer.ts';
import type { SourceSet } from '../sources/source-set.ts';

export interface SingleStreamOptions {
  readonly file: PartialFile;
  readonly source: DownloadSource;
  readonly sources: SourceSet;
  readonly pool: SegmentPool;
  readonly session: Session<DownloadSource>;
}

/** Stored bytes to compare before a download without validators is resumed. */
const OVERLAP_BYTES = 64 * 1024;
const MAX_WHOLE_ATTEMPTS = 5;

export class SingleStream {
  readonly #options: SingleStreamOptions;
  readonly #patience: Patience;
  #wholeAttempts = 0;

  constructor(options: SingleStreamOptions) {
    this.#options = options;
    this.#patience = new Patience(options.session, options.session.now());
  }

  /**
   * Reads the file to its end.
   *
   * @param first an answer that has already arrived
   * @returns length of the file in bytes
   * @throws MillraceError `version-changed` if the stored bytes belong to another version
   */
  async run(first: Opened): Promise<number> {
    let opened: Opened | undefined = first;
    for (;;) {
      try {
        opened ??= await this.#open();
        if (opened.kind === 'whole') return await this.#readWhole(opened);
        const { length } = opened.version;
        await this.#readFrom(opened);
        opened = undefined;
        if (this.#options.file.stored.covers({ start: 0, end: length })) return length;
      } catch (thrown) {
        opened = undefined;
        await this.#onFailure(thrown);
      }
    }
  }

  /** Asks for the missing bytes, together with some stored bytes before them. */
  #open(): Promise<Opened> {
    const { file, source, session } = this.#options;
    const { signal } = session;
    const { length } = file;
    if (length === undefined) return source.openWhole(signal);
    const gap = file.stored.missing({ start: 0, end: length })[0];
    if (gap === undefined) throw new MillraceError('internal', 'nothing is missing');
    const start = Math.max(0, gap.start - OVERLAP_BYTES);
    return source.openRange({ start, end: gap.end }, undefined, signal);
  }

  async #readFrom(opened: Extract<Opened, { kind: 'range' }>): Promise<void> {
    const { file } = this.#options;
    const version = versionOf(opened);
    const same =
      version !== undefined &&
      compareVersions(
        { length: file.length ?? 0, validators: file.validators, digests: [] },
        version,
        true,
      );
    if (!same || same.kind === 'different') {
      opened.discard();
      throw new MillraceError('version-changed', same ? same.why : '');
    }
    const held = await this.#held(opened.range);
    await this.#read(opened, (position, bytes) => compareWithHeld(held, position, bytes));
  }

  /** Reads the bytes at the beginning of a range that are already stored. */
  async #held(range: ByteRange): Promise<{ range: ByteRange; bytes: Buffer }> {
    const { file } = this.#options;
    const end = file.stored.missing(range)[0]?.start ?? range.end;
    const held = { start: range.start, end };
    const bytes = Buffer.alloc(rangeBytes(held));
    await file.read(bytes, held.start);
    return { range: held, bytes };
  }

  async #readWhole(opened: Extract<Opened, { kind: 'whole' }>): Promise<number> {
    const { file } = this.#options;
    if (this.#wholeAttempts > 0 || file.stored.bytes > 0) await file.startOver();
    this.#wholeAttempts++;
    let bytes = 0;
    await this.#read(opened, (_position, piece) => {
      bytes += piece.length;
      return 0;
    });
    return bytes;
  }

  /**
   * Reads an answer to its end.
   *
   * @param skip returns how many bytes of a piece need not be stored
   */
  async #read(
    opened: Opened,
    skip: (position: number, bytes: Uint8Array) => number,
  ): Promise<void> {
    const { file, pool, source, sources, session } = this.#options;
    const checked = opened.kind === 'range' && opened.checked;
    const start = opened.kind === 'range' ? opened.range.start : 0;
    const writer = new SegmentWriter(file, pool, start, checked);
    const sink: Sink = (position, bytes) => {
      this.#patience.onBytes(session.now());
      source.health.onBytes();
      sources.onBytes(source, bytes.length);
      const wait = session.onBytes(source, bytes.length, session.signal);
      const skipped = skip(position, bytes);
      if (skipped === bytes.length) return wait;
      const room = writer.write(position + skipped, bytes.subarray(skipped));
      return room === undefined ? wait : room.then(() => wait);
    };
    sources.started(source);
    let complete = false;
    try {
      await opened.read(sink, () => writer.room());
      complete = true;
    } finally {
      sources.ended(source, source.host, false);
      await writer.end();
      if (checked && !complete) await file.forget(opened.range);
    }
    if (checked) await file.confirm(opened.range);
  }

  async #onFailure(thrown: unknown): Promise<void> {
    const { source, sources, session, file } = this.#options;
    const { signal, now } = session;
    signal.throwIfAborted();
    const error = asMillraceError(thrown);
    if (error.code === 'version-changed') await file.startOver();
    if (endsDownload(error.row) || error.code === 'version-changed') throw error;
    const resumable = file.length !== undefined;
    sources.onFailure(source, error, resumable);
    const at = source.health.usableAt();
    const waits = this.#patience.waitsUntil(at, now());
    if (at === undefined || !waits || this.#wholeAttempts >= MAX_WHOLE_ATTEMPTS) throw error;
    await session.wait(at - now(), signal);
    signal.throwIfAborted();
  }
}

/**
 * Compares a piece with stored bytes. @returns number of its bytes that are stored already, and
 * equal
 */
function compareWithHeld(
  held: { readonly range: ByteRange; readonly bytes: Buffer },
  position: number,
  bytes: Uint8Array,
): number {
  const count = Math.min(bytes.length, held.range.end - position);
  if (count <= 0) return 0;
  const ours = held.bytes.subarray(
    position - held.range.start,
    position - held.range.start + count,
  );
  if (ours.equals(bytes.subarray(0, count))) return count;
  throw new MillraceError('version-changed', { code: 'stored-changed' });
}
