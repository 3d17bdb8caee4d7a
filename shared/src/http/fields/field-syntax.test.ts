import { describe, expect, test } from '@jest/globals';
import { fieldValue, userFields } from './field-syntax.ts';

describe('userFields', () => {
  test('names become lower case, and values are trimmed', () => {
    expect(userFields({ 'X-Own': ' a b\t', Accept: '' })).toEqual({ 'x-own': 'a b', accept: '' });
  });

  test.each([
    ['X Own', 'a'],
    ['', 'a'],
    ['X-Own:', 'a'],
    ['X-Own\r\nX-Other', 'a'],
    ['X-Own', 'secret\r\nX-Other: b'],
    ['X-Own', 'secret\nX-Other: b'],
    ['X-Own', 'secret\0'],
    ['X-Own', 'secret☃'],
    ['X-Own', `secret${'x'.repeat(20_000)}`],
    ['x'.repeat(300), 'a'],
    ['Host', 'secret'],
    ['RANGE', 'bytes=0-'],
    ['Transfer-Encoding', 'chunked'],
    ['Content-Length', '1'],
    ['Proxy-Authorization', 'Basic secret'],
  ])('%j: %j is refused, and the value is not shown', (name, value) => {
    let thrown: unknown;
    try {
      userFields({ [name]: value });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'bad-option' });
    expect(String(thrown)).not.toContain('secret');
  });

  test('a field given twice is refused, and so are too many fields', () => {
    expect(() => userFields({ A: '1', a: '2' })).toThrow(/twice/);
    const crowd = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`x-${i}`, '']));
    expect(() => userFields(crowd)).toThrow(/too many/);
  });
});

test('fieldValue accepts characters from U+0080 to U+00FF', () => {
  expect(fieldValue('x', 'gr\u00fcn')).toBe('gr\u00fcn');
});
