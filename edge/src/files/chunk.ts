/** A chunk in memory, with the number of its users, and its digest. */

import { hash, webcrypto } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import type { ChunkBuffer } from './chunk-memory.ts';
import { DigestPlace } from './digest-place.ts';
import type { FileVersion } from './file-version.ts';

const GONE = Buffer.alloc(0);

/**
 * A whole chunk of one version of a file. Its bytes are never modified while it has users. Code
 * that keeps one across a turn of the event loop must `retain` it, and `release` it afterwards.
 */
export class Chunk {
  /** Chunk name without retry salt, within its scope. */
  readonly key: string;
  readonly version: FileVersion;
  /** Generation in which its fetch began (see `Generations`). */
  readonly generation: number;
  #buffer: ChunkBuffer;
  #data: Buffer;
  #users = 1;
  #digest: Promise<Buffer> | undefined;

  /**
   * The maker is the first user.
   *
   * @param digest SHA-256 of the data, if it is known already
   * @param generation in which its fetch began
   */
  constructor(
    key: string,
    buffer: ChunkBuffer,
    version: FileVersion,
    digest?: Buffer,
    generation = 0,
  ) {
    this.key = key;
    this.generation = generation;
    this.version = version;
    this.#buffer = buffer;
    this.#data = buffer.data;
    if (digest !== undefined) this.#digest = Promise.resolve(digest);
  }

  /** The bytes; empty once the last user has left. */
  get data(): Buffer {
    return this.#data;
  }

  /** Number of users, a cache that holds it included. */
  get users(): number {
    return this.#users;
  }

  /**
   * Adds a user.
   *
   * @throws MillraceError `internal` if the last one has left already: its memory may be in use for
   *   another chunk
   */
  retain(): this {
    if (this.#users === 0) throw new MillraceError('internal', 'a chunk was used after its end');
    this.#users++;
    return this;
  }

  /** Removes a user; the last one gives the memory back. */
  release(): void {
    if (this.#users === 0) throw new MillraceError('internal', 'a chunk was released too often');
    if (--this.#users > 0) return;
    this.#data = GONE;
    this.#buffer.release();
  }

  /**
   * Moves the data to memory that is kept, so that a slab made for a burst can be returned. Does
   * nothing while there is more than one user: others have the bytes in hand.
   *
   * @returns true if it has moved
   */
  move(): boolean {
    const better = this.#users === 1 ? this.#buffer.better?.() : undefined;
    if (better === undefined) return false;
    this.#data.copy(better.data);
    this.#buffer.release();
    this.#buffer = better;
    this.#data = better.data;
    return true;
  }

  /** SHA-256 of the data, computed once. */
  digest(): Promise<Buffer> {
    if (this.#digest === undefined) {
      this.retain();
      this.#digest = sha256(this.#data).finally(() => this.release());
    }
    return this.#digest;
  }
}

const place = new DigestPlace();

/** Computes SHA-256 without holding up other transfers for long. */
export async function sha256(data: Buffer): Promise<Buffer> {
  if (!place.isHere(data.length)) {
    return Buffer.from(await webcrypto.subtle.digest('SHA-256', data as Buffer<ArrayBuffer>));
  }
  const startedAt = performance.now();
  const digest = hash('sha256', data, 'buffer');
  place.onHashed(data.length, performance.now() - startedAt);
  return digest;
}
