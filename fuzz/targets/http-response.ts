/** Responses of origins: heads and bodies read by our own connections, compared with llhttp. */

import fc from 'fast-check';
import { BodyDecoder, bodyFraming } from '../../shared/src/http/messages/body-decoder.ts';
import { type MessageHead, parseMessageHead } from '../../shared/src/http/messages/message-head.ts';
import { parseWithLlhttp } from '../llhttp.ts';
import { mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual, readOrRefuse } from '../target.ts';

export const RESPONSES = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "a"\r\n\r\nhello',
  'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;a=b\r\nxyz\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n00\r\nT: x\r\n\r\n',
  'HTTP/1.0 200 OK\r\n\r\nup to the end',
  'HTTP/1.1 200 OK\r\nConnection: close\r\nX:\r\nX: \t a b \xe9 \r\n\r\nrest',
  'HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n',
  'HTTP/1.1 204\r\n\r\n',
  'HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n',
];

export interface Message {
  readonly head: MessageHead;
  readonly body: string;
  readonly ended: boolean;
  /** Bytes consumed, including the head. */
  readonly taken: number;
}

/** Reads a message as `RangeConnection` does, its body in pieces. */
export function readMessage(text: string, cuts: readonly number[]): Message | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  return readOrRefuse(['malformed-response'], () => {
    const head = parseMessageHead(text.slice(0, end));
    const decoder = new BodyDecoder(bodyFraming(head));
    const rest = Buffer.from(text.slice(end + 4), 'latin1');
    const at = [...new Set([0, ...cuts.map((cut) => cut % (rest.length + 1)), rest.length])];
    at.sort((a, b) => a - b);
    let body = '';
    let taken = end + 4;
    for (let i = 1; i < at.length && !decoder.ended; i++) {
      const piece = rest.subarray(at[i - 1], at[i]);
      const used = decoder.push(piece, (from, to) => {
        body += piece.toString('latin1', from, to);
      });
      hold(used === piece.length || decoder.ended, 'bytes are left only behind the end');
      taken += used;
    }
    return { head, body, ended: decoder.close(), taken };
  });
}

const flat = ({ headers }: MessageHead) =>
  Object.entries(headers)
    .map(([name, value]) => [name, [value].flat()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));

/** Trims only spaces and tabs. One regular expression would be quadratic in the spaces inside. */
function trimmed(text: string): string {
  let end = text.length;
  while (end > 0 && '\t '.includes(text[end - 1] as string)) end--;
  return text.slice(0, end).replace(/^[\t ]+/, '');
}

function grouped(fields: readonly string[]): (readonly [string, string[]])[] {
  const groups = new Map<string, string[]>();
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = trimmed(fields[i + 1] as string);
    const values = groups.get(name);
    if (values === undefined) groups.set(name, [value]);
    else values.push(value);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Errors of llhttp where RFC 9110 8.6 allows more: the same length several times. */
const STRICTER = new Set(['HPE_UNEXPECTED_CONTENT_LENGTH']);

const SPACED_EXTENSION = /\n[0-9a-f]+(?:[\t ]+;|;[^\r]*[\t "])/i;

const latin1 = (text: string) => text.replace(/[^\0-\xff]/g, '?');
const cuts = fc.array(fc.nat(200), { maxLength: 4 });

const byte = fc.nat(255).map((code) => String.fromCharCode(code));
const anyBytes = fc.string({ unit: byte, minLength: 1, maxLength: 20 });
const visible = fc.string({
  unit: fc.constantFrom('a', 'B', '"', ',', ';', ' ', '\t', '\xe9', '~'),
  maxLength: 10,
});

/** Valid messages with their meaning. */
const meant = fc
  .record({
    status: fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
    fields: fc.array(
      fc.tuple(
        fc.stringMatching(/^x-[a-z0-9!#$%&'*+.^_`|~-]{1,8}$/),
        visible.map((value) => value.replace(/^[\t ]+|[\t ]+$/g, '')),
      ),
      { maxLength: 4 },
    ),
    chunks: fc.array(anyBytes, { maxLength: 4 }),
    framing: fc.constantFrom('length', 'chunked', 'close'),
    space: fc.constantFrom('', ' ', '\t', '  \t'),
    extension: fc.constantFrom('', ';a', ' ; a=b'),
  })
  .map(({ status, fields, chunks, framing, space, extension }) => {
    const body = chunks.join('');
    const lines = fields.map(([name, value]) => `${name}:${space}${value}${space}\r\n`).join('');
    const [field, data] = {
      length: [`Content-Length: ${body.length}\r\n`, body],
      chunked: [
        'Transfer-Encoding: Chunked\r\n',
        `${[...chunks, '']
          .map((c) => `${c.length.toString(16)}${extension}\r\n${c}${c === '' ? '' : '\r\n'}`)
          .join('')}\r\n`,
      ],
      close: ['', body],
    }[framing] as [string, string];
    return { text: `HTTP/1.1 ${status} x\r\n${lines}${field}\r\n${data}`, status, body, fields };
  });

export const targets = [
  fuzzTarget<fc.Arbitrary<[string, number[]]>>({
    name: 'http-response',
    cases: fc.tuple(mutatedText(RESPONSES).map(latin1), cuts),
    found: [
      // An unreadable length in a response without a body.
      ['HTTP/1.1 304 Not Modified\r\nContent-Length:: 100\r\n\r\n', []],
      // Trailers that are not fields, or that state a body's length.
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n5\r\n\r\n', []],
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n', []],
      // An extension with an invalid name.
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;\xe1=b\r\nxyz\r\n0\r\n\r\n', []],
    ],
    check([text, at]) {
      const own = readMessage(text, at);
      const whole = readMessage(text, []);
      holdEqual(own, whole, 'packets make no difference');
      if (own === undefined || own.head.status < 200) return 'refused';
      const oracle = parseWithLlhttp('response', Buffer.from(text, 'latin1'), true);
      if (STRICTER.has(oracle.code ?? '')) return;
      // RFC 9112 7.1.1 allows space around the parts of extensions; llhttp does not.
      if (
        oracle.begun &&
        oracle.code !== undefined &&
        SPACED_EXTENSION.test(text.slice(text.indexOf('\r\n\r\n')))
      )
        return;
      hold(oracle.begun, `llhttp reads what we read, but ${oracle.code}`);
      holdEqual(own.head.status, oracle.status, 'the status is the same');
      holdEqual(
        flat(own.head),
        grouped(oracle.headers.slice(0, 2 * countFields(text))),
        'the fields are the same',
      );
      if (!own.ended) return;
      hold(oracle.ended, `llhttp finds the end as we do, but ${oracle.code}`);
      holdEqual(own.body, oracle.body.toString('latin1'), 'the body is the same');
      // The end of the connection ends a body without a length.
      const again = own.head.keepAlive && bodyFraming(own.head).kind !== 'close';
      hold(!again || oracle.keepAlive, 'no connection is used again that must not be');
    },
    long: {
      'a field with spaces inside': () => [
        `HTTP/1.1 200 OK\r\nX: a${' '.repeat(1_000_000)}b\r\n\r\n`,
        [],
      ],
      'a field of spaces': () => [`HTTP/1.1 200 OK\r\nX:${' \t'.repeat(500_000)}\r\n\r\n`, []],
      'one field many times': () => [`HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(150_000)}\r\n`, []],
      'a connection of commas': () => [
        `HTTP/1.1 200 OK\r\nConnection: ${' ,'.repeat(500_000)}\r\n\r\n`,
        [],
      ],
      'chunks of one byte': () => [
        `${RESPONSES[2]?.split('5\r\n')[0]}${'1\r\nx\r\n'.repeat(150_000)}0\r\n\r\n`,
        [],
      ],
    },
  }),
  fuzzTarget({
    name: 'http-response-meant',
    takesAll: true,
    cases: fc.tuple(meant, cuts),
    check([{ text, status, body, fields }, at]) {
      const own = readMessage(text, at);
      hold(own !== undefined, 'a response that RFC 9112 allows is read');
      holdEqual(
        [own.head.status, own.body, own.ended],
        [status, body, true],
        'it is read as it was meant',
      );
      for (const [name, value] of fields) {
        hold([own.head.headers[name] ?? []].flat().includes(value), `the field ${name} is there`);
      }
    },
  }),
];

/** Counts the fields of the head; llhttp lists the trailer's fields after them. */
function countFields(text: string): number {
  return text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n').length - 1;
}
