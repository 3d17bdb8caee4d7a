import { describe, expect, test } from '@jest/globals';
import type { Headers } from '../fields/headers.ts';
import { passedFields, withoutWholeBody } from './passed-fields.ts';

const URL = 'https://example.com/file';
const passed = (headers: Headers, whole = true) => passedFields(headers, URL, whole);

describe('a field of an origin', () => {
  test.each<[string, string]>([
    ['x-amz-version-id', '3sL4kq'],
    ['content-language', 'de'],
    ['content-location', '/file.de'],
    ['vary', 'Accept-Language'],
    ['date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['x-goog-hash', 'crc32c=abc'],
    ['cdn-cache-control', 'max-age=60'],
    ['x-frame-options', 'DENY'],
  ])('that describes the file is passed on: %s', (name, value) => {
    expect(passed({ [name]: value })).toEqual({ [name]: value });
  });

  test.each([
    ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'alt-svc'],
    ...['content-length', 'content-range', 'content-encoding', 'content-digest', 'age', 'via'],
    ...['set-cookie', 'www-authenticate', 'proxy-authenticate', 'access-control-allow-credentials'],
    ...['content-security-policy', 'x-content-type-options', 'strict-transport-security'],
    ...['clear-site-data', 'service-worker-allowed', 'refresh', 'nel', 'report-to', 'accept-ch'],
    ...[
      'x-accel-redirect',
      'x-sendfile',
      'location',
      'sec-session-registration',
      'use-as-dictionary',
    ],
    ...['cross-origin-opener-policy', 'millrace-digest', 'link'],
  ])('that would hold for more than the file is kept back: %s', (name) => {
    expect(passed({ [name]: 'value' })).toEqual({});
  });

  test('that Connection names is of the connection', () => {
    const headers = { connection: 'close, X-Hop', 'x-hop': '1', 'x-end': '2' };
    expect(passed(headers)).toEqual({ 'x-end': '2' });
  });

  test('in several lines becomes one list', () => {
    expect(passed({ 'x-list': ['a', 'b'] })).toEqual({ 'x-list': 'a, b' });
  });

  test('that cannot be sent on is left out, and so is a long one', () => {
    const headers = { 'x-a': 'a\u0001b', 'x-b': 'c'.repeat(4097), 'x c': 'd', 'x-e': 'e' };
    expect(passed(headers)).toEqual({ 'x-e': 'e' });
  });

  test('about the bytes of the message holds for the file only where it came whole', () => {
    const headers = { 'content-md5': 'rL0Y20zC+Fzt72VPzMSk2A==', etag: '"a"' };
    expect(passed(headers)).toEqual(headers);
    expect(passed(headers, false)).toEqual({ etag: '"a"' });
    const fields = passed(headers);
    withoutWholeBody(fields);
    expect(fields).toEqual({ etag: '"a"' });
  });
});

describe('many fields of an origin', () => {
  test('take bounded memory, and what the file needs has room first', () => {
    const junk = Array.from({ length: 500 }, (_, i) => [`x-${i}`, 'v'.repeat(200)]);
    const headers = { ...Object.fromEntries(junk), etag: '"a"', 'cache-control': 'max-age=1' };
    const fields = passed(headers);
    expect(fields).toMatchObject({ etag: '"a"', 'cache-control': 'max-age=1' });
    const chars = Object.entries(fields).reduce((sum, [n, v]) => sum + n.length + v.length, 0);
    expect(Object.keys(fields).length).toBeLessThanOrEqual(64);
    expect(chars).toBeLessThanOrEqual(12 * 1024);
  });
});
