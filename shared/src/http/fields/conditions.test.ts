import { describe, expect, test } from '@jest/globals';
import { ifChanged, ifRange, ifRangeHolds, ifSame } from './conditions.ts';
import type { Validators } from './validators.ts';

const lastModified = Date.UTC(1994, 10, 6);
const DATE = 'Sun, 06 Nov 1994 00:00:00 GMT';
const STRONG_DATE: Validators = { lastModified, lastModifiedIsStrong: true };
const WEAK_DATE: Validators = { lastModified, lastModifiedIsStrong: false };

describe('the condition of a request for a range', () => {
  test('is the strong entity tag, or the strong date', () => {
    expect(ifRange({ etag: '"a"', ...STRONG_DATE })).toBe('"a"');
    expect(ifRange(STRONG_DATE)).toBe(DATE);
  });

  test('is never weak: a weak tag or date may be the same for different bytes', () => {
    expect(ifRange(WEAK_DATE)).toBeUndefined();
    expect(ifRange({ lastModified })).toBeUndefined();
    expect(ifRange({ weakEtag: 'W/"a"' })).toBeUndefined();
    expect(ifRange({})).toBeUndefined();
  });

  test('holds only for the version that it was written for', () => {
    const versions: Validators[] = [
      { etag: '"a"', ...STRONG_DATE },
      { etag: '"b"', ...STRONG_DATE },
      STRONG_DATE,
      { lastModified: lastModified + 1000, lastModifiedIsStrong: true },
      { etag: '"c"' },
    ];
    for (const written of versions) {
      const value = ifRange(written);
      expect(value).toBeDefined();
      expect(ifRangeHolds(value, written)).toBe(true);
      for (const other of versions) {
        const same = written.etag === undefined && other.lastModified === lastModified;
        if (other !== written && !(same && written.lastModified === lastModified)) {
          expect([written, other, ifRangeHolds(value, other)]).toEqual([written, other, false]);
        }
      }
    }
    expect(ifRangeHolds(DATE, WEAK_DATE)).toBe(false);
    expect(ifRangeHolds('W/"a"', { weakEtag: 'W/"a"' })).toBe(false);
    expect(ifRangeHolds('yesterday', STRONG_DATE)).toBe(false);
    expect(ifRangeHolds(undefined, {})).toBe(true);
  });
});

describe('the condition of a request for the file', () => {
  test.each<[Validators, object, object]>([
    [{ etag: '"a"', lastModified }, { 'if-match': '"a"' }, { 'if-none-match': '"a"' }],
    [{ lastModified }, { 'if-unmodified-since': DATE }, { 'if-modified-since': DATE }],
    [
      { weakEtag: 'W/"a"', lastModified },
      { 'if-unmodified-since': DATE },
      { 'if-modified-since': DATE },
    ],
    [{ weakEtag: 'W/"a"' }, {}, {}],
    [{}, {}, {}],
  ])('that has %j', (validators, same, changed) => {
    expect(ifSame(validators)).toEqual(same);
    expect(ifChanged(validators)).toEqual(changed);
  });
});
