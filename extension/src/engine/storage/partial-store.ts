/** Adapts an unfinished download in the browser's file system to the store of a transfer. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { RangeWriter, TransferStore } from '@millrace/shared/download/transfer/transfer-ports';
import { type Partial, UNIT_BYTES } from './opfs-store.ts';

export class PartialStore implements TransferStore {
  readonly #partial: Partial;

  constructor(partial: Partial) {
    this.#partial = partial;
  }

  writer(start: number, provisional: boolean): RangeWriter {
    return new PartialWriter(this.#partial, start, provisional);
  }

  async confirm(range: ByteRange): Promise<void> {
    this.#partial.prove(range);
  }

  async forget(ranges: readonly ByteRange[]): Promise<void> {
    this.#partial.forget(ranges);
  }
}

/** Writes bytes at once, and adds them to the journal in whole units where possible. */
class PartialWriter implements RangeWriter {
  readonly #partial: Partial;
  readonly #provisional: boolean;
  /** Position up to which the journal has the bytes. */
  #proven: number;
  /** Position of the next bytes, if they follow the earlier ones. */
  #next: number;

  constructor(partial: Partial, start: number, provisional: boolean) {
    this.#partial = partial;
    this.#provisional = provisional;
    this.#proven = start;
    this.#next = start;
  }

  write(position: number, bytes: Uint8Array): undefined {
    if (position !== this.#next) {
      this.#prove(this.#next);
      this.#proven = position;
    }
    this.#partial.write(position, bytes as Uint8Array<ArrayBuffer>);
    this.#next = position + bytes.length;
    this.#prove(this.#next - (this.#next % UNIT_BYTES));
  }

  async end(): Promise<void> {
    this.#prove(this.#next);
  }

  #prove(end: number): void {
    if (this.#provisional || end <= this.#proven) return;
    this.#partial.prove({ start: this.#proven, end });
    this.#proven = end;
  }
}
