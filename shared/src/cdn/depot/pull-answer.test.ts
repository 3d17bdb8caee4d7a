import { describe, expect, test } from '@jest/globals';
import { judgePulled, pullFields } from './pull-answer.ts';
import type { PullAsk } from './pull-plan.ts';

const ask = (etag?: string): PullAsk => ({
  ...{ kind: 'ask', url: 'http://a.test/', range: { start: 10, end: 20 } },
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
    expect(judgePulled(ask('"1"'), 206, SOUND)).toEqual({ etag: '"1"' });
    expect(judgePulled(ask(), 206, { ...SOUND, etag: 'W/"1"' })).toEqual({ weakEtag: 'W/"1"' });
    expect(judgePulled(ask(), 206, { 'content-range': 'bytes 10-19/*' })).toEqual({});
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
      'version-changed',
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
