/**
 * The kernel of coding with the vector instructions that WebAssembly has. A product with a factor is
 * that with the low four bits XOR that with the high four, and `i8x16.swizzle` looks up sixteen such
 * products at a time. The module is assembled here: there is one function, and no compiler to trust.
 */

import { type Matrix, times } from '../../src/code/gf256.ts';
import { type Kernel, TABLE_KERNEL } from '../../src/code/kernel.ts';

/** Bytes of each shard that are worked on at a time: inputs and outputs stay in the cache. */
const TILE_BYTES = 8192;
/** Two tables of sixteen products for each factor. */
const TABLE_BYTES = 32;
const PAGE_BYTES = 65_536;

const I32 = 0x7f;
const V128 = 0x7b;

/** Places of locals: the four parameters, and three vectors. */
const [TABLE, FROM, INTO, END, LOW, HIGH, BYTES] = [0, 1, 2, 3, 4, 5, 6];

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const i32 = (value: number) => [0x41, value];
const simd = (code: number, ...operands: number[]) => [0xfd, ...unsigned(code), ...operands];
/** Loads from unaligned memory, at an offset. */
const load = (offset: number) => simd(0x00, 0, offset);
const STORE = simd(0x0b, 0, 0);
const SWIZZLE = simd(0x0e);
const SPLAT = simd(0x0f);
const AND = simd(0x4e);
const XOR = simd(0x51);
const SHIFT_RIGHT = simd(0x6d);
const ADD = 0x6a;
const LESS = 0x49;

/** Adds products: `add(table, from, into, bytes)`, where bytes is a multiple of 16 above 0. */
const BODY = [
  // Three locals of the type v128.
  ...[1, 3, V128],
  ...[...get(TABLE), ...load(0), ...set(LOW)],
  ...[...get(TABLE), ...load(16), ...set(HIGH)],
  ...[...get(END), ...get(FROM), ADD, ...set(END)],
  ...[0x03, 0x40],
  ...[...get(FROM), ...load(0), ...set(BYTES)],
  ...get(INTO),
  ...[...get(LOW), ...get(BYTES), ...i32(15), ...SPLAT, ...AND, ...SWIZZLE],
  ...[...get(HIGH), ...get(BYTES), ...i32(4), ...SHIFT_RIGHT, ...SWIZZLE],
  ...XOR,
  ...[...get(INTO), ...load(0), ...XOR],
  ...STORE,
  ...[...get(INTO), ...i32(16), ADD, ...set(INTO)],
  ...[...get(FROM), ...i32(16), ADD, ...set(FROM)],
  ...[...get(FROM), ...get(END), LESS, 0x0d, 0],
  0x0b,
  0x0b,
];

const MODULE = Uint8Array.from([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  // One type, one function of it, one memory of a page that can grow.
  ...section(1, [1, 0x60, 4, I32, I32, I32, I32, 0]),
  ...section(3, [1, 0]),
  ...section(5, [1, 0, 1]),
  ...section(7, [2, ...named('memory'), 2, 0, ...named('add'), 0, 0]),
  ...section(10, [1, ...unsigned(BODY.length), ...BODY]),
]);

/** The part of WebAssembly that is used: its types come with those of browsers only. */
declare const WebAssembly: {
  validate(bytes: Uint8Array): boolean;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  add(table: number, from: number, into: number, bytes: number): void;
}

class SimdKernel implements Kernel {
  readonly #exports: Exports;

  constructor(exports: Exports) {
    this.#exports = exports;
  }

  multiply(rows: Matrix, inputs: readonly Uint8Array[], outputs: readonly Uint8Array[]): void {
    const { memory, add } = this.#exports;
    const tables = rows.length * inputs.length * TABLE_BYTES;
    const shards = (inputs.length + outputs.length) * TILE_BYTES;
    const lacking = tables + shards - memory.buffer.byteLength;
    if (lacking > 0) memory.grow(Math.ceil(lacking / PAGE_BYTES));
    const bytes = new Uint8Array(memory.buffer);
    for (const [i, row] of rows.entries()) {
      for (const [j, factor] of row.entries()) {
        setTable(bytes, factor, (i * inputs.length + j) * TABLE_BYTES);
      }
    }
    const inputAt = (j: number) => tables + j * TILE_BYTES;
    const outputAt = (i: number) => inputAt(inputs.length + i);
    const length = outputs[0]?.length ?? 0;
    for (let at = 0; at < length; at += TILE_BYTES) {
      const own = Math.min(TILE_BYTES, length - at);
      const padded = Math.ceil(own / 16) * 16;
      for (const [j, input] of inputs.entries()) {
        const piece = input.subarray(at, at + own);
        bytes.set(piece, inputAt(j));
        bytes.fill(0, inputAt(j) + piece.length, inputAt(j) + padded);
      }
      for (const [i, output] of outputs.entries()) {
        bytes.fill(0, outputAt(i), outputAt(i) + padded);
        for (const [j, factor] of (rows[i] ?? []).entries()) {
          const table = (i * inputs.length + j) * TABLE_BYTES;
          if (factor !== 0) add(table, inputAt(j), outputAt(i), padded);
        }
        output.set(bytes.subarray(outputAt(i), outputAt(i) + own), at);
      }
    }
  }
}

/** Makes the fastest kernel that this processor can run. */
export function fastestKernel(): Kernel {
  return simdKernel() ?? TABLE_KERNEL;
}

/** Makes a kernel of vector instructions; undefined: there are none here. */
export function simdKernel(): Kernel | undefined {
  if (!WebAssembly.validate(MODULE)) return undefined;
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(MODULE));
  return new SimdKernel(exports as Exports);
}

function setTable(bytes: Uint8Array, factor: number, at: number): void {
  for (let nibble = 0; nibble < 16; nibble++) {
    bytes[at + nibble] = times(factor, nibble);
    bytes[at + 16 + nibble] = times(factor, nibble << 4);
  }
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content];
}

function named(name: string): number[] {
  return [name.length, ...new TextEncoder().encode(name)];
}

/** Writes a number in LEB128. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}
