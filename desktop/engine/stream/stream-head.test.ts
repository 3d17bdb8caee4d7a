import { describe, expect, test } from '@jest/globals';
import { isMillraceError } from '@millrace/shared/base/errors';
import { type StreamedFile, streamHead, streamType } from './stream-head.ts';

const FILE: StreamedFile = {
  name: 'film.mp4',
  length: 1000,
  contentType: 'video/mp4',
  etag: '"tag"',
};

describe('answers to players', () => {
  test('a plain GET gets the whole file', () => {
    const { status, headers, body } = streamHead('GET', {}, FILE);
    expect(status).toBe(200);
    expect(body).toEqual({ start: 0, end: 1000 });
    expect(headers).toMatchObject({
      'content-length': '1000',
      'content-type': 'video/mp4',
      'accept-ranges': 'bytes',
      'content-disposition': 'inline; filename=film.mp4',
    });
    expect(Object.keys(headers).some((name) => name.startsWith('access-control'))).toBe(false);
  });

  test('HEAD gets the same header and no body, whatever range it names', () => {
    const { headers } = streamHead('GET', {}, FILE);
    const head = streamHead('HEAD', { range: 'bytes=0-9' }, FILE);
    expect(head).toEqual({ status: 200, headers, body: undefined });
  });

  test.each([
    ['bytes=0-9', 'bytes 0-9/1000', 0, 10],
    ['bytes=990-', 'bytes 990-999/1000', 990, 1000],
    ['bytes=990-5000', 'bytes 990-999/1000', 990, 1000],
    ['bytes=-1', 'bytes 999-999/1000', 999, 1000],
    ['bytes=0-', 'bytes 0-999/1000', 0, 1000],
  ])('Range: %s gets a 206 with its bytes', (range, contentRange, start, end) => {
    const { status, headers, body } = streamHead('GET', { range }, FILE);
    expect(status).toBe(206);
    expect(headers['content-range']).toBe(contentRange);
    expect(headers['content-length']).toBe(String(end - start));
    expect(body).toEqual({ start, end });
  });

  test('a range past the end gets a 416 with the length', () => {
    const { status, headers, body } = streamHead('GET', { range: 'bytes=1000-' }, FILE);
    expect(status).toBe(416);
    expect(headers['content-range']).toBe('bytes */1000');
    expect(body).toBeUndefined();
  });

  test.each(['bytes=0-1,5-6', 'lines=1-2', 'bytes=9-1', `bytes=${'1-2,'.repeat(2000)}`])(
    'a Range that is not one valid range gets the whole file',
    (range) => {
      expect(streamHead('GET', { range }, FILE).status).toBe(200);
    },
  );

  test('If-Range with an older version gets the whole new one', () => {
    const range = 'bytes=5-';
    expect(streamHead('GET', { range, 'if-range': '"tag"' }, FILE).status).toBe(206);
    expect(streamHead('GET', { range, 'if-range': '"old"' }, FILE).status).toBe(200);
  });

  test('a file of unknown length is served without ranges', () => {
    const file = { ...FILE, length: undefined };
    const { status, headers, body } = streamHead('GET', { range: 'bytes=5-' }, file);
    expect(status).toBe(200);
    expect(body).toEqual({ start: 0, end: undefined });
    expect(headers).not.toHaveProperty('content-length');
    expect(headers).not.toHaveProperty('accept-ranges');
  });

  test('an empty file has no bytes and no ranges', () => {
    const file = { ...FILE, length: 0 };
    expect(streamHead('GET', {}, file)).toMatchObject({ status: 200, body: { start: 0, end: 0 } });
    expect(streamHead('GET', { range: 'bytes=0-' }, file).status).toBe(416);
  });

  test.each(['POST', 'OPTIONS', 'PUT', ''])('%s is refused', (method) => {
    let thrown: unknown;
    try {
      streamHead(method, {}, FILE);
    } catch (error) {
      thrown = error;
    }
    expect(isMillraceError(thrown, 'method-not-allowed')).toBe(true);
  });
});

describe('media types', () => {
  test.each([
    ['x', 'video/webm; codecs="vp8, vorbis"', 'video/webm; codecs="vp8, vorbis"'],
    ['film.MKV', 'application/octet-stream', 'video/matroska'],
    ['film.mkv', undefined, 'video/matroska'],
    ['page.html', 'text/html', 'application/octet-stream'],
    ['a.mp3', 'text/html', 'audio/mpeg'],
    ['image.svg', 'image/svg+xml', 'application/octet-stream'],
    ['x', 'video/mp4\r\nset-cookie: a=b', 'application/octet-stream'],
    ['mp4', undefined, 'application/octet-stream'],
    ['x.constructor', undefined, 'application/octet-stream'],
  ])('%s, stated as %s: %s', (name, said, type) => {
    expect(streamType(name, said)).toBe(type);
  });
});
