import { describe, expect, test } from '@jest/globals';
import type { MillraceError } from '../../base/errors.ts';
import { judgePulled, pullFields } from './pull-answer.ts';
import type { PullAsk } from './pull-plan.ts';

const ask = (etag?: string): PullAsk => ({
  ...{ kind: 'ask', url: 'http://a.test/', range: { start: 10, end: 20 }, stored: 10 },
  ...{ seen: undefined, isProved: false },
  version: etag === undefined ? undefined : { etag },
});
const SOUND = { 'content-range': 'bytes 10-19/100', 'content-length': '10', etag: '"1"' };

test('a pull asks for a range, and for the version that it must be of', () => {
  expect(pullFields(ask())).toEqual({ range: 'bytes=10-19' });
  expect(pullFields(ask('"1"'))).toEqual({ range: 'bytes=10-19', 'if-range': '"1"' });
  const version = { lastModified: 0, lastModifiedIsStrong: true };
  expect(pullFields({ ...ask(), version })['if-range']).toBe('Thu, 01 Jan 1970 00:00:00 GMT');
});

describe('an answer to a pull', () => {
  test('is taken with exactly the range, of the version, and of any if none is known', () => {
    const version = (validators: object, length?: number) => ({ validators, length });
    expect(judgePulled(ask('"1"'), 206, SOUND)).toEqual(version({ etag: '"1"' }, 100));
    const weak = judgePulled(ask(), 206, { ...SOUND, etag: 'W/"1"' });
    expect(weak).toEqual(version({ weakEtag: 'W/"1"' }, 100));
    expect(judgePulled(ask(), 206, { 'content-range': 'bytes 10-19/*' })).toEqual(version({}));
  });

  describe('of a URL that has given bytes', () => {
    const seen = { of: '', since: 0, from: 0, length: 100 };
    const judged = (validators: object, headers: object, isProved = false) => {
      const after = { ...ask(), seen: { ...seen, validators }, isProved };
      try {
        return judgePulled(after, 206, { ...SOUND, ...headers }).length;
      } catch (error) {
        return (error as MillraceError).code;
      }
    };
    const longer = { 'content-range': 'bytes 10-19/101' };
    const none = { etag: undefined as unknown as string };
    const date = { ...none, 'last-modified': 'Thu, 01 Jan 1970 00:00:00 GMT' };

    test.each<[string, object, object, unknown]>([
      ['with its strong tag', { etag: '"1"' }, {}, 100],
      ['with another tag', { etag: '"0"' }, {}, 'version-changed'],
      ['with another weak tag', { weakEtag: 'W/"0"' }, { etag: 'W/"1"' }, 'version-changed'],
      ['of another length', {}, { ...none, ...longer }, 'version-changed'],
      ['with the same weak tag', { weakEtag: 'W/"1"' }, { etag: 'W/"1"' }, 'version-unproven'],
      ['with a date that was new then', { lastModified: 0 }, date, 'version-unproven'],
      ['with an old date', { lastModified: 0, lastModifiedIsStrong: true }, date, 100],
      ['without any version', {}, none, 'version-unproven'],
    ])('%s', (_, validators, headers, expected) => {
      expect(judged(validators, headers)).toBe(expected);
    });

    test.each([
      ['of the known length means a part that ends too far away', '*/100', 'range-not-satisfiable'],
      ['of another length means another version', '*/9', 'version-changed'],
    ])('416 %s', (_, stated, code) => {
      const after = { ...ask(), seen: { ...seen, validators: {} } };
      const headers = { 'content-range': `bytes ${stated}` };
      expect(() => judgePulled(after, 416, headers)).toThrow(expect.objectContaining({ code }));
      const fresh = () => judgePulled(ask(), 416, headers);
      expect(fresh).toThrow(expect.objectContaining({ code: 'range-not-satisfiable' }));
    });

    test('needs no proof if a digest tells in the end, but must not name another version', () => {
      expect(judged({}, none, true)).toBe(100);
      expect(judged({ weakEtag: 'W/"1"' }, { etag: 'W/"1"' }, true)).toBe(100);
      expect(judged({}, { ...none, ...longer }, true)).toBe('version-changed');
    });
  });

  test.each<[what: string, status: number, headers: Record<string, string>, code: string]>([
    ['of another version', 206, { ...SOUND, etag: '"2"' }, 'version-changed'],
    ['with a weak tag', 206, { ...SOUND, etag: 'W/"1"' }, 'version-changed'],
    ['without a tag', 206, { 'content-range': 'bytes 10-19/100' }, 'version-unproven'],
    ['of another place', 206, { ...SOUND, 'content-range': 'bytes 0-9/100' }, 'wrong-range'],
    ['of less', 206, { etag: '"1"', 'content-range': 'bytes 10-18/100' }, 'wrong-range'],
    ['of more', 206, { etag: '"1"', 'content-range': 'bytes 10-20/100' }, 'wrong-range'],
    [
      'at the end of the file',
      206,
      { etag: '"1"', 'content-range': 'bytes 10-14/15' },
      'range-not-satisfiable',
    ],
    ['with another length', 206, { ...SOUND, 'content-length': '9' }, 'wrong-length'],
    ['with a coding', 206, { ...SOUND, 'content-encoding': 'gzip' }, 'wrong-encoding'],
    ['in parts', 206, { 'content-type': 'multipart/byteranges; boundary=x' }, 'malformed-response'],
    ['behind the end', 416, { 'content-range': 'bytes */5' }, 'version-changed'],
    ['with the whole file', 200, { etag: '"1"' }, 'range-ignored'],
    ['with another whole file', 200, { etag: '"2"' }, 'version-changed'],
    ['that the file is not there', 404, {}, 'origin-not-found'],
    ['that a file of a depot is not complete', 409, {}, 'origin-denied'],
    ['of a broken server', 500, {}, 'origin-error'],
    ['with nothing new', 304, {}, 'malformed-response'],
  ])('%s is refused', (_, status, headers, code) => {
    expect(() => judgePulled(ask('"1"'), status, headers)).toThrow(
      expect.objectContaining({ code }),
    );
  });

  test('of a busy server tells how long to wait', () => {
    expect(() => judgePulled(ask(), 503, {}, 5000)).toThrow(
      expect.objectContaining({ code: 'origin-busy', retryAfterMs: 5000 }),
    );
  });
});
