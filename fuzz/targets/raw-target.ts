/** Requests whose target has bytes above ASCII: llhttp reads them as intended once encoded. */

import fc from 'fast-check';
import { encodeRawTarget, hasRawTarget } from '../../shared/src/http/urls/raw-target.ts';
import { parseWithLlhttp } from '../llhttp.ts';
import { mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual } from '../target.ts';

const REQUESTS = [
  'GET /caf\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n',
  'HEAD /http://host:80/\xe2\x82\xac?a=\xff&b HTTP/1.1\r\nHost: x\r\nX: \xe9\r\n\r\n',
  'GET /a/\x80 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  'POST /\xe9 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /',
  '\r\nGET http://host/\xfc HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /\xe9 HTTP/1.1\r\nHost: x\r\n\r\n',
];

const bytesOf = (text: string) => Buffer.from(text.replace(/[^\0-\xff]/g, '?'), 'latin1');

/** Encodes the target with a regular expression on the text: the oracle. */
function encodedText(text: string): string {
  return text.replace(/^([\r\n]*[^ ]* )([^ \r\n]*)/, (_, before: string, target: string) => {
    const bytes = Buffer.from(target, 'latin1');
    const encoded = [...bytes].map((byte) =>
      byte < 0x80 ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase()}`,
    );
    return before + encoded.join('');
  });
}

/** Replaces each encoded byte of a request's target with a letter. */
const withLetters = (text: string) =>
  text.replace(
    /^([\r\n]*[^ ]* )([^ \r\n]*)/,
    (_, before: string, target: string) => before + target.replace(/%[89A-F][0-9A-F]/g, '%41'),
  );

export const targets = [
  fuzzTarget<fc.Arbitrary<[Buffer, number]>>({
    name: 'raw-target',
    // A request that begins with `GET / ` has a plain target.
    sound: ([bytes]) => !bytes.toString('latin1').startsWith('GET / '),
    cases: fc.tuple(mutatedText(REQUESTS).map(bytesOf), fc.nat(500)),
    check([bytes, cut]) {
      const { code, fault, begun } = parseWithLlhttp('request', bytes);
      if (begun || code !== 'HPE_INVALID_URL' || !hasRawTarget(bytes, fault)) {
        return 'refused';
      }
      const text = bytes.toString('latin1');
      const encoded = encodeRawTarget(bytes);
      const closed = /^[\r\n]*[^ ]* [^ \r\n]*[ \r\n]/.test(text);
      holdEqual(encoded !== undefined, closed, 'it is encoded as soon as the target has ended');
      // Two packets; the first contains the byte at fault.
      const at = fault + 1 + (cut % (bytes.length - fault));
      const first = bytes.subarray(0, at);
      hold(hasRawTarget(first, fault), 'the first packet shows the fault');
      if (encoded === undefined) {
        hold(encodeRawTarget(first) === undefined, 'less of it is no more');
        return;
      }
      const again = Buffer.from(encoded);
      holdEqual(again.toString('latin1'), encodedText(text), 'it is the text, encoded');
      const early = encodeRawTarget(first);
      if (early !== undefined) {
        const both = Buffer.concat([early, bytes.subarray(at)]);
        hold(both.equals(again), 'packets make no difference');
      }
      // Only the target may differ: with letters instead of the bytes, everything else is the same.
      const plain = parseWithLlhttp('request', bytesOf(withLetters(encodedText(text))));
      const own = parseWithLlhttp('request', again);
      const same = ({ code, method, headers, keepAlive, begun, ended, body }: typeof own) => [
        ...[code, method, headers, keepAlive, begun, ended, body.toString('latin1')],
      ];
      holdEqual(same(own), same(plain), 'llhttp reads it like any other request');
      const end = /^[\r\n]*[^ ]* [^ \r\n]*/.exec(again.toString('latin1'))?.[0].length ?? 0;
      const refused = own.fault < end ? (again[own.fault] ?? 0) : 0;
      hold(refused < 0x80, 'no raw byte is left in the target');
    },
    long: {
      'a target of raw bytes': () => [
        bytesOf(`GET /${'\xe9'.repeat(1_000_000)} HTTP/1.1\r\n\r\n`),
        7,
      ],
      'a raw byte behind a long target': () => [
        bytesOf(`GET /${'a'.repeat(1_000_000)}\xe9 HTTP/1.1\r\n\r\n`),
        7,
      ],
    },
  }),
];
