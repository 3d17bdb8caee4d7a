import { describe, expect, test } from '@jest/globals';
import type { Headers } from '../fields/headers.ts';
import type { Validators } from '../fields/validators.ts';
import { type Answer, decideAnswer } from './answer.ts';

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT';
const BEFORE = 'Sun, 06 Nov 1994 08:49:36 GMT';
const AFTER = 'Sun, 06 Nov 1994 08:49:38 GMT';
const BOTH: Validators = {
  etag: '"a"',
  lastModified: Date.UTC(1994, 10, 6, 8, 49, 37),
  lastModifiedIsStrong: true,
};
const { etag: _, ...DATED } = BOTH;
const RANGE = { range: 'bytes=2-4' };

function answer(headers: Headers, validators: Validators = BOTH, method = 'GET'): Answer {
  return decideAnswer(method, headers, { length: 10, validators });
}
const kindOf = (...args: Parameters<typeof answer>) => answer(...args).kind;

const FAILED = 'precondition-failed';
const SAME = 'not-modified';

describe('decideAnswer', () => {
  test('sends the whole file if nothing else is requested', () => {
    expect(answer({})).toEqual({ kind: 'whole' });
    expect(answer({}, {})).toEqual({ kind: 'whole' });
  });

  test('sends the requested ranges', () => {
    expect(answer({ range: 'bytes=2-4, 8-' })).toEqual({
      kind: 'ranges',
      ranges: [
        { start: 2, end: 5 },
        { start: 8, end: 10 },
      ],
      outOfOrder: false,
    });
  });

  // RFC 9110 13.2.2, step by step.
  test.each<[string, Headers, string]>([
    ['1. If-Match that holds', { 'if-match': '"x", "a"' }, 'whole'],
    ['1. If-Match: any', { 'if-match': '*' }, 'whole'],
    ['1. If-Match that fails', { 'if-match': '"x", "y"' }, FAILED],
    ['1. If-Match is strong', { 'if-match': 'W/"a"' }, FAILED],
    ['1. If-Match without a tag', { 'if-match': '' }, FAILED],
    [
      '1. If-Match makes 2 not count',
      { 'if-match': '"a"', 'if-unmodified-since': BEFORE },
      'whole',
    ],
    ['1. before 3', { 'if-match': '"x"', 'if-none-match': '"a"' }, FAILED],
    ['1. before 4', { 'if-match': '"x"', 'if-modified-since': DATE }, FAILED],
    ['2. If-Unmodified-Since, the same date', { 'if-unmodified-since': DATE }, 'whole'],
    ['2. If-Unmodified-Since, later', { 'if-unmodified-since': AFTER }, 'whole'],
    ['2. If-Unmodified-Since, earlier', { 'if-unmodified-since': BEFORE }, FAILED],
    ['2. If-Unmodified-Since that is not a date', { 'if-unmodified-since': 'yesterday' }, 'whole'],
    ['2. before 3', { 'if-unmodified-since': BEFORE, 'if-none-match': '"a"' }, FAILED],
    ['3. If-None-Match that matches', { 'if-none-match': '"x", "a"' }, SAME],
    ['3. If-None-Match is weak', { 'if-none-match': 'W/"a"' }, SAME],
    ['3. If-None-Match: any', { 'if-none-match': '*' }, SAME],
    ['3. If-None-Match of another version', { 'if-none-match': '"x"' }, 'whole'],
    [
      '3. If-None-Match makes 4 not count',
      { 'if-none-match': '"x"', 'if-modified-since': DATE },
      'whole',
    ],
    ['4. If-Modified-Since, the same date', { 'if-modified-since': DATE }, SAME],
    ['4. If-Modified-Since, later', { 'if-modified-since': AFTER }, SAME],
    ['4. If-Modified-Since, earlier', { 'if-modified-since': BEFORE }, 'whole'],
    ['4. If-Modified-Since that is not a date', { 'if-modified-since': '0' }, 'whole'],
    ['1 and 3 both hold', { 'if-match': '"a"', 'if-none-match': '"x"' }, 'whole'],
    ['1 holds, 3 says it is known', { 'if-match': '"a"', 'if-none-match': '"a"' }, SAME],
  ])('%s', (_name, headers, kind) => {
    expect(kindOf(headers)).toBe(kind);
    // 5. A Range does not change the outcome of the earlier steps.
    expect(kindOf({ ...headers, ...RANGE })).toBe(kind === 'whole' ? 'ranges' : kind);
    expect(kindOf(headers, BOTH, 'HEAD')).toBe(kind);
  });

  test.each<[string, Headers]>([
    ['If-Match', { 'if-match': '"a"' }],
    ['If-Unmodified-Since', { 'if-unmodified-since': BEFORE }],
    ['If-None-Match', { 'if-none-match': '"a"' }],
    ['If-Modified-Since', { 'if-modified-since': DATE }],
  ])('%s proves nothing about a file without validators', (name, headers) => {
    expect(kindOf(headers, {})).toBe(name === 'If-Match' ? FAILED : 'whole');
  });

  test.each<[string, Headers, Validators, string]>([
    ['earlier', { 'if-modified-since': BEFORE }, {}, 'whole'],
    ['the same', { 'if-modified-since': DATE }, {}, SAME],
    ['later', { 'if-modified-since': AFTER }, {}, SAME],
    ['later, and a tag', { 'if-modified-since': AFTER }, { etag: '"a"' }, SAME],
    ['later, and another tag', { 'if-modified-since': AFTER, 'if-none-match': '"b"' }, {}, 'whole'],
    ['earlier than Last-Modified', { 'if-modified-since': BEFORE }, DATED, 'whole'],
    ['as a limit', { 'if-unmodified-since': BEFORE }, {}, 'whole'],
    ['for a range', { ...RANGE, 'if-range': AFTER }, {}, 'whole'],
  ])(
    'a date is compared with the response only without Last-Modified: %s',
    (_, headers, v, kind) => {
      const generatedBy = v.lastModified === undefined ? DATED.lastModified : 0;
      expect(decideAnswer('GET', headers, { length: 10, validators: v, generatedBy }).kind).toBe(
        kind,
      );
    },
  );

  test.each<[string, Validators, string]>([
    ['"a"', BOTH, 'ranges'],
    [' "a" ', BOTH, 'ranges'],
    ['"b"', BOTH, 'whole'],
    ['W/"a"', BOTH, 'whole'],
    ['W/"a"', { weakEtag: 'W/"a"' }, 'whole'],
    ['"a"', DATED, 'whole'],
    [DATE, BOTH, 'ranges'],
    [DATE, DATED, 'ranges'],
    [DATE, { ...DATED, lastModifiedIsStrong: false }, 'whole'],
    [BEFORE, DATED, 'whole'],
    [AFTER, DATED, 'whole'],
    ['', BOTH, 'whole'],
    ['a', BOTH, 'whole'],
    ['*', BOTH, 'whole'],
  ])('If-Range %j of a file with %j: %s', (ifRange, validators, kind) => {
    expect(kindOf({ ...RANGE, 'if-range': ifRange }, validators)).toBe(kind);
  });

  test('If-Range without a Range is ignored', () => {
    expect(kindOf({ 'if-range': '"b"' })).toBe('whole');
  });

  test('the answer to HEAD describes the whole file, whatever the Range', () => {
    expect(kindOf(RANGE, BOTH, 'HEAD')).toBe('whole');
    expect(kindOf({ range: 'bytes=99-' }, BOTH, 'HEAD')).toBe('whole');
  });

  test('a range past the end is unsatisfiable, unless If-Range shows another version', () => {
    expect(kindOf({ range: 'bytes=10-' })).toBe('unsatisfiable');
    expect(kindOf({ range: 'bytes=-0' })).toBe('unsatisfiable');
    expect(kindOf({ range: 'bytes=10-', 'if-range': '"b"' })).toBe('whole');
  });

  test('a malformed Range is ignored', () => {
    expect(kindOf({ range: 'bytes=5-4' })).toBe('whole');
    expect(kindOf({ range: 'lines=1-2' })).toBe('whole');
  });

  test('a request with too many ranges gets the whole file, unless the client already has it', () => {
    const range = `bytes=${Array.from({ length: 40 }, (_value, i) => `${2 * i}-${2 * i}`).join(',')}`;
    const file = { length: 1000, validators: BOTH };
    expect(decideAnswer('GET', { range }, file).kind).toBe('whole');
    expect(decideAnswer('GET', { range, 'if-none-match': '"a"' }, file).kind).toBe(SAME);
  });

  test('parts may come in any order if the client asks for that', () => {
    const prefer = 'delivery=out-of-order';
    expect(answer({ range: 'bytes=0-', prefer })).toMatchObject({ outOfOrder: true });
    expect(answer({ range: 'bytes=0-', prefer: 'respond-async' })).toMatchObject({
      outOfOrder: false,
    });
    // A 206 is possible only with a Range.
    expect(answer({ prefer })).toEqual({ kind: 'whole' });
  });

  test('several lines of a field are read as one', () => {
    expect(kindOf({ 'if-none-match': ['"x"', '"a"'] })).toBe(SAME);
  });
});
