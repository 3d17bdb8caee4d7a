/** The pages' own code writes numbers like the command line's, which browsers cannot import. */

import { expect, test } from '@jest/globals';
import { formatBytes, formatRate } from '@millrace/shared/base/units';
import fc from 'fast-check';
import { percent, rate, size } from './words.js';

test('sizes and rates are written like those of the command line', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 60 }), fc.double({ min: 0.5, max: 1 }), (power, part) => {
      const bytes = Math.floor(2 ** power * part);
      expect([size(bytes), rate(bytes)]).toEqual([formatBytes(bytes), formatRate(bytes)]);
    }),
  );
});

test('less than all is never shown as 100 %', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (share) => {
      expect(percent(share)).not.toBe('100 %');
    }),
  );
  expect(percent(1)).toBe('100 %');
});
