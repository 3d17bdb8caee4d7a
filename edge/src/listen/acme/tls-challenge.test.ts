/** Connections to an edge's port for TLS while its order waits for the authority. */

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:https';
import { type AddressInfo, connect as connectPlain, createServer as createRelay } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AcmeFolder } from './acme-folder.ts';
import { standIn } from './order.ts';
import { answerChallenges } from './tls-challenge.ts';

const NAME = 'edge.example';
const usual = await standIn(NAME);
const challenge = await standIn(NAME);

let done: AsyncDisposableStack;
let folder: AcmeFolder;
let port: number;

beforeEach(async () => {
  done = new AsyncDisposableStack();
  const parent = await mkdtemp(join(tmpdir(), 'millrace-acme-'));
  done.defer(() => rm(parent, { recursive: true, force: true }));
  folder = new AcmeFolder(join(parent, 'cert.pem'));
  await folder.create();
  const server = createServer({ ...usual, ALPNProtocols: ['http/1.1'] });
  server.on('request', (req, res) => res.end(`usual ${req.url}`));
  answerChallenges(server, { folder, name: NAME });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  done.defer(() => void server.close().closeAllConnections());
  ({ port } = server.address() as AddressInfo);
});
afterEach(() => done.disposeAsync());

/** Connects as an authority does, unless told otherwise. */
async function shakeHands(options: object = {}): Promise<TLSSocket> {
  const how = { port, host: '127.0.0.1', servername: NAME, ALPNProtocols: ['acme-tls/1'] };
  const socket = connect({ ...how, rejectUnauthorized: false, ...options });
  done.defer(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

const certOf = (socket: TLSSocket) => socket.getPeerX509Certificate()?.toString().trim();

/** Returns the certificate and the body that a usual client gets. */
async function ask(at: number, options: object = {}): Promise<(string | undefined)[]> {
  const socket = await shakeHands({ port: at, ALPNProtocols: ['http/1.1'], ...options });
  const cert = certOf(socket);
  socket.write('GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const text = Buffer.concat(await socket.toArray()).toString();
  return [cert, /\r\n\r\n(.*)$/s.exec(text)?.[1]];
}

test('an authority gets the certificate of the challenge, and nothing else', async () => {
  await folder.putChallenge(`${challenge.key}${challenge.cert}`);
  const socket = await shakeHands();
  expect([socket.alpnProtocol, certOf(socket)]).toEqual(['acme-tls/1', challenge.cert.trim()]);
  expect(await socket.toArray()).toEqual([]);
});

test.each([
  ['another name', { servername: 'other.example' }],
  ['no name', { servername: '' }],
  ['another protocol too', { ALPNProtocols: ['acme-tls/1', 'http/1.1'] }],
  ['no protocol', { ALPNProtocols: undefined }],
])('clients are served as always while an order waits: %s', async (_, options) => {
  await folder.putChallenge(`${challenge.key}${challenge.cert}`);
  expect(await ask(port, options)).toEqual([usual.cert.trim(), expect.stringMatching(/usual \/x/)]);
});

/** Starts a relay before the server. @param cut into which pieces it sends a client's bytes @returns its port */
async function relay(cut: (bytes: Buffer) => readonly Buffer[]): Promise<number> {
  const server = createRelay(async (socket) => {
    const onward = connectPlain({ port, host: '127.0.0.1', noDelay: true });
    onward.pipe(socket);
    for (const end of [socket, onward]) end.on('error', () => onward.destroy());
    socket.on('close', () => onward.destroy());
    for await (const chunk of socket) {
      for (const piece of cut(chunk)) await new Promise((sent) => onward.write(piece, sent));
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  done.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test('a first message that comes byte by byte is the same', async () => {
  await folder.putChallenge(`${challenge.key}${challenge.cert}`);
  const at = await relay((bytes) => Array.from(bytes, (byte) => Buffer.of(byte)));
  expect(await ask(at)).toEqual([usual.cert.trim(), expect.stringMatching(/usual \/x/)]);
  expect(certOf(await shakeHands({ port: at }))).toBe(challenge.cert.trim());
});

test('clients whose first message is cut into records are served as always while an order waits', async () => {
  await folder.putChallenge(`${challenge.key}${challenge.cert}`);
  const at = await relay((bytes) => {
    const [type, , , high = 0, low = 0] = bytes;
    const end = 5 + high * 256 + low;
    if (type !== 22 || end > bytes.length) return [bytes];
    const record = (piece: Buffer) =>
      Buffer.concat([
        bytes.subarray(0, 3),
        Buffer.of(piece.length >> 8, piece.length & 255),
        piece,
      ]);
    return [record(bytes.subarray(5, 90)), record(bytes.subarray(90, end)), bytes.subarray(end)];
  });
  expect(await ask(at)).toEqual([usual.cert.trim(), expect.stringMatching(/usual \/x/)]);
});

test('bytes that are no TLS are refused, and a client that leaves is let go', async () => {
  await folder.putChallenge(`${challenge.key}${challenge.cert}`);
  for (const bytes of ['GET / HTTP/1.1\r\n\r\n', Buffer.from([22, 3, 1])]) {
    const socket = connectPlain({ port, host: '127.0.0.1' });
    const closed = once(socket, 'close');
    socket.on('error', () => {}).resume();
    socket.end(bytes);
    await closed;
  }
});

test('without an order nobody is answered by this protocol, nor after it', async () => {
  const refused = () => expect(shakeHands()).rejects.toThrow(/no application protocol/);
  await refused();
  await folder.putChallenge(`${challenge.key}${challenge.cert}`);
  await shakeHands();
  await folder.removeChallenge();
  await refused();
});
