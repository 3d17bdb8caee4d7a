import { describe, expect, test } from '@jest/globals';
import { parseBrokenHead } from './mended-head.ts';
import { parseMessageHead } from './message-head.ts';

const malformed = expect.objectContaining({ code: 'malformed-response' });
const OK = 'HTTP/1.1 206 Partial Content';
const RANGE = 'Content-Range: bytes 0-4/9';
const LENGTH = 'Content-Length: 5';

describe('parseBrokenHead', () => {
  test('reads a head that keeps the rules as it is', () => {
    const text = [OK, RANGE, LENGTH].join('\r\n');
    expect(parseBrokenHead(text)).toEqual(parseMessageHead(text));
    expect(parseBrokenHead(text).keepAlive).toBe(true);
  });

  test.each([
    ['lines that end without CR', `${OK}\n${RANGE}\n${LENGTH}`],
    ['a line break before the status line', `\r\n${OK}\r\n${RANGE}\r\n${LENGTH}`],
    ['two spaces in the status line', `HTTP/1.1  206 OK\r\n${RANGE}\r\n${LENGTH}`],
    ['a later minor version', `HTTP/1.2 206 OK\r\n${RANGE}\r\n${LENGTH}`],
    ['a protocol in lower case', `http/1.1 206 OK\r\n${RANGE}\r\n${LENGTH}`],
    ['the protocol of music streams', `ICY 206 OK\r\n${RANGE}\r\n${LENGTH}`],
    ['a line that is not a field', `${OK}\r\nno field\r\n${RANGE}\r\n${LENGTH}`],
    ['a field without a name', `${OK}\r\n: value\r\n${RANGE}\r\n${LENGTH}`],
    ['a space before a colon', `${OK}\r\n${RANGE}\r\nContent-Length : 5`],
    ['a length that is repeated', `${OK}\r\n${RANGE}\r\nContent-Length: 5, 5`],
    ['a length with a sign and zeros', `${OK}\r\n${RANGE}\r\nContent-Length: +0005`],
  ])('mends %s', (_what, text) => {
    const { status, headers, framing, keepAlive } = parseBrokenHead(text);
    expect([status, headers['content-range'], framing]).toEqual([
      206,
      'bytes 0-4/9',
      { kind: 'length', bytes: 5 },
    ]);
    // Bytes behind such an answer are never taken for the next one.
    expect(keepAlive).toBe(false);
  });

  test.each([
    ['bytes=0-4/9', 'bytes 0-4/9'],
    ['bytes: 0-4/9', 'bytes 0-4/9'],
    ['Bytes  0 - 4 / 9', 'bytes 0-4/9'],
    ['0-4/9', 'bytes 0-4/9'],
    ['bytes=0-4/*', 'bytes 0-4/*'],
    ['bytes=*/9', 'bytes */9'],
    // Other values stay as they are, and are refused by the reader of the field.
    ['items 0-4/9', 'items 0-4/9'],
    ['bytes 0-4', 'bytes 0-4'],
    ['bytes 0-4/9, bytes 5-8/9', 'bytes 0-4/9, bytes 5-8/9'],
  ])('reads the Content-Range "%s" of home-made servers', (field, plain) => {
    const text = `${OK}\r\nContent-Range: ${field}\r\n${LENGTH}`;
    expect(parseBrokenHead(text).headers['content-range']).toBe(plain);
    expect(parseBrokenHead(text.replaceAll('\r', '')).headers['content-range']).toBe(plain);
  });

  test('a connection whose body was coded in an unusual way is not used again', () => {
    const kept = (...codings: string[]) =>
      parseBrokenHead([OK, ...codings.map((c) => `Transfer-Encoding: ${c}`)].join('\r\n'))
        .keepAlive;
    expect([kept('Chunked'), kept('gzip, chunked'), kept('chunked', 'chunked')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('joins folded lines, and replaces control characters', () => {
    const { headers } = parseBrokenHead(`${OK}\r\nX-A: one\r\n two\r\nX-B: a\x01b\0c`);
    expect([headers['x-a'], headers['x-b']]).toEqual(['one two', 'a b c']);
  });

  test('lets the coding of a body override its length', () => {
    const text = `${OK}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked`;
    expect(parseBrokenHead(text).framing).toEqual({ kind: 'other' });
    const identity = `${OK}\r\nContent-Length: 5\r\nTransfer-Encoding: identity`;
    expect(parseBrokenHead(identity).framing).toEqual({ kind: 'length', bytes: 5 });
  });

  test.each([
    ['lengths that differ', `${OK}\r\nContent-Length: 5\r\nContent-Length: 6`],
    ['lengths that differ in one field', `${OK}\r\nContent-Length: 5, 6`],
    ['a negative length', `${OK}\r\nContent-Length: -1`],
    ['a status that is not a number', 'HTTP/1.1 abc OK'],
    ['an old protocol', 'HTTP/0.9 200 OK'],
    ['text', 'this is not HTTP'],
  ])('refuses %s', (_what, text) => {
    expect(() => parseBrokenHead(text)).toThrow(malformed);
  });
});
