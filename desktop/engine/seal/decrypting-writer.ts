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
    // The writer copies the bytes before it returns.
    return this.#cipher.lend(position, bytes, (plain) => this.#writer.write(position, plain));
  }

  end(): Promise<void> {
    return this.#writer.end();
  }
}
