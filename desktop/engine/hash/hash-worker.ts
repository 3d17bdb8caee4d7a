/**
 * A thread that hashes a file, to spare the thread that serves connections: it reads the bytes
 * itself, mostly from the kernel's cache. It answers the requests of a `HashThread`.
 */

import { createHash, type Hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { LEAF_BYTES, MerkleTree } from '@millrace/shared/download/torrent/merkle';
import { BodyCipher } from '../seal/body-cipher.ts';

/** Requests to the thread, which answers them in order. */
export type HashRequest =
  /** Opens the file for the other requests, and begins digests of its beginning. */
  | { readonly kind: 'open'; readonly path: string; readonly algorithms: readonly string[] }
  /** Adds the file's next bytes, up to `end`, to the running digests. */
  | { readonly kind: 'extend'; readonly end: number }
  /** Restarts the running digests. */
  | { readonly kind: 'restart' }
  /** Returns the digests of all bytes so far, one per algorithm. */
  | { readonly kind: 'digests' }
  /** Returns digests of ranges of the file, or of what these are encrypted to. */
  | {
      readonly kind: 'ranges';
      readonly algorithm: string;
      readonly ranges: readonly ByteRange[];
      /** Key of an encrypted file's body: the digest is that of its ciphertext. */
      readonly bodyKey: Uint8Array | undefined;
      /** Leaves of the tree whose root is wanted (BEP 52); undefined: a plain digest. */
      readonly leaves: number | undefined;
    };

/** A request with a number, because several requests may be open at once. */
export interface NumberedRequest {
  readonly id: number;
  readonly request: HashRequest;
}

export interface HashReply {
  readonly id: number;
  /** Hexadecimal; undefined for requests without a result. */
  readonly hexes?: readonly string[];
  readonly error?: string;
}

/**
 * Bytes to read at a time: few enough to be hashed from the processor's cache, where the kernel has
 * just put them.
 */
const READ_BYTES = 256 * 1024;

class File {
  readonly #fd: number;
  readonly #algorithms: readonly string[];
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  #hashes: Hash[] = [];
  #at = 0;

  constructor(path: string, algorithms: readonly string[]) {
    this.#fd = openSync(path, 'r');
    this.#algorithms = algorithms;
    this.restart();
  }

  restart(): void {
    this.#hashes = this.#algorithms.map((algorithm) => createHash(algorithm));
    this.#at = 0;
  }

  extend(end: number): void {
    this.#read(this.#at, end, this.#hashes);
    this.#at = end;
  }

  /**
   * Returns the digests so far. They are computed from copies: more bytes may be added afterwards.
   */
  digests(): string[] {
    return this.#hashes.map((running) => running.copy().digest('hex'));
  }

  range(algorithm: string, start: number, end: number, bodyKey: Uint8Array | undefined): string {
    const running = createHash(algorithm);
    this.#read(start, end, [running], bodyKey && new BodyCipher(bodyKey));
    return running.digest('hex');
  }

  /** Returns the root of a tree over some bytes. */
  tree(start: number, end: number, leaves: number): string {
    const tree = new MerkleTree((algorithm, bytes) => createHash(algorithm).update(bytes).digest());
    for (let at = start; at < end; at += LEAF_BYTES) {
      const leaf = createHash('sha256');
      this.#read(at, Math.min(end, at + LEAF_BYTES), [leaf]);
      tree.add(leaf.digest());
    }
    return Buffer.from(tree.root(leaves)).toString('hex');
  }

  close(): void {
    closeSync(this.#fd);
  }

  #read(start: number, end: number, hashes: readonly Hash[], cipher?: BodyCipher): void {
    for (let at = start; at < end; ) {
      const count = readSync(this.#fd, this.#buffer, 0, Math.min(READ_BYTES, end - at), at);
      if (count === 0) throw new Error('the file has become shorter');
      const plain = this.#buffer.subarray(0, count);
      const add = (bytes: Uint8Array) => {
        for (const running of hashes) running.update(bytes);
      };
      if (cipher === undefined) add(plain);
      else cipher.lend(at, plain, add);
      at += count;
    }
  }
}

let file: File | undefined;

function answer(request: HashRequest): string[] | undefined {
  switch (request.kind) {
    case 'open':
      file?.close();
      file = new File(request.path, request.algorithms);
      return undefined;
    case 'extend':
      return void file?.extend(request.end);
    case 'restart':
      return void file?.restart();
    case 'digests':
      return file?.digests();
    case 'ranges': {
      const { algorithm, ranges, bodyKey, leaves } = request;
      const open = file;
      return open && ranges.map((range) => digestOf(open, algorithm, range, bodyKey, leaves));
    }
  }
}

function digestOf(
  from: File,
  algorithm: string,
  { start, end }: ByteRange,
  bodyKey: Uint8Array | undefined,
  leaves: number | undefined,
): string {
  if (leaves !== undefined) return from.tree(start, end, leaves);
  return from.range(algorithm, start, end, bodyKey);
}

parentPort?.on('message', ({ id, request }: NumberedRequest) => {
  let reply: HashReply;
  try {
    const hexes = answer(request);
    reply = hexes === undefined ? { id } : { id, hexes };
  } catch (error) {
    reply = { id, error: (error as Error).message };
  }
  parentPort?.postMessage(reply);
});
