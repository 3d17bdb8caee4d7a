import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { listField, singleField, splitList } from './headers.ts';

describe('headers', () => {
  test('the lines of a list-valued field are joined', () => {
    expect(listField({ vary: ['a', 'b, c'] }, 'vary')).toBe('a, b, c');
    expect(listField({ vary: 'a' }, 'vary')).toBe('a');
    expect(listField({}, 'vary')).toBeUndefined();
  });

  test('repeated equal lines of a field count once', () => {
    expect(singleField({ etag: ['"a"', '"a"'] }, 'etag')).toBe('"a"');
    expect(singleField({ etag: '"a"' }, 'etag')).toBe('"a"');
    expect(singleField({ etag: [] }, 'etag')).toBeUndefined();
    expect(singleField({}, 'etag')).toBeUndefined();
  });

  test('a field that contradicts itself makes the message unusable', () => {
    expect(() => singleField({ etag: ['"a"', '"b"'] }, 'etag')).toThrow(
      expect.objectContaining({ code: 'malformed-response', detail: 'etag occurs twice' }),
    );
  });

  test.each([
    ['', []],
    [' , ,, ', []],
    ['a', ['a']],
    [' a ,b , c ', ['a', 'b', 'c']],
    ['"a,b",c', ['"a,b"', 'c']],
    ['"a\\",b",c', ['"a\\",b"', 'c']],
    ['"a\\\\",b', ['"a\\\\"', 'b']],
    ['x="1,2";y, z', ['x="1,2";y', 'z']],
    ['"never closed, a', ['"never closed, a']],
    ['"ends with \\', ['"ends with \\']],
    ['a\\,b', ['a\\', 'b']],
  ])('the list %j has the items %j', (value, items) => {
    expect(splitList(value)).toEqual(items);
  });

  test('joined items are split again', () => {
    const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z=-]+$/);
    const quoted = fc
      .string({ unit: 'grapheme-ascii' })
      .map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`);
    fc.assert(
      fc.property(fc.array(fc.oneof(token, quoted)), (items) => {
        expect(splitList(items.join(' , '))).toEqual(items);
      }),
    );
  });
});
