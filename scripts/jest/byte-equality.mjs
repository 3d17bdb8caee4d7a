/**
 * Compares bytes natively in tests. Jest's own comparison lists the index of each byte as a key, and
 * took most of the time of tests that compare files in memory.
 */

import { expect } from '@jest/globals';

const isBytes = (value) => ArrayBuffer.isView(value) && value.BYTES_PER_ELEMENT === 1;
const viewOf = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength);

/** Compares two arrays of bytes of one type. @returns undefined for other values: Jest compares these */
function areEqualBytes(a, b) {
  if (!isBytes(a) || !isBytes(b)) return undefined;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return undefined;
  return viewOf(a).equals(viewOf(b));
}

expect.addEqualityTesters([areEqualBytes]);
