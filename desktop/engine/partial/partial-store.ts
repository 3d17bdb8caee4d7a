/** Offers a partial file as the store of a transfer. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { TransferStore } from '@millrace/shared/download/transfer/transfer-ports';
import type { PartialFile } from './partial-file.ts';
import type { SegmentPool } from './segment-pool.ts';
import { SegmentWriter } from './segment-writer.ts';

export class PartialStore implements TransferStore {
  readonly #file: PartialFile;
  readonly #pool: SegmentPool;

  constructor(file: PartialFile, pool: SegmentPool) {
    this.#file = file;
    this.#pool = pool;
  }

  writer(start: number, provisional: boolean): SegmentWriter {
    return new SegmentWriter(this.#file, this.#pool, start, provisional);
  }

  confirm(range: ByteRange): Promise<void> {
    return this.#file.confirm(range);
  }

  async forget(ranges: readonly ByteRange[]): Promise<void> {
    for (const range of ranges) await this.#file.forget(range);
  }
}
