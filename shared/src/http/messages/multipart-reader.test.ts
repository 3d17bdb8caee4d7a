import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_PART_HEADER_BYTES } from '../../base/limits.ts';
import { multipart } from './multipart.ts';
import { type MultipartEvent, MultipartReader } from './multipart-reader.ts';

const malformed = expect.objectContaining({ code: 'malformed-response' });
const bytes = (text: string) => Buffer.from(text, 'latin1');

/** Feeds a body in pieces that end at the given positions. */
function readAll(boundary: string, body: Uint8Array, cuts: readonly number[] = []) {
  const reader = new MultipartReader(boundary);
  const events: MultipartEvent[] = [];
  const ends = [...cuts, body.length].sort((a, b) => a - b);
  let at = 0;
  for (const end of ends) {
    for (const event of reader.push(body.subarray(at, end))) {
      // The bytes are views into the input, so kept bytes must be copied.
      events.push(event.kind === 'data' ? { ...event, bytes: Buffer.from(event.bytes) } : event);
    }
    at = end;
  }
  return { reader, events };
}

/** Returns the bytes that the events deliver, by their position in the file. */
function delivered(events: readonly MultipartEvent[]): Map<number, number> {
  const file = new Map<number, number>();
  for (const event of events) {
    if (event.kind !== 'data') continue;
    event.bytes.forEach((byte, i) => {
      file.set(event.position + i, byte);
    });
  }
  return file;
}

const PART = 'Content-Range: bytes 0-2/10\r\n\r\nabc';
const WHOLE = `--b\r\n${PART}\r\n--b--`;

/** Bodies with parts of a file that is full of text similar to the boundary. */
const body = fc
  .record({
    boundary: fc.stringMatching(/^[0-9A-Za-z]{1,70}$/),
    file: fc.array(fc.constantFrom('\r\n', '--', '-', 'a', '\0', '\xff', 'B', '\r\n--B--'), {
      minLength: 1,
      maxLength: 60,
    }),
    ranges: fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 8 }),
    cuts: fc.array(fc.nat(), { maxLength: 30 }),
  })
  .map(({ boundary, file, ranges, cuts }) => {
    const data = bytes(file.join('').replaceAll('B', boundary));
    const parts = multipart(boundary, 'text/plain', data.length);
    const inside = ranges.map(([a, b]) => {
      const start = a % data.length;
      return { start, end: start + 1 + (b % (data.length - start)) };
    });
    const whole = Buffer.concat([
      ...inside.flatMap((r) => [bytes(parts.partHeader(r)), data.subarray(r.start, r.end)]),
      bytes(parts.end),
    ]);
    return { boundary, data, ranges: inside, whole, cuts: cuts.map((c) => c % whole.length) };
  });

describe('MultipartReader', () => {
  test('returns every part at its position, however the body is cut', () => {
    fc.assert(
      fc.property(body, ({ boundary, data, ranges, whole, cuts }) => {
        const { reader, events } = readAll(boundary, whole, cuts);
        expect(reader.ended).toBe(true);
        expect(events.at(-1)).toEqual({ kind: 'end' });
        const begun = events.filter((event) => event.kind === 'part');
        expect(begun).toEqual(ranges.map((range) => ({ kind: 'part', range, total: data.length })));
        const file = delivered(events);
        const expected = new Set(
          ranges.flatMap((r) => Array.from({ length: r.end - r.start }, (_, i) => r.start + i)),
        );
        expect(new Set(file.keys())).toEqual(expected);
        for (const [position, byte] of file) expect(byte).toBe(data[position]);
      }),
    );
  });

  test('a body that breaks off is never complete, and its delivered bytes are right', () => {
    fc.assert(
      fc.property(body, fc.nat(), ({ boundary, data, whole }, at) => {
        const complete = whole.length - '\r\n'.length;
        const { reader, events } = readAll(boundary, whole.subarray(0, at % complete));
        expect(reader.ended).toBe(false);
        expect(events.some((event) => event.kind === 'end')).toBe(false);
        for (const [position, byte] of delivered(events)) expect(byte).toBe(data[position]);
      }),
    );
  });

  test('a body fed byte by byte is read like one fed as a whole', () => {
    const single = readAll(
      'b',
      bytes(WHOLE),
      Array.from(WHOLE, (_, i) => i),
    );
    expect(single.reader.ended).toBe(true);
    expect(delivered(single.events)).toEqual(delivered(readAll('b', bytes(WHOLE)).events));
  });

  test.each([
    ['without the first line end', WHOLE],
    ['with the first line end', `\r\n${WHOLE}`],
    ['with white space after a boundary', `--b \t\r\n${PART}\r\n--b--`],
    ['with an epilogue', `${WHOLE}\r\nthank you --b--`],
    ['with other fields', `--b\r\nContent-Type: x--b--y\r\n${PART}\r\n--b--`],
    ['with its field in any case', `--b\r\ncontent-range:bytes 0-2/10\r\n\r\nabc\r\n--b--`],
    ['with the identity named', `--b\r\nContent-Encoding: identity\r\n${PART}\r\n--b--`],
  ])('a body %s is understood', (_, text) => {
    const { reader, events } = readAll('b', bytes(text));
    expect(reader.ended).toBe(true);
    expect(Buffer.from([...delivered(events).values()]).toString()).toBe('abc');
  });

  test.each([
    ['no part', '--b--'],
    ['a preamble', `hello\r\n${WHOLE}`],
    ['another boundary', `--c\r\n${PART}\r\n--c--`],
    ['a longer boundary', `--bb\r\n${PART}\r\n--bb--`],
    ['more data than a part announces', `--b\r\n${PART}d\r\n--b\r\n${PART}\r\n--b--`],
    [
      'less data than a part announces',
      `--b\r\nContent-Range: bytes 0-9/10\r\n\r\nabc\r\n--b\r\n${PART}\r\n--b--\r\n\r\n`,
    ],
    ['a part without Content-Range', '--b\r\nContent-Type: x\r\n\r\nabc'],
    ['a part without any field', '--b\r\n\r\nabc'],
    [
      'a part with two Content-Ranges',
      '--b\r\nContent-Range: bytes 0-2/10\r\nContent-Range: bytes 0-2/10\r\n\r\n',
    ],
    ['a part without positions', '--b\r\nContent-Range: bytes */10\r\n\r\nabc'],
    ['a file of unknown length', '--b\r\nContent-Range: bytes 0-2/*\r\n\r\nabc'],
    ['a part past the end of the file', '--b\r\nContent-Range: bytes 8-10/10\r\n\r\nabc'],
    ['a range in another unit', '--b\r\nContent-Range: lines 0-2/10\r\n\r\nabc'],
    ['a compressed part', `--b\r\nContent-Encoding: gzip\r\n${PART}`],
    ['bare line feeds', '--b\nContent-Range: bytes 0-2/10\n\nabc\r\n\r\n'],
  ])('%s is refused', (_, text) => {
    expect(() => readAll('b', bytes(text))).toThrow(malformed);
  });

  test('an endless header is refused before it fills the memory', () => {
    const reader = new MultipartReader('b');
    const start = bytes(`--b\r\nX: ${'x'.repeat(MAX_PART_HEADER_BYTES - 8)}`);
    expect([...reader.push(start)]).toEqual([]);
    expect(() => [...reader.push(bytes('x'))]).toThrow(malformed);
    expect(() => readAll('b', bytes('x'.repeat(MAX_PART_HEADER_BYTES + 1)))).toThrow(malformed);
  });

  test('a header as long as the limit is read', () => {
    const fill = MAX_PART_HEADER_BYTES - WHOLE.indexOf('abc') - 'X: \r\n'.length;
    const text = WHOLE.replace('--b\r\n', `--b\r\nX: ${'x'.repeat(fill)}\r\n`);
    expect(readAll('b', bytes(text)).reader.ended).toBe(true);
  });

  test('bytes after the end boundary are ignored', () => {
    const { reader } = readAll('b', bytes(WHOLE));
    expect([...reader.push(bytes(`\r\n--b\r\n${PART}`))]).toEqual([]);
    expect(reader.ended).toBe(true);
  });

  test('garbage is ignored, or refused as a malformed response', () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom(0, 1, 2)), {
      maxLength: 5,
    });
    const pure = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
    const damaged = fc.tuple(body, damage).map(([{ whole }, changes]) => {
      const out = [...whole];
      for (const [at, byte, how] of changes) out.splice(at % out.length, how, byte);
      return Buffer.from(out);
    });
    fc.assert(
      fc.property(fc.oneof(pure, damaged), fc.array(fc.nat(300)), (input, cuts) => {
        try {
          readAll(
            'b',
            input,
            cuts.filter((cut) => cut < input.length),
          );
        } catch (error) {
          expect(error).toEqual(malformed);
        }
      }),
    );
  });
});
