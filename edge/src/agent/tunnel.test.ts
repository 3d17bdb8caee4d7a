import { describe, expect, test } from '@jest/globals';
import type { OriginPause } from '@millrace/shared/cdn/chunks/origin-pause';
import type { Headers } from '@millrace/shared/http/fields/headers';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { isAnsweredBy, isEncodedPart, tunnelHead, tunnelRequestHeaders } from './tunnel.ts';

/** Makes the client's head from an answer of the origin. @param asked header of the request */
function head(status: number, headers: Headers, asked: Headers = {}) {
  const response = { status, headers, url: new URL('http://a.example/f') } as HttpResponse;
  return tunnelHead(response, asked, {} as OriginPause, 0);
}
const refused = (code: string) => expect.objectContaining({ code });

describe('a request that is passed through', () => {
  const RESUMES = { range: 'bytes=9-', 'if-range': '"x"', 'if-none-match': '"y"' };

  test('asks for the range of the client, under its conditions', () => {
    expect(tunnelRequestHeaders('GET', { ...RESUMES, cookie: 'c' })).toEqual(RESUMES);
  });

  test('names the types that the client accepts, if they are not too many', () => {
    const accept = 'image/webp, */*';
    expect(tunnelRequestHeaders('HEAD', { accept, 'accept-language': 'de' })).toEqual({ accept });
    expect(tunnelRequestHeaders('GET', { accept: 'a/b, '.repeat(205) })).toEqual({});
  });

  test('asks for no range of an encoded file, and keeps the conditions that are not about one', () => {
    expect(tunnelRequestHeaders('GET', RESUMES, false)).toEqual({ 'if-none-match': '"y"' });
  });
});

test('an answer that is passed through has what its origin lets pages of other sites do', () => {
  const fields = { 'access-control-allow-origin': '*', 'timing-allow-origin': '*' };
  const others = { 'access-control-allow-credentials': 'true' };
  for (const status of [200, 304]) {
    expect(head(status, { ...fields, ...others })).toEqual({ status, headers: fields });
  }
});

describe('a part that is the whole file', () => {
  const WHOLE = { 'content-range': 'bytes 0-8/9', 'content-length': '9' };

  test('answers a client that has asked for no part', () => {
    expect(head(206, WHOLE)).toEqual({ status: 200, headers: { 'content-length': '9' } });
  });

  test('stays a part for a client that has asked for it', () => {
    expect(head(206, WHOLE, { range: 'bytes=0-' }).status).toBe(206);
  });

  test.each([
    { ...WHOLE, 'content-range': 'bytes 0-8/10' },
    { ...WHOLE, 'content-range': 'bytes 1-9/9' },
    { ...WHOLE, 'content-range': 'bytes 0-8/*' },
    { ...WHOLE, 'content-length': '8' },
    { 'content-range': 'bytes 0-8/9' },
  ])('must be so for certain: %j', (headers) => {
    expect(() => head(206, headers)).toThrow(refused('wrong-range'));
  });

  test('is the whole encoded file for a client that has asked for no part, and no part of it', () => {
    const encoded = { ...WHOLE, 'content-encoding': 'gzip' };
    const { status, headers } = head(206, encoded);
    expect([status, headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(headers['content-range']).toBeUndefined();
    expect(() => head(206, encoded, { range: 'bytes=0-' })).toThrow(refused('wrong-encoding'));
  });
});

describe('an encoded answer', () => {
  const ENCODED = {
    'content-encoding': 'gzip',
    'content-length': '12',
    'accept-ranges': 'bytes',
    etag: '"x"',
  };

  test('is passed on whole with its coding, and nothing in it lets a client ask for a part', () => {
    expect(head(200, ENCODED)).toEqual({
      status: 200,
      headers: {
        'content-encoding': 'gzip',
        'content-length': '12',
        'accept-ranges': 'none',
        etag: 'W/"x"',
      },
    });
    expect(head(200, { ...ENCODED, etag: 'W/"x"' }).headers.etag).toBe('W/"x"');
    expect(head(200, { 'content-encoding': 'br' }).headers).toEqual({
      'content-encoding': 'br',
      'accept-ranges': 'none',
    });
  });

  test('that is a part of the file is refused, though it is the range that was asked for', () => {
    const part = { ...ENCODED, 'content-range': 'bytes 0-11/50' };
    expect(() => head(206, part, { range: 'bytes=0-11' })).toThrow(refused('wrong-encoding'));
    expect(isEncodedPart({ status: 206, headers: part })).toBe(true);
    expect(isEncodedPart({ status: 200, headers: part })).toBe(false);
    expect(isEncodedPart({ status: 206, headers: {} })).toBe(false);
  });

  test('that is a part under status 200 is refused', () => {
    const part = { ...ENCODED, 'content-range': 'bytes 0-11/50' };
    expect(() => head(200, part)).toThrow(refused('wrong-range'));
  });

  test('with a coding that has parameters is refused', () => {
    expect(() => head(200, { 'content-encoding': 'gzip;level=9' })).toThrow(
      refused('wrong-encoding'),
    );
  });

  test('does not count as encoded if the field names the encoding of a text', () => {
    const plain = { ...ENCODED, 'content-encoding': 'UTF-8' };
    const { 'content-encoding': _, ...passed } = ENCODED;
    expect(head(200, plain).headers).toEqual(passed);
  });
});

test.each<[number, Record<string, string>, Record<string, string>, boolean]>([
  [200, {}, {}, true],
  [200, {}, { accept: 'image/webp' }, true],
  [200, { vary: 'Origin, Accept' }, {}, true],
  [200, { vary: 'Origin, Accept' }, { accept: '*/*' }, true],
  [200, { vary: 'Origin, Accept' }, { accept: 'image/webp' }, false],
  [200, { vary: '*' }, { accept: 'image/webp' }, false],
  [200, { vary: 'Accept-Encoding' }, { accept: 'image/webp' }, true],
  [200, {}, { range: 'bytes=5-' }, true],
  [206, {}, { accept: 'image/webp' }, true],
  [206, {}, { range: 'bytes=5-' }, false],
  [206, {}, { 'if-none-match': '"a"' }, false],
])(
  'an answer %i with %j to the edge is one to a client with %j: %s',
  (status, headers, asked, is) => {
    expect(isAnsweredBy({ status, headers }, asked)).toBe(is);
  },
);
