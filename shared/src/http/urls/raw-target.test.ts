import { describe, expect, test } from '@jest/globals';
import { BegunLine, encodeRawTarget, hasRawTarget, MAX_TARGET_BYTES } from './raw-target.ts';

const bytes = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));
const text = (data: Uint8Array | undefined) =>
  data === undefined ? undefined : String.fromCharCode(...data);

describe('hasRawTarget', () => {
  const at = (request: string) => hasRawTarget(bytes(request), request.search(/[\x80-\xff]/));

  test.each([
    'GET /\xe9 HTTP/1.1\r\n',
    'GET /\xe9',
    '\r\n\r\nGET /\xe9 HTTP/1.1\r\n',
    'M-SEARCH /\xe9 HTTP/1.1\r\n',
    'GET \xe9 HTTP/1.1\r\n',
  ])('%j is a request with a raw byte in its target', (request) => {
    expect(at(request)).toBe(true);
  });

  test.each([
    ['a fault behind the target', 'GET / HTTP/1.1\xe9\r\n'],
    ['a fault in a field', 'GET / HTTP/1.1\r\nX\xe9: y\r\n'],
    ['a fault in a later request', 'GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /\xe9 HTTP/1.1\r\n'],
    ['a fault in the method', 'G\xe9T / HTTP/1.1\r\n'],
    ['the rest of a target', 'xyz\xe9 HTTP/1.1\r\n'],
    ['a body, and a request behind it', 'GET /body GET /\xe9 HTTP/1.1\r\n'],
    ['a target that is too long', `GET /${'x'.repeat(MAX_TARGET_BYTES)}\xe9`],
  ])('%s does not count as a raw target', (_, request) => {
    expect(at(request)).toBe(false);
  });

  test('a fault at an ASCII byte, or outside the bytes, does not count', () => {
    expect(hasRawTarget(bytes('GET /a HTTP/1.1'), 5)).toBe(false);
    expect(hasRawTarget(bytes('GET /\xe9'), 6)).toBe(false);
  });
});

describe('encodeRawTarget', () => {
  test.each([
    ['GET /caf\xc3\xa9 HTTP/1.1\r\nX: \xe9\r\n\r\n', 'GET /caf%C3%A9 HTTP/1.1\r\nX: \xe9\r\n\r\n'],
    ['\r\nGET /\xff\x80 HTTP/1.0\r\n', '\r\nGET /%FF%80 HTTP/1.0\r\n'],
    ['GET /%\xe9%41\r\n', 'GET /%%E9%41\r\n'],
    ['GET /\xe9\nX', 'GET /%E9\nX'],
  ])('%j becomes %j', (request, encoded) => {
    expect(text(encodeRawTarget(bytes(request)))).toBe(encoded);
  });

  test('waits for the end of the target', () => {
    expect(encodeRawTarget(bytes('GET /\xe9'))).toBeUndefined();
    expect(encodeRawTarget(bytes('GET'))).toBeUndefined();
  });
});

describe('BegunLine', () => {
  const of = (...packets: string[]) => {
    const line = new BegunLine();
    for (const packet of packets) line.add(bytes(packet));
    return text(line.bytes);
  };

  test.each([
    ['pieces', ['GE', 'T /ca', 'f'], 'GET /caf'],
    ['empty lines before it', ['\r', '\n\r\nGE', 'T /'], 'GET /'],
    ['nothing', [], ''],
    [
      'the longest line',
      ['GET /', 'x'.repeat(MAX_TARGET_BYTES - 5)],
      `GET /${'x'.repeat(MAX_TARGET_BYTES - 5)}`,
    ],
  ] as [string, string[], string][])('keeps %s', (_, packets, kept) => {
    expect(of(...packets)).toBe(kept);
  });

  test.each([
    ['ended', ['GET / HTTP/1.1\r', '\n', 'X: y']],
    ['become too long', ['GET /', 'x'.repeat(MAX_TARGET_BYTES), 'y']],
  ] as [string, string[]][])('keeps nothing of a line that has %s', (_, packets) => {
    expect(of(...packets)).toBeUndefined();
  });

  test('starts again with the next request', () => {
    const line = new BegunLine();
    line.add(bytes('GET / HTTP/1.1\r\n'));
    line.restart();
    line.add(bytes('GET /b'));
    expect(text(line.bytes)).toBe('GET /b');
  });
});
