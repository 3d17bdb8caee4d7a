import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fitsPattern, fitsWildcards } from './wildcards.ts';

test.each([
  ['', '', true],
  ['', '*', true],
  ['a', '', false],
  ['ab', 'a*', true],
  ['Ab', 'a*', false],
  ['ab', '*ab*ab', false],
  ['/a/b/file?id=7', '/*/file?id=*', true],
  ['/a/b/fileXid=7', '/*/file?id=*', false],
])('%j and the pattern %j: %s', (text, pattern, fits) => {
  expect(fitsWildcards(text, pattern)).toBe(fits);
});

test.each([undefined, '?'])('texts fit as the same regular expression would, with %s', (one) => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '?', '😀'), maxLength: 10 });
  fc.assert(
    fc.property(text, pattern, (text, pattern) => {
      const source = pattern.replaceAll('*', '.*').replaceAll('?', one === undefined ? '[?]' : '.');
      return fitsWildcards(text, pattern, one) === new RegExp(`^${source}$`, 'u').test(text);
    }),
  );
});

test.each([
  ['a'.repeat(100_000), `${'*a'.repeat(200)}b`],
  ['a'.repeat(20_000), `*${'a'.repeat(500)}b`],
])('a long hostile pattern ends', (text, pattern) => {
  expect(fitsWildcards(text, pattern)).toBe(false);
});

test.each([
  ['Debian-12.ISO', '*.iso', true],
  ['debian-12.iso', 'debian', true],
  ['debian-12.iso', 'BIAN', true],
  ['debian-12.iso', 'deb*12', false],
  ['a.iso', '?.iso', true],
  ['ab.iso', '?.iso', false],
  ['', '*', true],
  ['x', '', true],
  ['é😀', '??', true],
])('%s and the pattern %s: %s', (name, pattern, fits) => {
  expect(fitsPattern(name, pattern)).toBe(fits);
});
