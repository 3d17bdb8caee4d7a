/** First messages of Node's own client of TLS. */

import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readClientHello } from './client-hello.ts';

/** Returns the first bytes that a client sends. */
function firstBytes(options: object): Promise<Buffer> {
  return new Promise((resolve) => {
    const sent = new Duplex({ read() {}, write: (chunk: Buffer) => resolve(chunk) });
    connect({ socket: sent, rejectUnauthorized: false, ...options }).on('error', () => {});
  });
}

const bytes = await firstBytes({ servername: 'Edge.Example', ALPNProtocols: ['h2', 'acme-tls/1'] });
const hello = { serverName: 'edge.example', protocols: ['h2', 'acme-tls/1'] };

test('host and protocols of a client are read', async () => {
  expect(readClientHello(bytes)).toEqual(hello);
  const plain = await firstBytes({});
  expect(readClientHello(plain)).toEqual({ serverName: undefined, protocols: [] });
});

test('a message is partial up to its last byte, and bytes behind it do not matter', () => {
  for (let end = 0; end < bytes.length; end++) {
    expect([end, readClientHello(bytes.subarray(0, end))]).toEqual([end, 'partial']);
  }
  expect(readClientHello(Buffer.concat([bytes, Buffer.alloc(9)]))).toEqual(hello);
});

test('a message may come in several records', () => {
  const message = bytes.subarray(5);
  const records = [message.subarray(0, 1), message.subarray(1, 90), message.subarray(90)].map(
    (piece) => Buffer.concat([bytes.subarray(0, 3), Buffer.from([0, piece.length]), piece]),
  );
  // The length of the last piece takes both bytes.
  const last = records[2] as Buffer;
  last.writeUInt16BE(message.length - 90, 3);
  expect(readClientHello(Buffer.concat(records))).toEqual(hello);
});

test.each([
  ['a request of HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['another message', Buffer.concat([bytes.subarray(0, 5), Buffer.from([2]), bytes.subarray(6)])],
  ['an empty record', Buffer.from([22, 3, 1, 0, 0])],
  ['a length of megabytes', Buffer.from([22, 3, 1, 0, 4, 1, 255, 255, 255])],
])('other bytes are no such message: %s', (_, other) => {
  expect(readClientHello(other)).toBeUndefined();
});

test('damaged messages lead to an answer, and long ones are not waited for', () => {
  const damage = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 6 });
  fc.assert(
    fc.property(damage, (changes) => {
      const damaged = Buffer.from(bytes);
      for (const [at, value] of changes) damaged[at] = value;
      const whole = Buffer.concat([damaged, Buffer.alloc(16 * 1024)]);
      expect(readClientHello(whole)).not.toBe('partial');
    }),
  );
});
