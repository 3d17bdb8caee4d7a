/** Decrypts the bytes of an answer on their way to the file. */

import type { RangeWriter } from '@millrace/shared/download/transfer/transfer-ports';
import { BodyCipher } from './body-cipher.ts';

export class DecryptingWriter implements RangeWriter {
  readonly #writer: Required<RangeWriter>;
  readonly #cipher: BodyCipher;

  /** @param key of the body */
  constructor(writer: Required<RangeWriter>, key: Uint8Array) {
    this.#writer = writer;
    this.#cipher = new BodyCipher(key);
  }

  room(end: number): Uint8Array {
    return this.#writer.room(end);
  }

  write(position: number, bytes: Uint8Array): Promise<void> | undefined {
    return this.#writer.write(position, this.#cipher.apply(position, bytes));
  }

  end(): Promise<void> {
    return this.#writer.end();
  }
}
