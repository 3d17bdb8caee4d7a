/**
 * The ports of a transfer: sources that can be asked for ranges, and a store for their bytes. The
 * app implements them with HTTP connections and files, the extension with `fetch` and the browser's
 * own file system.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Session } from './session.ts';
import type { SourcePool } from './source-pool.ts';
import type { TransferSource } from './transfer-source.ts';

/**
 * Takes bytes at a position of the file, and copies them before it returns.
 *
 * @returns undefined to continue, or a promise to hold the source back until it resolves
 */
export type Sink = (position: number, bytes: Uint8Array) => Promise<void> | undefined;

/** An answer that keeps the range contract, with its body not yet read. */
export interface OpenAnswer {
  /** True if the source gave a digest of the body: its bytes count only once all have come. */
  readonly checked: boolean;
  /**
   * True if this is the answer that defines the file, and it is still needed: other answers of its
   * source that break the contract cast no doubt on its bytes, because the rest of it is all that
   * may be left. Absent: false.
   */
  readonly defines?: boolean;
  /**
   * Time from the request, on an open connection, to the head of the answer, in milliseconds;
   * undefined: not known. Shows queues before the line.
   */
  readonly headMs?: Millis | undefined;
  /**
   * Reads the body into `sink`.
   *
   * @param room returns memory to read the next bytes into; called for each piece
   * @throws MillraceError if the body does not match its header; the signal's reason; errors of
   *   `sink`. The answer is then abandoned
   */
  read(sink: Sink, room?: () => Uint8Array): Promise<void>;
}

/** Storage for the bytes of a file. */
export interface TransferStore {
  /**
   * Makes a writer for the bytes of one answer.
   *
   * @param start expected position of the first bytes
   * @param provisional true if written bytes count only after `confirm`
   */
  writer(start: number, provisional: boolean): RangeWriter;
  /** Makes provisionally written bytes count. @throws MillraceError of the disk */
  confirm(range: ByteRange): Promise<void>;
  /** Discards bytes, which must be fetched again. @throws MillraceError of the disk */
  forget(ranges: readonly ByteRange[]): Promise<void>;
}

export interface RangeWriter {
  /** Returns memory for the next bytes before `end`; absent: the store copies the bytes. */
  room?(end: number): Uint8Array;
  /**
   * Writes bytes at a position.
   *
   * @returns a promise to wait for before the next write if the disk is behind
   * @throws MillraceError of the disk
   */
  write(position: number, bytes: Uint8Array): Promise<void> | undefined;
  /** Ends the writer; resolves when all bytes are written. @throws MillraceError of the disk */
  end(): Promise<void>;
}

export interface BlockTransferOptions<S extends TransferSource> {
  readonly session: Session<S>;
  readonly store: TransferStore;
  readonly scheduler: Scheduler;
  readonly pool: SourcePool<S>;
  /**
   * Asks a source for a range of the version that is being downloaded.
   *
   * @throws MillraceError; the signal's reason
   */
  readonly open: (source: S, range: ByteRange, signal: AbortSignal) => Promise<OpenAnswer>;
  /** Most requests at a time; how many are made is found out (`ConnectionCount`). */
  readonly connections: number;
  /** Requests at a time that earlier downloads from these sources needed; undefined: unknown. */
  readonly known?: number | undefined;
}
