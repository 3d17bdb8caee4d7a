/**
 * Computes digests of a file during its download: the beginning of the file is hashed as it grows,
 * so that verification ends with the download. Hashing runs in a thread, because it takes as long
 * as receiving does. It reads from the file instead of memory: with several connections most bytes
 * come out of order anyway, the kernel still has them cached, and the hashed bytes are the very
 * bytes that the user gets.
 */

import type { ByteRange, RangeSet } from '@millrace/shared/base/byte-range';
import {
  type Digest,
  type DigestAlgorithm,
  type PieceDigests,
  pieceRange,
} from '@millrace/shared/base/digest';
import { LEAF_BYTES } from '@millrace/shared/download/torrent/merkle';
import { HashThread } from './hash-thread.ts';

/** Bytes to hash per request to the thread: a restart waits for at most that many. */
const STEP_BYTES = 16 * 1024 * 1024;

/** The part of a `PartialFile` that hashing needs. */
export interface HashedFile {
  readonly dataPath: string;
  readonly stored: RangeSet;
  /** Number of times that bytes were removed from `stored`. */
  readonly removals: number;
}

export class FileHasher {
  readonly #file: HashedFile;
  readonly #algorithms: readonly DigestAlgorithm[];
  readonly #thread = new HashThread();
  /** Bytes that the digests cover. */
  #hashedBytes = 0;
  #removals: number;
  #running: Promise<void> | undefined;
  #opened = false;
  #failure: unknown;

  /**
   * @param file an open file, which keeps its name until the hasher is closed
   * @param algorithms for the whole file; none if only pieces are checked
   */
  constructor(file: HashedFile, algorithms: readonly DigestAlgorithm[]) {
    this.#file = file;
    this.#algorithms = algorithms;
    this.#removals = file.removals;
  }

  /** Algorithms for the digests of the whole file. */
  get algorithms(): readonly DigestAlgorithm[] {
    return this.#algorithms;
  }

  /** Number of bytes that the digests cover. */
  get hashedBytes(): number {
    return this.#hashedBytes;
  }

  /** Continues hashing unless it is already running. To be called after bytes have been stored. */
  advance(): void {
    if (this.#running !== undefined || this.#failure !== undefined) return;
    if (this.#algorithms.length === 0 || this.#next() === undefined) return;
    this.#running = this.#run()
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  /**
   * Hashes the rest of the file.
   *
   * @param length of the file in bytes, all of which are stored
   * @returns one digest per algorithm, in the given order
   * @throws MillraceError `file-not-writable` if the file cannot be read; RangeError if not all of
   *   it is stored
   */
  async finish(length: number): Promise<Digest[]> {
    for (;;) {
      await this.#running;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#hashedBytes >= length && this.#removals === this.#file.removals) break;
      this.advance();
      if (this.#running === undefined) throw new RangeError('not all of the file is stored');
    }
    await this.#open();
    const hexes = await this.#thread.ask({ kind: 'digests' });
    return this.#algorithms.map((algorithm, i) => ({ algorithm, hex: hexes[i] as string }));
  }

  /**
   * Computes the digests of ranges of the file as it is now.
   *
   * @param bodyKey for the digests of the ciphertext that depots have of these bytes
   * @param leaves for the roots of trees over the bytes (BEP 52): leaves of each, a power of two
   * @returns hexadecimal
   * @throws MillraceError `file-not-writable` if the file cannot be read
   */
  async digestsOf(
    algorithm: DigestAlgorithm,
    ranges: readonly ByteRange[],
    bodyKey?: Uint8Array,
    leaves?: number,
  ): Promise<readonly string[]> {
    if (ranges.length === 0) return [];
    await this.#open();
    return this.#thread.ask({ kind: 'ranges', algorithm, ranges, bodyKey, leaves });
  }

  /**
   * Computes the digests of some pieces of the file as it is now.
   *
   * @param length of the file, bytes
   * @param indices of the pieces
   * @param bodyKey as for `digestsOf`
   * @throws as `digestsOf`
   */
  digestsOfPieces(
    pieces: PieceDigests,
    length: number,
    indices: readonly number[],
    bodyKey?: Uint8Array,
  ): Promise<readonly string[]> {
    const { algorithm, pieceBytes, tree } = pieces;
    const leaves = tree === undefined ? undefined : pieceBytes / LEAF_BYTES;
    const ranges = indices.map((index) => pieceRange(pieces, length, index));
    return this.digestsOf(algorithm, ranges, bodyKey, leaves);
  }

  /**
   * Compares the pieces of the file with their digests.
   *
   * @param length of the file in bytes, all of which are stored
   * @returns the wrong pieces, in ascending order
   * @throws MillraceError `file-not-writable` if the file cannot be read; the signal's reason
   */
  async badPieces(
    pieces: PieceDigests,
    length: number,
    signal?: AbortSignal,
  ): Promise<ByteRange[]> {
    const bad: ByteRange[] = [];
    const { hexes, pieceBytes } = pieces;
    const each = Math.max(1, Math.floor(STEP_BYTES / pieceBytes));
    for (let first = 0; first < hexes.length; first += each) {
      signal?.throwIfAborted();
      const indices = Array.from(
        { length: Math.min(each, hexes.length - first) },
        (_, i) => first + i,
      ).filter((index) => pieceRange(pieces, length, index).start < length);
      const found = await this.digestsOfPieces(pieces, length, indices);
      for (const [i, index] of indices.entries()) {
        if (found[i] !== hexes[index]) bad.push(pieceRange(pieces, length, index));
      }
    }
    return bad;
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#failure ??= new RangeError('closed');
    await this.#thread.close();
    await this.#running;
  }

  /** Returns where the stored beginning of the file ends; undefined: nothing is left to hash. */
  #next(): number | undefined {
    const first = this.#file.stored.ranges[0];
    const end = first === undefined || first.start > 0 ? 0 : first.end;
    if (this.#removals !== this.#file.removals) return end;
    return end > this.#hashedBytes ? end : undefined;
  }

  async #run(): Promise<void> {
    await this.#open();
    for (let end = this.#next(); end !== undefined; end = this.#next()) {
      if (this.#removals !== this.#file.removals) {
        // Bytes that the digests cover may have been replaced.
        this.#removals = this.#file.removals;
        this.#hashedBytes = 0;
        await this.#thread.ask({ kind: 'restart' });
        continue;
      }
      const to = Math.min(end, this.#hashedBytes + STEP_BYTES);
      await this.#thread.ask({ kind: 'extend', end: to });
      this.#hashedBytes = to;
    }
  }

  async #open(): Promise<void> {
    if (this.#opened) return;
    this.#opened = true;
    const { dataPath: path } = this.#file;
    await this.#thread.ask({ kind: 'open', path, algorithms: this.#algorithms });
  }
}
