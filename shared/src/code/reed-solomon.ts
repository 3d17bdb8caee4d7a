/**
 * Systematic Reed-Solomon codes: of k data and m parity shards, any k tell all others (LOCI 5). With
 * so few shards no code needs less. The encoding matrix is the one that most libraries use: a
 * Vandermonde matrix, row i of powers of i, times the inverse of its first k rows. So the first k
 * shards are the data themselves.
 */

import { inverted, type Matrix, power, product } from './gf256.ts';
import type { Kernel } from './kernel.ts';

/** Most shards of each kind. */
export const MAX_DATA = 32;
export const MAX_PARITY = 16;

/** A shard, or a piece of each shard at the same position. */
export interface Shard {
  /** Data shards come first. */
  readonly index: number;
  readonly bytes: Uint8Array;
}

export class ReedSolomon {
  readonly data: number;
  readonly parity: number;
  readonly #kernel: Kernel;
  readonly #matrix: Matrix;

  /**
   * @param data number of data shards, 1 to `MAX_DATA`
   * @param parity number of parity shards, 1 to `MAX_PARITY`
   */
  constructor(data: number, parity: number, kernel: Kernel) {
    if (!(data >= 1 && data <= MAX_DATA && parity >= 1 && parity <= MAX_PARITY)) {
      throw new RangeError(`${data}+${parity} shards`);
    }
    this.data = data;
    this.parity = parity;
    this.#kernel = kernel;
    const vandermonde = Array.from({ length: data + parity }, (_, row) =>
      Uint8Array.from({ length: data }, (_, column) => power(row, column)),
    );
    this.#matrix = product(vandermonde, inverted(vandermonde.slice(0, data)));
  }

  /**
   * Computes the parity of data.
   *
   * @param data all data shards; where one is shorter than the parity, zeros follow
   * @param parity filled: all parity shards, of one length
   */
  encode(data: readonly Uint8Array[], parity: readonly Uint8Array[]): void {
    this.#kernel.multiply(this.#matrix.slice(this.data), data, parity);
  }

  /**
   * Returns the factors with which known shards add up to others, so that they need not all be in
   * memory at a time.
   *
   * @param known indices of as many different shards as there are data shards
   * @param wanted indices of the shards to compute
   * @returns a row for each wanted shard, with a factor for each known one
   * @throws RangeError if too few shards are known
   */
  factors(known: readonly number[], wanted: readonly number[]): Matrix {
    if (known.length < this.data) throw new RangeError(`${known.length} shards of ${this.data}`);
    const rowsOf = (indices: readonly number[]) =>
      indices.map((index) => this.#matrix[index] as Uint8Array);
    return product(rowsOf(wanted), inverted(rowsOf(known)));
  }

  /**
   * Computes shards from others.
   *
   * @param known as many different shards as there are data shards; zeros follow short ones
   * @param wanted filled: of one length, which may be shorter than that of the known ones
   * @throws RangeError if too few shards are known
   */
  solve(known: readonly Shard[], wanted: readonly Shard[]): void {
    const used = known.slice(0, this.data);
    const indices = (shards: readonly Shard[]) => shards.map(({ index }) => index);
    this.#kernel.multiply(
      this.factors(indices(used), indices(wanted)),
      used.map(({ bytes }) => bytes),
      wanted.map(({ bytes }) => bytes),
    );
  }
}
