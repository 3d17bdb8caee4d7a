import { describe, expect, test } from '@jest/globals';
import type { Headers } from '../fields/headers.ts';
import {
  checkIdentity,
  checkRangeAnswer,
  checkVersion,
  contentCoding,
  isMislabelledPart,
  judgeAnswer,
  judgeWhole,
  judgeWholeAsSent,
  namesOther,
  readContentLength,
} from './range-contract.ts';

const ASKED = { start: 100, end: 200 };
const PINNED = { length: 1000, validators: { etag: '"a"' } };
const GOOD: Headers = {
  'content-range': 'bytes 100-199/1000',
  'content-length': '100',
  etag: '"a"',
};
const check = (headers: Headers, asked = ASKED) => checkRangeAnswer(headers, asked, PINNED);

describe('the range contract', () => {
  test('an answer to a range without an end may end where the server likes, but tells the length', () => {
    const asked = { start: 0, end: Number.POSITIVE_INFINITY };
    const given = { 'content-length': '10', etag: '"a"' };
    const answer = (field: string) => checkRangeAnswer({ ...given, 'content-range': field }, asked);
    expect(answer('bytes 0-9/10')).toMatchObject({ range: { start: 0, end: 10 }, total: 10 });
    expect(answer('bytes 0-9/50')).toMatchObject({ range: { start: 0, end: 10 }, total: 50 });
    for (const field of ['bytes 0-9/*', 'bytes 1-10/50']) {
      expect(() => answer(field)).toThrow(expect.objectContaining({ code: 'wrong-range' }));
    }
  });

  test('an answer that keeps it gives the range, length and validators of the body', () => {
    expect(check(GOOD)).toEqual({ range: ASKED, total: 1000, validators: { etag: '"a"' } });
  });

  test.each<[string, Headers]>([
    ['without a Content-Length', { 'content-length': undefined }],
    ['with the identity named', { 'content-encoding': 'Identity' }],
    ['with an empty encoding', { 'content-encoding': '' }],
    ['with its fields twice', { 'content-range': ['bytes 100-199/1000', 'bytes 100-199/1000'] }],
    ['without saying how long the file is', { 'content-range': 'bytes 100-199/*' }],
  ])('an answer %s keeps it', (_, fields) => {
    expect(check({ ...GOOD, ...fields }).range).toEqual(ASKED);
  });

  test('the file may end before the requested range does', () => {
    const headers = { ...GOOD, 'content-range': 'bytes 950-999/1000', 'content-length': '50' };
    expect(check(headers, { start: 950, end: 1050 }).range).toEqual({ start: 950, end: 1000 });
  });

  test('without a pinned version any version is accepted', () => {
    const headers = { 'content-range': 'bytes 100-199/5000', etag: '"other"' };
    expect(checkRangeAnswer(headers, ASKED).total).toBe(5000);
  });

  test.each<[string, string, Headers]>([
    ['wrong-encoding', 'is compressed', { 'content-encoding': 'gzip' }],
    ['wrong-encoding', 'is compressed twice', { 'content-encoding': ['identity', 'br'] }],
    ['malformed-response', 'has no Content-Range', { 'content-range': undefined }],
    ['malformed-response', 'has a malformed Content-Range', { 'content-range': 'bytes 100-199' }],
    [
      'malformed-response',
      'says that no range can be satisfied',
      { 'content-range': 'bytes */1000' },
    ],
    [
      'malformed-response',
      'has two different ranges',
      { 'content-range': ['bytes 100-199/1000', 'bytes 0-99/1000'] },
    ],
    ['malformed-response', 'has two lengths', { 'content-length': ['100', '99'] }],
    ['malformed-response', 'has a malformed length', { 'content-length': '1e2' }],
    ['malformed-response', 'has two tags', { etag: ['"a"', '"b"'] }],
    ['wrong-range', 'begins too early', { 'content-range': 'bytes 99-199/1000' }],
    ['wrong-range', 'begins too late', { 'content-range': 'bytes 101-199/1000' }],
    ['wrong-range', 'ends too early', { 'content-range': 'bytes 100-198/1000' }],
    ['wrong-range', 'ends too late', { 'content-range': 'bytes 100-200/1000' }],
    ['wrong-range', 'is the whole file', { 'content-range': 'bytes 0-999/1000' }],
    ['wrong-range', 'ends too early, length unknown', { 'content-range': 'bytes 100-198/*' }],
    ['wrong-length', 'has a longer body', { 'content-length': '101' }],
    ['wrong-length', 'has a shorter body', { 'content-length': '99' }],
    ['wrong-length', 'has the length of the file', { 'content-length': '1000' }],
    ['version-changed', 'is of a longer file', { 'content-range': 'bytes 100-199/1001' }],
    ['version-changed', 'has another tag', { etag: '"b"' }],
    ['version-changed', 'has a weak tag', { etag: 'W/"a"' }],
    ['version-unproven', 'has no tag', { etag: undefined }],
    ['version-unproven', 'has a malformed tag', { etag: 'a' }],
  ])('%s: an answer that %s', (code, _, fields) => {
    expect(() => check({ ...GOOD, ...fields })).toThrow(expect.objectContaining({ code }));
  });

  test('a file that became shorter is reported as a changed version, not as a wrong range', () => {
    const headers = { ...GOOD, 'content-range': 'bytes 100-149/150', 'content-length': '50' };
    expect(() => check(headers)).toThrow(expect.objectContaining({ code: 'version-changed' }));
  });

  test('the error names the requested range and the received one', () => {
    expect(() => check({ ...GOOD, 'content-range': 'bytes 0-99/1000' })).toThrow(
      expect.objectContaining({
        detail: 'asked for bytes 100-199, got Content-Range "bytes 0-99/1000"',
      }),
    );
  });

  test('the version of a whole file is checked as well', () => {
    const { validators } = PINNED;
    expect(() => checkVersion(PINNED, 1000, validators)).not.toThrow();
    expect(() => checkVersion(PINNED, undefined, validators)).not.toThrow();
    expect(() => checkVersion(PINNED, 999, validators)).toThrow(
      expect.objectContaining({
        code: 'version-changed',
        detail: 'length 1000 bytes became 999 bytes',
      }),
    );
    expect(() => checkVersion(PINNED, 1000, {})).toThrow(
      expect.objectContaining({ code: 'version-unproven' }),
    );
  });

  test('an encoded body is refused, and the error names the encoding', () => {
    expect(() => checkIdentity({})).not.toThrow();
    expect(() => checkIdentity({ 'content-encoding': ' GZIP ' })).toThrow(
      expect.objectContaining({ code: 'wrong-encoding', detail: 'gzip' }),
    );
  });

  test('an encoded whole body counts by its bytes as they are sent, if its coding has a name', () => {
    const gzip = { 'content-encoding': 'GZip', 'content-length': '12', etag: '"x"' };
    expect(() => judgeWhole(gzip)).toThrow(expect.objectContaining({ code: 'wrong-encoding' }));
    const validators = { etag: '"x"' };
    expect(judgeWholeAsSent(gzip)).toEqual({ kind: 'whole', length: 12, validators });
    expect(contentCoding(gzip)).toBe('gzip');
    expect(contentCoding({ 'content-encoding': ['gzip', 'br'] })).toBe('gzip, br');
    expect(contentCoding({ 'content-encoding': 'UTF-8' })).toBeUndefined();
    for (const odd of ['gzip;q=1', 'gzip, ', 'a b', 'x'.repeat(41), Array(9).fill('gzip')]) {
      const headers = { ...gzip, 'content-encoding': odd };
      expect(() => judgeWholeAsSent(headers)).toThrow(
        expect.objectContaining({ code: 'wrong-encoding' }),
      );
    }
  });

  test.each([
    [undefined, undefined],
    ['0', 0],
    [' 12 ', 12],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('Content-Length %j is %j', (field, length) => {
    expect(readContentLength({ 'content-length': field })).toBe(length);
  });

  test.each(['', '-1', '+1', '1.0', '0x1', '1, 1', '1 2', '9007199254740992', '1'.repeat(17)])(
    'Content-Length %j is refused',
    (field) => {
      expect(() => readContentLength({ 'content-length': field })).toThrow(
        expect.objectContaining({ code: 'malformed-response' }),
      );
    },
  );
});

describe('an answer to a range request', () => {
  const judge = (status: number, headers: Headers, pinned?: typeof PINNED) =>
    judgeAnswer(status, headers, ASKED, pinned);
  const code = (status: number, headers: Headers, pinned?: typeof PINNED) => {
    try {
      return judge(status, headers, pinned).kind;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const PARTS = { 'content-type': 'multipart/byteranges; boundary=b', etag: '"a"' };

  test('is the range, of the version in its header', () => {
    const version = { length: 1000, validators: { etag: '"a"' } };
    expect(judge(206, GOOD)).toEqual({ kind: 'range', range: ASKED, version });
  });

  test('may come in parts, which state the length of the file if nothing is pinned', () => {
    const judged = judge(206, PARTS, { ...PINNED, length: 150 });
    expect(judged).toMatchObject({ kind: 'parts', range: { start: 100, end: 150 }, boundary: 'b' });
    const first = { kind: 'first-parts', validators: { etag: '"a"' }, boundary: 'b' };
    expect(judge(206, PARTS)).toEqual(first);
  });

  test('is not taken for the whole file if its Content-Range says that it is a part', () => {
    const etag = '"a"';
    const part = { 'content-length': '100', 'content-range': 'bytes 0-99/1000', etag };
    expect(code(200, part)).toBe('wrong-range');
    expect(code(200, { 'content-range': 'bytes 0-99/1000' })).toBe('wrong-range');
    expect(code(200, { ...part, 'content-range': 'bytes 100-199/*' })).toBe('wrong-range');
    const whole = { 'content-length': '1000', 'content-range': 'bytes 0-999/1000', etag };
    for (const field of ['bytes 0-999/1000', 'bytes 0-99/1000', 'bytes */1000', 'nonsense']) {
      expect(judge(200, { ...whole, 'content-range': field })).toMatchObject({ length: 1000 });
    }
  });

  test('may be the whole file or show an empty file, for the first request only', () => {
    const whole = { 'content-length': '1000', etag: '"a"' };
    expect(judge(200, whole)).toMatchObject({ kind: 'whole', length: 1000 });
    expect(code(200, whole, PINNED)).toBe('range-ignored');
    expect(code(200, { ...whole, etag: '"b"' }, PINNED)).toBe('version-changed');
    expect(code(416, { 'content-range': 'bytes */0' })).toBe('empty');
    expect(code(416, { 'content-range': 'bytes */0' }, PINNED)).toBe('version-changed');
    expect(code(416, { 'content-range': 'bytes */70' })).toBe('range-ignored');
  });

  test.each([
    [404, 'origin-not-found'],
    [503, 'origin-busy'],
    [500, 'origin-error'],
    [204, 'origin-error'],
    [301, 'malformed-response'],
  ])('with status %d is an error: %s', (status, expected) => {
    expect(code(status, GOOD)).toBe(expected);
    expect(code(status, GOOD, PINNED)).toBe(expected);
  });

  test('of an unknown file length is refused', () => {
    expect(code(206, { ...GOOD, 'content-range': 'bytes 100-199/*' })).toBe('range-ignored');
  });
});

test.each<[number, Headers, boolean]>([
  [200, { etag: '"b"' }, true],
  [206, { etag: '"b"', 'content-range': 'bytes 100-199/1000' }, true],
  [200, { etag: 'W/"a"' }, true],
  [200, { 'content-type': 'text/html', 'content-length': '70' }, false],
  [206, { etag: '"a"', 'content-range': 'bytes 100-199/1005' }, false],
  [416, { 'content-range': 'bytes */70' }, true],
  [416, { 'content-range': 'bytes */1000' }, false],
  [416, {}, false],
])('an answer with status %d and %j names another version: %j', (status, headers, expected) => {
  expect(namesOther(status, headers, PINNED)).toBe(expected);
});

describe('a part with status 200', () => {
  const fields = { 'content-range': 'bytes 10-19/100', 'content-length': '10' };

  test.each(['bytes=10-19', 'bytes=90-200', 'bytes=90-'])('is one for %s', (asked) => {
    const isLast = asked !== 'bytes=10-19';
    const headers = isLast ? { ...fields, 'content-range': 'bytes 90-99/100' } : fields;
    expect(isMislabelledPart(headers, asked)).toBe(true);
  });

  test.each([
    ['nothing was asked for', fields, undefined],
    ['another part was asked for', fields, 'bytes=0-9'],
    ['it ends elsewhere', fields, 'bytes=10-29'],
    ['the body has another length', { ...fields, 'content-length': '100' }, 'bytes=10-19'],
    ['the body has no length', { 'content-range': 'bytes 10-19/100' }, 'bytes=10-19'],
    ['nobody knows the whole', { ...fields, 'content-range': 'bytes 10-19/*' }, 'bytes=10-19'],
    ['it is the whole', { 'content-range': 'bytes 0-9/10', 'content-length': '10' }, 'bytes=0-9'],
  ])('is none if %s', (_, headers, asked) => {
    expect(isMislabelledPart(headers, asked)).toBe(false);
  });
});
