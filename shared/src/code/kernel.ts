/** The inner loop of coding: products of a matrix with shards, byte by byte. */

import { type Matrix, times } from './gf256.ts';

export interface Kernel {
  /**
   * Computes, for each row, the sum of the inputs times the row's factors.
   *
   * @param rows one per output, with a factor for each input
   * @param inputs where one is shorter than an output, zeros follow
   * @param outputs of one length; what they hold is replaced. None shares memory with an input
   */
  multiply(rows: Matrix, inputs: readonly Uint8Array[], outputs: readonly Uint8Array[]): void;
}

/** Products with each factor, made when it is first used: 64 KiB if all are. */
const PRODUCTS: (Uint8Array | undefined)[] = [];

/** Computes with tables of products, in any runtime. */
export const TABLE_KERNEL: Kernel = {
  multiply(rows, inputs, outputs) {
    for (const [i, output] of outputs.entries()) {
      output.fill(0);
      for (const [j, input] of inputs.entries()) addProduct(rows[i]?.[j] ?? 0, input, output);
    }
  },
};

function addProduct(factor: number, input: Uint8Array, output: Uint8Array): void {
  if (factor === 0) return;
  PRODUCTS[factor] ??= Uint8Array.from({ length: 256 }, (_, value) => times(factor, value));
  const products = PRODUCTS[factor];
  const length = Math.min(input.length, output.length);
  for (let i = 0; i < length; i++) {
    output[i] = (output[i] as number) ^ (products[input[i] as number] as number);
  }
}
