/**
 * Encrypts and decrypts bodies: AES-256-CTR (NIST SP 800-38A 6.5) with the counter 0 at the first
 * byte. Any range can be encrypted alone, since the counter follows from the position. Two
 * plaintexts under one key would tell their difference to everybody: each body has its own key.
 */

import { type Cipheriv, createCipheriv } from 'node:crypto';
import { freeBytes } from '@millrace/shared/node/memory/free-bytes';

/** Bytes for which one counter stands. */
const COUNTER_BYTES = 16;

export class BodyCipher {
  readonly #key: Uint8Array;
  /** Counter of the first byte. */
  readonly #first: bigint;
  #cipher: Cipheriv | undefined;
  #at = 0;

  /**
   * @param key 32 bytes
   * @param first counter of the body's first byte
   */
  constructor(key: Uint8Array, first = 0n) {
    this.#key = key;
    this.#first = first;
  }

  /** Encrypts bytes of the plain file, or decrypts bytes of the body. @returns new bytes */
  apply(position: number, bytes: Uint8Array): Buffer {
    if (this.#cipher === undefined || this.#at !== position) this.#cipher = this.#from(position);
    this.#at = position + bytes.length;
    return this.#cipher.update(bytes);
  }

  /**
   * Encrypts or decrypts bytes that are used at once. Their memory is given back when `use` returns:
   * left to the garbage collector, it would cost as much time again as the cipher.
   */
  lend<T>(position: number, bytes: Uint8Array, use: (made: Buffer) => T): T {
    const made = this.apply(position, bytes);
    try {
      return use(made);
    } finally {
      freeBytes(made);
    }
  }

  #from(position: number): Cipheriv {
    const before = position % COUNTER_BYTES;
    const counter = this.#first + BigInt((position - before) / COUNTER_BYTES);
    const block = Buffer.from(counter.toString(16).padStart(2 * COUNTER_BYTES, '0'), 'hex');
    const cipher = createCipheriv('aes-256-ctr', this.#key, block);
    cipher.update(new Uint8Array(before));
    return cipher;
  }
}
