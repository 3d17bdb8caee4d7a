import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fitsPattern } from './wildcards.ts';

test.each([
  ['Debian-12.ISO', '*.iso', true],
  ['debian-12.iso', 'debian', true],
  ['debian-12.iso', 'deb*12', false],
  ['a.iso', '?.iso', true],
  ['ab.iso', '?.iso', false],
  ['', '*', true],
  ['x', '', true],
  ['é😀', '??', true],
])('%s and the pattern %s: %s', (name, pattern, fits) => {
  expect(fitsPattern(name, pattern)).toBe(fits);
});

test('patterns fit as the same regular expression would', () => {
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
  fc.assert(
    fc.property(text, part, (name, pattern) => {
      const source = pattern.replaceAll('*', '.*').replaceAll('?', '.');
      const whole = /[*?]/.test(pattern) ? `^${source}$` : source;
      return fitsPattern(name, pattern) === new RegExp(whole).test(name);
    }),
  );
});

test('a long hostile pattern ends', () => {
  expect(fitsPattern('a'.repeat(1000), `${'*a'.repeat(500)}b`)).toBe(false);
});
