/** Makes lists of blocks as zsyncmake does. */

import { sumOf } from '../block-search.ts';
import { Md4 } from '../md4.ts';

export interface ListShape {
  readonly blockBytes?: number;
  readonly inRow?: 1 | 2;
  readonly sumBytes?: number;
  readonly md4Bytes?: number;
  /** Header lines to add or replace, by name; undefined: without the line. */
  readonly fields?: Readonly<Record<string, string | undefined>>;
}

/**
 * Makes the list of a file's blocks.
 *
 * @param sha1 of the whole file, hexadecimal
 */
export function makeZsync(file: Uint8Array, sha1: string, shape: ListShape = {}): Uint8Array {
  const { blockBytes = 1024, inRow = 2, sumBytes = 2, md4Bytes = 5, fields = {} } = shape;
  const header = {
    zsync: '0.6.2',
    Filename: 'file.bin',
    Blocksize: `${blockBytes}`,
    Length: `${file.length}`,
    'Hash-Lengths': `${inRow},${sumBytes},${md4Bytes}`,
    URL: 'file.bin',
    'SHA-1': sha1,
    ...fields,
  };
  const lines = Object.entries(header).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}\n`],
  );
  const text = new TextEncoder().encode(`${lines.join('')}\n`);
  const blocks = Math.ceil(file.length / blockBytes);
  const list = new Uint8Array(text.length + blocks * (sumBytes + md4Bytes));
  list.set(text);
  const md4 = new Md4();
  for (let i = 0, at = text.length; i < blocks; i++) {
    const block = new Uint8Array(blockBytes);
    block.set(file.subarray(i * blockBytes, (i + 1) * blockBytes));
    const sum = sumOf(block, 0, blockBytes);
    for (let j = sumBytes - 1; j >= 0; j--) list[at++] = sum >>> (8 * j);
    list.set(md4.digest(block).subarray(0, md4Bytes), at);
    at += md4Bytes;
  }
  return list;
}
