import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { BodyDecoder, type BodyFraming, bodyFraming } from './body-decoder.ts';
import { parseMessageHead } from './message-head.ts';

const CHUNKED: BodyFraming = { kind: 'chunked' };

/** Decodes pieces; returns the body, the bytes after it, and whether the body is complete. */
function decode(framing: BodyFraming, ...pieces: string[]) {
  const decoder = new BodyDecoder(framing);
  let body = '';
  let rest = '';
  for (const piece of pieces) {
    const bytes = Buffer.from(piece, 'latin1');
    const used = decoder.push(bytes, (start, end) => {
      body += piece.slice(start, end);
    });
    rest += piece.slice(used);
  }
  return { body, rest, ended: decoder.ended };
}

const refused = { code: 'malformed-response' };
const framingOf = (...fields: string[]) =>
  bodyFraming(parseMessageHead(['HTTP/1.1 200 OK', ...fields].join('\r\n')));

describe('bodyFraming', () => {
  test('follows from the head', () => {
    expect(framingOf('Content-Length: 7')).toEqual({ kind: 'length', bytes: 7 });
    expect(framingOf('Transfer-Encoding: Chunked')).toEqual(CHUNKED);
    expect(framingOf('X: y')).toEqual({ kind: 'close' });
    expect(bodyFraming(parseMessageHead('HTTP/1.1 204 No'))).toEqual({ kind: 'length', bytes: 0 });
  });

  test.each(['gzip, chunked', 'identity', 'chunked, chunked', '', 'xchunked'])(
    'a transfer coding that was not requested is refused: %j',
    (coding) => {
      expect(() => framingOf(`Transfer-Encoding: ${coding}`)).toThrow(
        expect.objectContaining(refused),
      );
    },
  );

  test('compressed chunks, and chunks that are named twice, can be accepted', () => {
    const mended = (...fields: string[]) =>
      bodyFraming(parseMessageHead(['HTTP/1.1 200 OK', ...fields].join('\r\n')), true);
    expect(mended('Transfer-Encoding: gzip, chunked')).toEqual(CHUNKED);
    expect(mended('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')).toEqual(CHUNKED);
    expect(mended('Transfer-Encoding: gzip')).toEqual({ kind: 'close' });
    expect(() => mended('Transfer-Encoding: br, chunked')).toThrow(
      expect.objectContaining(refused),
    );
  });

  test('two Transfer-Encoding lines are refused', () => {
    expect(() => framingOf('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')).toThrow(
      expect.objectContaining(refused),
    );
  });
});

describe('BodyDecoder', () => {
  test('a body ends at its length, and later bytes are left over', () => {
    const framing: BodyFraming = { kind: 'length', bytes: 5 };
    expect(decode(framing, 'ab', 'cd')).toEqual({ body: 'abcd', rest: '', ended: false });
    expect(decode(framing, 'ab', 'cdefg')).toEqual({ body: 'abcde', rest: 'fg', ended: true });
    expect(decode({ kind: 'length', bytes: 0 }, 'x')).toEqual({ body: '', rest: 'x', ended: true });
  });

  test('the end of the connection completes only a body that is delimited by it', () => {
    const closed = (framing: BodyFraming) => new BodyDecoder(framing).close();
    expect(closed({ kind: 'close' })).toBe(true);
    expect(closed({ kind: 'length', bytes: 1 })).toBe(false);
    expect(closed(CHUNKED)).toBe(false);
    expect(decode({ kind: 'close' }, 'ab', 'c')).toEqual({ body: 'abc', rest: '', ended: false });
  });

  test('chunks are decoded to their body, however the input is cut', () => {
    const chunk = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 });
    const extension = fc.constantFrom('', ';x', ' ;a="b;c"', ';a = "\xff\\""');
    const trailer = fc.constantFrom('', 'X: y\r\n', 'A: 1\r\nB: 2\r\n');
    const property = fc.property(
      fc.array(fc.tuple(chunk, extension)),
      trailer,
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      (chunks, end, steps) => {
        const text = `${chunks
          .map(([data, more]) => `${data.length.toString(16)}${more}\r\n${data}\r\n`)
          .join('')}0\r\n${end}\r\nHTTP/1.1`;
        const pieces: string[] = [];
        for (let at = 0, i = 0; at < text.length; i++) {
          const step = steps[i % steps.length] as number;
          pieces.push(text.slice(at, at + step));
          at += step;
        }
        const body = chunks.map(([data]) => data).join('');
        expect(decode(CHUNKED, ...pieces)).toEqual({ body, rest: 'HTTP/1.1', ended: true });
      },
    );
    fc.assert(property, { seed: 1 });
  });

  test.each([
    ['no size', '\r\n'],
    ['a size that is not a number', 'g\r\n'],
    ['a negative size', '-1\r\n'],
    ['a size with a sign', '+1\r\n'],
    ['a size in C notation', '0x1\r\n'],
    ['a size with a space before it', ' 1\r\n'],
    ['a size beyond all numbers', 'ffffffffffffffff\r\n'],
    ['a size without end', '0'.repeat(600)],
    ['an extension without end', `1;${'x'.repeat(600)}`],
    ['a bare line feed', '1\nx\r\n'],
    ['a bare carriage return', '1\rx'],
    ['a chunk longer than its size', '1\r\nab\r\n'],
    ['a chunk without its line end', '1\r\na0\r\n\r\n'],
    ['an extension without a name', '1;\r\nx\r\n'],
    ['an extension whose quoted value does not end', '1;a="b\r\nx\r\n'],
    ['a trailer line that is not a field', '0\r\n5\r\n\r\n'],
    ['a status line as a trailer', '0\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['a length in a trailer', '0\r\nContent-Length: 5\r\n\r\n'],
    ['a transfer coding in a trailer', '0\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['a trailer without end', `0\r\n${'X: y\r\n'.repeat(200)}`],
    ['a trailer line without end', `0\r\n${'x'.repeat(600)}`],
  ])('%s is refused', (_, text) => {
    expect(() => decode(CHUNKED, text)).toThrow(expect.objectContaining(refused));
    expect(() => decode(CHUNKED, ...text)).toThrow(expect.objectContaining(refused));
  });

  test('a chunked body that is cut off anywhere is not complete', () => {
    const whole = '3\r\nabc\r\n0\r\n\r\n';
    for (let at = 0; at < whole.length; at++) {
      expect(decode(CHUNKED, whole.slice(0, at)).ended).toBe(false);
    }
    expect(decode(CHUNKED, whole).ended).toBe(true);
  });
});

describe('a body of a server whose chunks break the rules', () => {
  const mended = (text: string) => {
    const decoder = new BodyDecoder({ kind: 'chunked' }, true);
    let body = '';
    decoder.push(Buffer.from(text), (start, end) => {
      body += text.slice(start, end);
    });
    return { body, ended: decoder.ended, endsHere: decoder.close() };
  };

  test.each([
    ['lines that end without CR', '3\nabc\n0\n\n'],
    ['spaces around a size', ' 3 \r\nabc\r\n0 \r\n\r\n'],
    ['a long extension', `3;${'x'.repeat(600)}\r\nabc\r\n0\r\n\r\n`],
    ['an extension that cannot be read', '3;a="b\r\nabc\r\n0\r\n\r\n'],
  ])('is read in spite of %s', (_what, text) => {
    expect(mended(text)).toMatchObject({ body: 'abc', ended: true });
  });

  test('may end right behind its last chunk, but not before', () => {
    const whole = '3\r\nabc\r\n0\r\n';
    for (let at = 0; at < whole.length; at++) {
      expect(mended(whole.slice(0, at)).endsHere).toBe(false);
    }
    expect(mended(whole)).toEqual({ body: 'abc', ended: false, endsHere: true });
  });

  test('is refused if its sizes cannot be read', () => {
    for (const text of ['g\r\n', '-1\r\n', '\r\n', '3x\r\nabc', '1\r\nab\r\n']) {
      expect(() => mended(text)).toThrow(expect.objectContaining({ code: 'malformed-response' }));
    }
  });
});
