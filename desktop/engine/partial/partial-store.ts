/** Offers a partial file as the store of a transfer. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { RangeWriter, TransferStore } from '@millrace/shared/download/transfer/transfer-ports';
import { DecryptingWriter } from '../seal/decrypting-writer.ts';
import type { PartialFile } from './partial-file.ts';
import type { SegmentPool } from './segment-pool.ts';
import { SegmentWriter } from './segment-writer.ts';

export class PartialStore implements TransferStore {
  readonly #file: PartialFile;
  readonly #pool: SegmentPool;
  readonly #bodyKey: Uint8Array | undefined;

  /** @param bodyKey of an encrypted file, which is stored plain */
  constructor(file: PartialFile, pool: SegmentPool, bodyKey?: Uint8Array) {
    this.#file = file;
    this.#pool = pool;
    this.#bodyKey = bodyKey;
  }

  writer(start: number, provisional: boolean): RangeWriter {
    const writer = new SegmentWriter(this.#file, this.#pool, start, provisional);
    return this.#bodyKey === undefined ? writer : new DecryptingWriter(writer, this.#bodyKey);
  }

  confirm(range: ByteRange): Promise<void> {
    return this.#file.confirm(range);
  }

  async forget(ranges: readonly ByteRange[]): Promise<void> {
    for (const range of ranges) await this.#file.forget(range);
  }
}
