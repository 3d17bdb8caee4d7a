import { describe, expect, test } from '@jest/globals';

describe('the comparison of bytes in tests', () => {
  const bytes = Buffer.alloc(8 * 1024 * 1024, 'bytes');

  test('finds equal ones, also inside of other values, and as views of other memory', () => {
    expect(Buffer.from(bytes)).toEqual(bytes);
    expect({ a: [Buffer.from(bytes)] }).toStrictEqual({ a: [bytes] });
    expect(Buffer.concat([Buffer.from('before'), bytes]).subarray(6)).toEqual(bytes);
    expect(new Uint8Array([1, 2])).toEqual(Buffer.from([1, 2]));
  });

  test('finds one byte that differs, another length and another type', () => {
    const other = Buffer.from('one byte');
    other[7] = 0;
    expect(other).not.toEqual(Buffer.from('one byte'));
    expect(Buffer.from('one byte')).not.toEqual(Buffer.from('one byt'));
    expect({ a: [other] }).not.toEqual({ a: [Buffer.from('one byte')] });
    expect(new Uint8Array([1, 2])).not.toStrictEqual(Buffer.from([1, 2]));
    expect(new Int8Array([-1])).not.toEqual(new Int8Array([1]));
  });
});
