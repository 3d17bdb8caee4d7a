import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MillraceError } from '../../base/errors.ts';
import { parseMessageHead } from './message-head.ts';

const malformed = expect.objectContaining({ code: 'malformed-response' });
const head = (...lines: string[]) => parseMessageHead(lines.join('\r\n'));
const OK = 'HTTP/1.1 206 Partial Content';

describe('parseMessageHead', () => {
  test('reads the head of an answer to a range request', () => {
    expect(
      head(OK, 'Content-Range: bytes 0-9/10', 'Content-Length:10', 'ETag: "a"', 'X-Empty:'),
    ).toEqual({
      status: 206,
      headers: {
        'content-range': 'bytes 0-9/10',
        'content-length': '10',
        etag: '"a"',
        'x-empty': '',
      },
      keepAlive: true,
      framing: { kind: 'length', bytes: 10 },
    });
  });

  test.each([
    ['HTTP/1.1 200 OK', 200],
    ['HTTP/1.1 200 ', 200],
    ['HTTP/1.1 200', 200],
    ['HTTP/1.0 404 Not Found', 404],
    ['HTTP/1.1 999 \xfcber', 999],
    ['HTTP/1.1 100 Continue', 100],
  ])('the status line %j is understood', (line, status) => {
    expect(head(line).status).toBe(status);
  });

  test.each([
    '',
    'HTTP/1.1',
    'HTTP/1.1 ',
    'HTTP/1.1 20',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 099 Low',
    'HTTP/1.1 abc',
    'HTTP/1.1  200 OK',
    'HTTP/1.1\t200 OK',
    'HTTP/1.1 200OK',
    ' HTTP/1.1 200 OK',
    'http/1.1 200 OK',
    'HTTP/1.2 200 OK',
    'HTTP/2 200',
    'HTTP/0.9 200 OK',
    'ICY 200 OK',
    'HTTP/1.1 200 OK\nX: y',
    'HTTP/1.1 200 \0',
    '<html>',
  ])('the status line %j is refused', (line) => {
    expect(() => head(line)).toThrow(malformed);
  });

  test.each([
    ['obs-fold', [' folded: line']],
    ['obs-fold after a field', ['A: b', '\tc']],
    ['a space before the colon', ['A : b']],
    ['no colon', ['A']],
    ['no name', [': b']],
    ['an empty line', ['']],
    ['a name that is not a token', ['A(b): c']],
    ['a name outside ASCII', ['\xc4: c']],
    ['a bare line feed', ['A: b\nC: d']],
    ['a bare carriage return', ['A: b\rC: d']],
    ['a null byte', ['A: \0']],
    ['a control character', ['A: \x01']],
    ['a delete character', ['A: \x7f']],
    ['a character that is not a byte', ['A: \u0100']],
  ])('%s is refused', (_, lines) => {
    expect(() => head(OK, ...lines)).toThrow(malformed);
  });

  test('white space around a value is stripped', () => {
    expect(head(OK, 'A: \t b \t c \t ').headers.a).toBe('b \t c');
  });

  test.each(['204 No Content', '304 Not Modified'])(
    'a malformed length is refused even if there is no body: %s',
    (status) => {
      for (const fields of ['Content-Length:: 100', 'Content-Length: 1\r\nContent-Length: 2']) {
        expect(() => parseMessageHead(`HTTP/1.1 ${status}\r\n${fields}`)).toThrow(
          expect.objectContaining({ code: 'malformed-response' }),
        );
      }
    },
  );

  test('many spaces inside a value are read in linear time', () => {
    // A regular expression that looks for the end from each space would take hours.
    const value = `a${' '.repeat(2_000_000)}b`;
    expect(parseMessageHead(`HTTP/1.1 200 OK\r\nX: \t${value} \t `).headers.x).toBe(value);
  });

  test('a field that occurs several times, in any case, keeps all its values', () => {
    expect(head(OK, 'A: 1', 'a: 2', 'A:', 'b: 3').headers).toEqual({ a: ['1', '2', ''], b: '3' });
  });

  test('names of built-in object properties are ordinary field names', () => {
    const { headers } = head(OK, 'constructor: 1', '__proto__: 2');
    expect(headers.constructor).toBe('1');
    expect(Object.entries(headers)).toContainEqual(['__proto__', '2']);
    expect(head(OK).headers.toString).toBeUndefined();
  });

  test.each([
    ['200', ['Content-Length: 0'], { kind: 'length', bytes: 0 }],
    ['200', ['Content-Length: 5', 'content-length: 5'], { kind: 'length', bytes: 5 }],
    ['200', [], { kind: 'other' }],
    ['200', ['Transfer-Encoding: chunked'], { kind: 'other' }],
    ['200', ['Transfer-Encoding: gzip, chunked'], { kind: 'other' }],
    ['416', ['Content-Length: 3'], { kind: 'length', bytes: 3 }],
    ['204', [], { kind: 'none' }],
    ['204', ['Content-Length: 5'], { kind: 'none' }],
    ['304', ['Content-Length: 5'], { kind: 'none' }],
    ['100', [], { kind: 'none' }],
  ])('a %s with %j: the body is %j', (status, fields, framing) => {
    expect(head(`HTTP/1.1 ${status} x`, ...fields).framing).toEqual(framing);
  });

  test.each([
    ['two different lengths', ['Content-Length: 5', 'Content-Length: 6']],
    ['two lengths on one line', ['Content-Length: 5, 5']],
    ['the same length written in two ways', ['Content-Length: 5', 'Content-Length: 05']],
    ['a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['a length and the identity', ['Content-Length: 5', 'Transfer-Encoding: identity']],
    ['a negative length', ['Content-Length: -5']],
    ['a signed length', ['Content-Length: +5']],
    ['a hexadecimal length', ['Content-Length: 0x5']],
    ['an empty length', ['Content-Length:']],
    ['a length that cannot be counted', ['Content-Length: 9007199254740992']],
    ['a length without end', [`Content-Length: ${'1'.repeat(40)}`]],
  ])('%s: the end of the body is ambiguous, so the head is refused', (_, fields) => {
    expect(() => head(OK, ...fields)).toThrow(malformed);
  });

  test.each([
    ['HTTP/1.1', [], true],
    ['HTTP/1.1', ['Connection: keep-alive'], true],
    ['HTTP/1.1', ['Connection: close'], false],
    ['HTTP/1.1', ['Connection: Keep-Alive, Close'], false],
    ['HTTP/1.1', ['Connection: upgrade', 'Connection: close'], false],
    ['HTTP/1.1', ['Connection: close-notify'], true],
    ['HTTP/1.0', ['Connection: keep-alive'], false],
    ['HTTP/1.0', [], false],
  ])('after %s with %j the connection stays open: %s', (version, fields, keepAlive) => {
    expect(head(`${version} 200 OK`, ...fields).keepAlive).toBe(keepAlive);
  });

  test('any head is read, or refused as a malformed response', () => {
    const line = fc.oneof(
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
      fc.constantFrom('Content-Length: 5', 'Transfer-Encoding: chunked', 'A: b', ' c', 'D : e'),
      fc.tuple(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 })).map((f) => f.join(':')),
    );
    const first = fc.oneof(fc.constantFrom(OK, 'HTTP/1.1 204 x', 'HTTP/1.0 200'), line);
    fc.assert(
      fc.property(first, fc.array(line, { maxLength: 6 }), (status, lines) => {
        try {
          const parsed = head(status, ...lines);
          expect(Object.keys(parsed.headers).every((n) => n === n.toLowerCase())).toBe(true);
        } catch (error) {
          if (!(error instanceof MillraceError)) throw error;
          expect(error).toEqual(malformed);
        }
      }),
    );
  });
});
