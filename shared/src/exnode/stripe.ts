/**
 * Plans how a file is striped over depots in coded shards. Each depot stores one stream: a shard of
 * each extent, one after the other. From one extent to the next the shards move on by one depot, so
 * that all depots have as much data and parity as the others.
 */

import { type ByteRange, rangeBytes } from '../base/byte-range.ts';
import { MillraceError } from '../base/errors.ts';
import { MAX_UNIT_BYTES } from './coded.ts';
import { blockBytesFor, type CodedLayout } from './exnode.ts';

/** Most bytes of a row, parity included, unless its units are single blocks. */
const MAX_ROW_BYTES = 32 * 1024 * 1024;
/** Rows that a file has at least, if its units can be small enough. */
const LEAST_ROWS = 16;

export class Stripe {
  readonly data: number;
  readonly parity: number;
  /** Bytes. */
  readonly unit: number;
  /** Number of rows; only the last one may be short. */
  readonly rows: number;
  readonly #size: number;
  readonly #rowsOfExtent: number;

  /**
   * @param size bytes of the file, from 0
   * @param data number of data shards, 1 to `MAX_DATA`
   * @param parity number of parity shards, 1 to `MAX_PARITY`
   * @throws MillraceError `bad-option` for a file whose blocks are too large to be coded
   */
  constructor(size: number, data: number, parity: number) {
    const depots = data + parity;
    let unit = blockBytesFor(size);
    if (unit > MAX_UNIT_BYTES) {
      throw new MillraceError('bad-option', 'files of more than 256 GiB cannot be striped');
    }
    while (2 * unit * data * LEAST_ROWS <= size && 2 * unit * depots <= MAX_ROW_BYTES) unit *= 2;
    [this.data, this.parity, this.unit, this.#size] = [data, parity, unit, size];
    this.rows = Math.ceil(size / (data * unit));
    this.#rowsOfExtent = Math.max(1, Math.ceil(this.rows / depots));
  }

  /** Number of depots that each extent is at. */
  get depots(): number {
    return this.data + this.parity;
  }

  /** The extents, ascending. */
  get extents(): CodedLayout[] {
    const { data, parity, unit } = this;
    const bytes = this.#rowsOfExtent * data * unit;
    return Array.from({ length: Math.ceil(this.#size / bytes) }, (_, i) => ({
      ...{ start: i * bytes, end: Math.min(this.#size, (i + 1) * bytes), data, parity, unit },
    }));
  }

  /** Position in the stream of each depot at which an extent begins. */
  extentAt(extent: number): number {
    return extent * this.#rowsOfExtent * this.unit;
  }

  /** Returns the depot that stores a shard of an extent. */
  depotOf(extent: number, shard: number): number {
    return (extent + shard) % this.depots;
  }

  /** Returns the shard that a depot stores of a row. */
  shardAt(depot: number, row: number): number {
    const extent = Math.floor(row / this.#rowsOfExtent);
    return (((depot - extent) % this.depots) + this.depots) % this.depots;
  }

  /** Returns the data of a row: a range of the file. */
  rowRange(row: number): ByteRange {
    const start = row * this.data * this.unit;
    return { start, end: Math.min(this.#size, start + this.data * this.unit) };
  }

  /** Returns the bytes of a row in a shard. */
  pieceBytes(row: number, shard: number): number {
    const ahead = shard < this.data ? shard * this.unit : 0;
    return Math.max(0, Math.min(this.unit, rangeBytes(this.rowRange(row)) - ahead));
  }

  /** Returns the length of a depot's stream. All its rows but the last one are whole units. */
  streamBytes(depot: number): number {
    const last = this.rows - 1;
    return last < 0 ? 0 : last * this.unit + this.pieceBytes(last, this.shardAt(depot, last));
  }
}
