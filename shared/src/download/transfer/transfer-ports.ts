/**
 * The ports of a transfer: sources that can be asked for ranges, and a store for their bytes. The
 * app has HTTP connections and files for them, the extension has `fetch` and the browser's own file
 * system.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Session } from './session.ts';
import type { SourcePool } from './source-pool.ts';
import type { TransferSource } from './transfer-source.ts';

/**
 * Takes bytes at a position of the file; they are copied before it returns.
 *
 * @returns undefined to continue, or a promise to hold the source back until it resolves
 */
export type Sink = (position: number, bytes: Uint8Array) => Promise<void> | undefined;

/** An answer that keeps the range contract, its body not yet read. */
export interface OpenAnswer {
  /** The source has given a digest of the body: it counts for nothing until it is complete. */
  readonly checked: boolean;
  /**
   * Hands the body on.
   *
   * @param room memory to read the next bytes into, requested again for each piece
   * @throws MillraceError where the body does not match its announcement; the signal's reason;
   *   errors of `sink`. The answer is abandoned then
   */
  read(sink: Sink, room?: () => Uint8Array): Promise<void>;
}

/** Storage for the bytes of a file. */
export interface TransferStore {
  /**
   * Makes a writer for the bytes of one answer.
   *
   * @param start position that the first are expected at
   * @param provisional written bytes count for nothing until `confirm`
   */
  writer(start: number, provisional: boolean): RangeWriter;
  /** Bytes that were written provisionally are right. @throws MillraceError of the disk */
  confirm(range: ByteRange): Promise<void>;
  /** Discards bytes for good: they have to be fetched again. @throws MillraceError of the disk */
  forget(ranges: readonly ByteRange[]): Promise<void>;
}

export interface RangeWriter {
  /** Memory for the next bytes, none for those from `end` on; absent: the store copies them. */
  room?(end: number): Uint8Array;
  /**
   * @returns a promise to wait for before more is written, where the disk is behind
   * @throws MillraceError of the disk
   */
  write(position: number, bytes: Uint8Array): Promise<void> | undefined;
  /** Nothing more comes; resolves when all of it is written. @throws MillraceError of the disk */
  end(): Promise<void>;
}

export interface BlockTransferOptions<S extends TransferSource> {
  readonly session: Session<S>;
  readonly store: TransferStore;
  readonly scheduler: Scheduler;
  readonly pool: SourcePool<S>;
  /**
   * Asks a source for a range, of the version that the file is of.
   *
   * @throws MillraceError; the signal's reason
   */
  readonly open: (source: S, range: ByteRange, signal: AbortSignal) => Promise<OpenAnswer>;
  /** Requests at a time. */
  readonly connections: number;
  /** Sources but the first that get a connection of their own beside these; none: 0. */
  readonly ownConnections?: number;
}
