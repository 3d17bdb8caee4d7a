/** Bodies of multipart/byteranges: lengths delimit the parts, whatever their data contains. */

import fc from 'fast-check';
import {
  type MultipartEvent,
  MultipartReader,
  multipartBoundary,
} from '../../shared/src/http/messages/multipart-reader.ts';
import { mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual, readOrRefuse } from '../target.ts';

const part = (range: string, data: string) =>
  `\r\n--b\r\nContent-Type: a/b\r\nContent-Range: bytes ${range}\r\n\r\n${data}`;
const BODIES = [
  `${part('0-4/20', 'hello')}${part('10-12/20', '--b')}\r\n--b--\r\n`,
  `${part('5-5/6', 'x').slice(2)}\r\n--b--`,
  `${part('0-9/10', '\r\n--b--\r\n!')}\r\n--b--\r\nan epilogue`,
];
const TYPES = [
  'multipart/byteranges; boundary=abc',
  'multipart/byteranges; charset=x; boundary="a b"; y',
  'Multipart/ByteRanges;boundary=x',
];

type Seen = { range: string; data: string }[];

/** Reads the parts of a body that arrives in pieces. */
function read(bytes: Buffer, cuts: readonly number[]) {
  return readOrRefuse(['malformed-response'], () => {
    const reader = new MultipartReader('b');
    const parts: Seen = [];
    let next = 0;
    let end = 0;
    const take = (event: MultipartEvent) => {
      if (event.kind === 'part') {
        const { range, total } = event;
        hold(next === end, 'a part begins when the one before is complete');
        hold(
          range.start >= 0 && range.start < range.end && range.end <= total,
          'it is in the file',
        );
        parts.push({ range: `${range.start}-${range.end}/${total}`, data: '' });
        next = range.start;
        end = range.end;
      } else if (event.kind === 'data') {
        hold(event.position === next && event.bytes.length > 0, 'data follows data');
        next += event.bytes.length;
        hold(next <= end, 'no byte lies outside of its part');
        const last = parts.at(-1);
        hold(last !== undefined, 'data is of a part');
        last.data += Buffer.from(event.bytes).toString('latin1');
      } else {
        hold(next === end && parts.length > 0, 'the end comes behind whole parts');
      }
    };
    const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
    at.sort((a, b) => a - b);
    for (let i = 1; i < at.length; i++) {
      for (const event of reader.push(bytes.subarray(at[i - 1], at[i]))) take(event);
    }
    return { parts, ended: reader.ended };
  });
}

const byte = fc.nat(255).map((code) => String.fromCharCode(code));
const anyBytes = fc.string({ unit: byte, minLength: 1, maxLength: 30 });

/** Valid bodies by RFC 9110 14.6, with their meaning. */
const meant = fc
  .array(fc.tuple(fc.nat(50), anyBytes), { minLength: 1, maxLength: 4 })
  .map((parts) => ({
    text: `${parts.map(([start, data]) => part(`${start}-${start + data.length - 1}/100`, data)).join('')}\r\n--b--\r\n`,
    parts: parts.map(([start, data]) => ({ range: `${start}-${start + data.length}/100`, data })),
  }));
const cuts = fc.array(fc.nat(300), { maxLength: 5 });
const bytesOf = (text: string) => Buffer.from(text.replace(/[^\0-\xff]/g, '?'), 'latin1');

export const targets = [
  fuzzTarget<fc.Arbitrary<[Buffer, number[]]>>({
    name: 'multipart',
    cases: fc.tuple(mutatedText(BODIES).map(bytesOf), cuts),
    check([bytes, at]) {
      const whole = read(bytes, []);
      holdEqual(read(bytes, at), whole, 'packets make no difference');
      if (whole === undefined) return 'refused';
    },
    long: {
      'a header of hyphens': () => [Buffer.alloc(1_000_000, '-'), []],
      'a header without an end': () => [bytesOf(`\r\n--b\r\n${'a: b\r\n'.repeat(150_000)}`), []],
      'parts of one byte': () => [bytesOf(`${part('0-0/9', 'x').repeat(20_000)}\r\n--b--`), []],
    },
  }),
  fuzzTarget({
    name: 'multipart-meant',
    takesAll: true,
    cases: fc.tuple(meant, cuts),
    check([{ text, parts }, at]) {
      holdEqual(read(bytesOf(text), at), { parts, ended: true }, 'it is read as it was meant');
    },
  }),
  fuzzTarget({
    name: 'multipart-boundary',
    cases: mutatedText(TYPES),
    check(type) {
      const boundary = multipartBoundary(type);
      if (boundary === undefined) return 'refused';
      hold(boundary.length > 0 && boundary.length <= 70, 'it is as long as RFC 2046 5.1 allows');
      hold(type.includes(boundary), 'it is in the type');
    },
    long: {
      semicolons: () => `multipart/byteranges${'; '.repeat(500_000)}`,
      spaces: () => `multipart/byteranges;${' '.repeat(1_000_000)}`,
      boundaries: () => `multipart/byteranges;${'boundary= ;'.repeat(100_000)}`,
    },
  }),
];
