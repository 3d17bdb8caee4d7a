import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { bytes } from './figures.ts';
import { readableBytes } from './readable-bytes.ts';

const numbers = {
  number: (value: number, digits = 0) =>
    value.toLocaleString('en', { maximumFractionDigits: digits }),
  percent: (share: number) => `${share * 100}%`,
};
const write = {
  size: (value: number) => bytes(numbers, value).replace('\u00a0', ' '),
  exact: (value: number) => `${numbers.number(value)} bytes`,
};
const readable = (detail: string) => readableBytes(detail, write);

test.each([
  ['734003200 bytes are needed, 12582912 are free', '700 MiB are needed, 12 MiB are free'],
  ['it has 734003200 bytes instead of 1024', 'it has 700 MiB instead of 1 KiB'],
  ['12582912 of 734003200 bytes', '12 MiB of 700 MiB'],
  ['512 of 734003200 bytes came', '512 B of 700 MiB came'],
  ['734003200 instead of 9 bytes', '700 MiB instead of 9 B'],
  ['more than 2147483648 bytes', 'more than 2 GiB'],
  ['734003200 bytes, at most 1048576', '700 MiB, at most 1 MiB'],
  ['a says 2048 bytes, b says 4096', 'a says 2 KiB, b says 4 KiB'],
  ['less than 2048 bytes came in 30 s', 'less than 2 KiB came in 30 s'],
])('%j reads %j', (detail, said) => {
  expect(readable(detail)).toBe(said);
});

test('sizes that would look alike stay exact, so that nobody reads "700 MiB instead of 700 MiB"', () => {
  expect(readable('it has 734003200 bytes instead of 734003201')).toBe(
    'it has 734,003,200 bytes instead of 734,003,201 bytes',
  );
});

test('details without bytes stay as they are', () => {
  for (const detail of ['', 'status 503', '/tmp/1234567', 'kilobytes 12', '12 bytesize']) {
    expect(readable(detail)).toBe(detail);
  }
});

test('every number of bytes in a detail is written as a size, and nothing else changes', () => {
  const size = fc.integer({ min: 0, max: 2 ** 49 });
  fc.assert(
    fc.property(fc.array(size, { minLength: 1, maxLength: 5 }), (sizes) => {
      const detail = sizes.map((one) => `file ${one} bytes;`).join(' ');
      expect(readable(detail)).toBe(sizes.map((one) => `file ${write.size(one)};`).join(' '));
    }),
  );
});
