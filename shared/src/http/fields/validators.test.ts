import { describe, expect, test } from '@jest/globals';
import { MAX_ETAG_CHARS } from '../../base/limits.ts';
import {
  canPin,
  etagMatchesStrongly,
  etagMatchesWeakly,
  matchVersion,
  parseEtagList,
  readValidators,
  type Validators,
} from './validators.ts';

const DAY = 'Sun, 06 Nov 1994 00:00:00 GMT';
const DAY_MS = Date.UTC(1994, 10, 6);
const SECOND_LATER = 'Sun, 06 Nov 1994 00:00:01 GMT';

describe('validators', () => {
  test('strong and weak entity tags are distinguished', () => {
    expect(readValidators({ etag: '"a"' })).toEqual({ etag: '"a"' });
    expect(readValidators({ etag: ' "a" ' })).toEqual({ etag: '"a"' });
    expect(readValidators({ etag: '""' })).toEqual({ etag: '""' });
    expect(readValidators({ etag: 'W/"a"' })).toEqual({ weakEtag: 'W/"a"' });
  });

  test.each(['a', '"a', 'a"', "'a'", 'w/"a"', 'W/ "a"', '"a" "b"', '"a b"', '"a"b"', '', '"ā"'])(
    'the malformed tag %j counts as absent',
    (etag) => {
      expect(readValidators({ etag })).toEqual({});
    },
  );

  test('a tag that is too long counts as absent', () => {
    const tag = (chars: number) => `"${'x'.repeat(chars - 2)}"`;
    expect(readValidators({ etag: tag(MAX_ETAG_CHARS) })).toEqual({ etag: tag(MAX_ETAG_CHARS) });
    expect(readValidators({ etag: tag(MAX_ETAG_CHARS + 1) })).toEqual({});
  });

  test('two different tags make the answer unusable', () => {
    expect(() => readValidators({ etag: ['"a"', '"b"'] })).toThrow(
      expect.objectContaining({ code: 'malformed-response' }),
    );
  });

  test.each([
    ['a second before the answer was made', SECOND_LATER, true],
    ['in the same second', DAY, false],
    ['without a Date', undefined, false],
    ['with a malformed Date', 'yesterday', false],
    ['after the answer was made', 'Sat, 05 Nov 1994 00:00:00 GMT', false],
  ])('a modification %s: strong is %s', (_, date, strong) => {
    const headers = { 'last-modified': DAY, ...(date === undefined ? {} : { date }) };
    const validators = readValidators(headers);
    expect(validators).toEqual({ lastModified: DAY_MS, lastModifiedIsStrong: strong });
    expect(canPin(validators)).toBe(strong);
  });

  test('only strong validators pin a version', () => {
    expect(canPin({ etag: '"a"' })).toBe(true);
    expect(canPin({ weakEtag: 'W/"a"' })).toBe(false);
    expect(canPin({})).toBe(false);
  });

  const date = { lastModified: 1000, lastModifiedIsStrong: true };
  const other = { lastModified: 2000, lastModifiedIsStrong: true };
  test.each<[Validators, Validators, string]>([
    [{ etag: '"a"' }, { etag: '"a"' }, 'same'],
    [{ etag: '"a"' }, { etag: '"b"' }, 'different'],
    [{ etag: '"a"' }, { etag: '"A"' }, 'different'],
    [{ etag: '"a"' }, { weakEtag: 'W/"a"' }, 'different'],
    [{ etag: '"a"' }, {}, 'unproven'],
    [{ etag: '"a"', ...date }, { etag: '"a"', ...other }, 'same'],
    [{ etag: '"a"', ...date }, date, 'unproven'],
    [date, date, 'same'],
    [date, { lastModified: 1000, lastModifiedIsStrong: false }, 'same'],
    [date, other, 'different'],
    [date, {}, 'unproven'],
    [date, { etag: '"a"', ...date }, 'different'],
    [date, { weakEtag: 'W/"a"', ...date }, 'different'],
    [{ weakEtag: 'W/"a"', ...date }, { weakEtag: 'W/"a"', ...date }, 'same'],
    [{ weakEtag: 'W/"a"', ...date }, { weakEtag: 'W/"b"', ...date }, 'different'],
    [{ weakEtag: 'W/"a"', ...date }, date, 'same'],
    [{ weakEtag: 'W/"a"', ...date }, { weakEtag: 'W/"a"' }, 'unproven'],
  ])('pinned to %j, an answer with %j is %s', (pinned, got, match) => {
    expect(matchVersion(pinned, got)).toBe(match);
  });

  test('tags in requests are compared strongly for ranges and weakly for caches', () => {
    const strong = { etag: '"a"' };
    const weak = { weakEtag: 'W/"a"' };
    expect(etagMatchesStrongly('"a"', strong)).toBe(true);
    expect(etagMatchesStrongly('W/"a"', strong)).toBe(false);
    expect(etagMatchesStrongly('W/"a"', weak)).toBe(false);
    expect(etagMatchesStrongly('"a"', weak)).toBe(false);
    expect(etagMatchesStrongly('"a"', {})).toBe(false);
    for (const tag of ['"a"', 'W/"a"']) {
      expect(etagMatchesWeakly(tag, strong)).toBe(true);
      expect(etagMatchesWeakly(tag, weak)).toBe(true);
      expect(etagMatchesWeakly(tag, { etag: '"b"' })).toBe(false);
      expect(etagMatchesWeakly(tag, {})).toBe(false);
    }
  });

  test('a list of tags may be `*`, or tags that contain commas', () => {
    expect(parseEtagList(' * ')).toBe('*');
    expect(parseEtagList('"a", W/"b,c" ,"d"')).toEqual(['"a"', 'W/"b,c"', '"d"']);
    expect(parseEtagList('')).toEqual([]);
  });
});
