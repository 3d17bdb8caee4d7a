import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatContentRange, parseContentRange } from './content-range.ts';

describe('Content-Range', () => {
  test.each([
    ['bytes 0-0/1', { kind: 'range', range: { start: 0, end: 1 }, total: 1 }],
    ['bytes 42-1233/1234', { kind: 'range', range: { start: 42, end: 1234 }, total: 1234 }],
    ['bytes 0-499/*', { kind: 'range', range: { start: 0, end: 500 }, total: undefined }],
    ['BYTES 0-1/2', { kind: 'range', range: { start: 0, end: 2 }, total: 2 }],
    [' bytes 0-1/2 ', { kind: 'range', range: { start: 0, end: 2 }, total: 2 }],
    ['bytes */1234', { kind: 'unsatisfied', total: 1234 }],
    ['bytes */0', { kind: 'unsatisfied', total: 0 }],
  ])('%j is understood', (value, expected) => {
    expect(parseContentRange(value)).toEqual(expected);
  });

  test.each([
    undefined,
    '',
    'bytes',
    'bytes */*',
    'bytes 0-1',
    'bytes 0-/2',
    'bytes -1/2',
    'bytes 1-0/2',
    'bytes 0-2/2',
    'bytes 0-1/1',
    'bytes 0-1/0',
    'bytes=0-1/2',
    'bytes: 0-1/2',
    'bytes 0 - 1 / 2',
    'bytes  0-1/2',
    'bytes 0-1/2, bytes 0-1/2',
    'bytes 0-1,2-3/4',
    'bytes +0-1/2',
    'bytes 0x0-0x1/2',
    'bytes 0-1e3/2000',
    'items 0-1/2',
    'bytes 0-9007199254740991/*',
    'bytes 0-1/9007199254740992',
    'bytes 0-99999999999999999/*',
    'bytes */99999999999999999',
    '0-1/2',
  ])('%j is refused', (value) => {
    expect(parseContentRange(value)).toBeUndefined();
  });

  test('a written range is read back as the same range', () => {
    const lengths = fc.tuple(fc.nat(), fc.integer({ min: 1 }), fc.nat());
    fc.assert(
      fc.property(lengths, ([start, bytes, rest]) => {
        const range = { start, end: start + bytes };
        const total = range.end + rest;
        const text = formatContentRange(range, total);
        expect(parseContentRange(text)).toEqual({ kind: 'range', range, total });
      }),
    );
  });

  test('any text is read as a consistent range or refused', () => {
    const digits = fc.stringMatching(/^\d{0,17}$/);
    const alike = fc
      .tuple(digits, digits, fc.oneof(digits, fc.constant('*')))
      .map(([a, b, c]) => `bytes ${a}-${b}/${c}`);
    fc.assert(
      fc.property(fc.oneof(fc.string(), alike), (text) => {
        const parsed = parseContentRange(text);
        if (parsed?.kind !== 'range') return;
        const { range, total } = parsed;
        expect(Number.isSafeInteger(range.start) && Number.isSafeInteger(range.end)).toBe(true);
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeGreaterThan(range.start);
        expect(total ?? range.end).toBeGreaterThanOrEqual(range.end);
      }),
    );
  });
});
