/** Requests whose target has bytes above ASCII, over real connections of a real edge. */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as secureConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { makeCertificate } from '../../fixtures/origins/certificate.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { EchoOrigin } from '../../fixtures/origins/echo-origin.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const origin = await EchoOrigin.start();
/** Half of a body of unknown length: the server sends it once, and the test once more. */
const half = contentOf('half of a body', 300_000);
const waiting: ServerResponse[] = [];
const slow = createServer((req, res) => {
  res.writeHead(200, { 'cache-control': 'no-store' });
  if (req.method === 'HEAD') return void res.end();
  res.write(half);
  waiting.push(res);
});
await once(slow.listen(0, '127.0.0.1'), 'listening');
const slowUrl = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;

const folder = await temporaryFolder();
const pair = makeCertificate(folder.path, 'edge');
const probe = fileURLToPath(new URL('../../fixtures/clients/heap-probe.mjs', import.meta.url));
const options = ['--allow-origin', '127.0.0.1', '--default-scheme', 'http', '--log-level', 'warn'];
const limits = ['--client-requests', '0', '--client-transfers', '0'];
const edge = await EdgeProcess.start(
  [...options, ...limits, '--tls-cert', pair.cert, '--tls-key', pair.key, '--http-port', '0'],
  { NODE_OPTIONS: `--import=${probe}` },
);
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const res of waiting.splice(0)) res.destroy();
  await until(async () => (await edge.status()).transfers.active === 0);
});
afterAll(async () => {
  await edge.stop('SIGKILL');
  await origin.stop();
  slow.closeAllConnections();
  slow.close();
  await folder.remove();
});

/** Opens a connection to the edge, plain or with TLS, that keeps the bytes that it receives. */
async function open(url: string) {
  const { protocol, hostname: host, port } = new URL(url);
  const socket =
    protocol === 'https:'
      ? secureConnect({ host, port: Number(port), rejectUnauthorized: false })
      : connect({ host, port: Number(port) });
  sockets.push(socket);
  const got = { socket, pieces: [] as Buffer[], reset: false, closed: false };
  socket.on('data', (piece: Buffer) => got.pieces.push(piece));
  socket.on('error', (error: NodeJS.ErrnoException) => {
    got.reset ||= error.code === 'ECONNRESET';
  });
  socket.on('close', () => {
    got.closed = true;
  });
  await once(socket, protocol === 'https:' ? 'secureConnect' : 'connect');
  return got;
}

const get = (target: string, version = '1.1') =>
  Buffer.from(`GET ${target} HTTP/${version}\r\nHost: x\r\n\r\n`, 'latin1');
const textOf = ({ pieces }: { pieces: Buffer[] }) => Buffer.concat(pieces).toString('latin1');

async function isWell(at: EdgeProcess = edge): Promise<void> {
  const got = await fetchAll(`${at.url}/http://${origin.host}/well`);
  expect([got.status, got.digest]).toEqual([200, origin.digest('/well')]);
}

/** Returns the bytes that the edge holds in its heap and buffers, after garbage collection. */
async function heapBytes(): Promise<number> {
  const before = edge.log.length;
  process.kill(edge.pid, 'SIGUSR2');
  const find = () => edge.log.slice(before).find((line) => line.includes('heapProbe'));
  await until(() => find() !== undefined);
  const { heapUsed, external } = JSON.parse(find() as string).heapProbe;
  return heapUsed + external;
}

describe.each([
  ['plain', () => edge.url],
  ['TLS', () => edge.secureUrl],
])('a raw target on a connection: %s', (_, url) => {
  test('5,000 of them on one connection get one answer, and never nest', async () => {
    const got = await open(url());
    const all = Buffer.concat(Array.from({ length: 5000 }, (_, i) => get(`/\xe9${i}`)));
    for (let at = 0; at < all.length && !got.socket.destroyed; at += 1000) {
      got.socket.write(all.subarray(at, at + 1000));
    }
    await until(() => got.closed);
    expect(textOf(got).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404']);
    await isWell();
  });

  test('behind a running download, not one byte of it is in the body', async () => {
    const target = `/http://${origin.host}/raw-\xc3\xa9`;
    for (const behind of [get(target), Buffer.from('blah\r\n\r\n'), get(target).subarray(0, -8)]) {
      const got = await open(url());
      got.socket.write(Buffer.concat([get(`/${slowUrl}/long`, '1.0'), behind]));
      await until(() => Buffer.concat(got.pieces).includes(half.subarray(-100)));
      got.socket.write(behind);
      waiting.splice(0).at(-1)?.end(half);
      await until(() => got.closed);
      const whole = Buffer.concat(got.pieces);
      const body = whole.subarray(whole.indexOf('\r\n\r\n') + 4);
      expect(sha256(body)).toBe(sha256(Buffer.concat([half, half])));
    }
    await isWell();
  });

  test('of a file is answered with that file, and the connection is closed', async () => {
    const got = await open(url());
    got.socket.write(get(`/http://${origin.host}/caf\xc3\xa9`));
    await until(() => got.closed);
    const whole = Buffer.concat(got.pieces);
    expect(whole.toString('latin1', 0, 600)).toMatch(/\r\nConnection: close\r\n/i);
    const body = whole.subarray(whole.indexOf('\r\n\r\n') + 4);
    expect(sha256(body)).toBe(origin.digest('/caf%C3%A9'));
  });

  test('whose first raw byte comes in a later packet than its start is answered with the file', async () => {
    const whole = get(`/http://${origin.host}/caf\xc3\xa9`);
    const raw = whole.indexOf(0xc3);
    for (const cuts of [[raw], [2, raw - 2, raw, raw + 1], [...whole.keys()].slice(1)]) {
      const got = await open(url());
      got.socket.setNoDelay(true);
      got.socket.write(get('/nothing'));
      await until(() => textOf(got).includes('HTTP/1.1 404'));
      const pieces = [0, ...cuts].map((from, i) => whole.subarray(from, cuts[i] ?? whole.length));
      // With TLS each piece is a record, which the edge reads by itself.
      for (const piece of pieces) {
        await new Promise((written) => got.socket.write(piece, written));
      }
      await until(() => got.closed);
      const answer = Buffer.concat(got.pieces);
      const second = answer.subarray(answer.indexOf('HTTP/1.1', 1));
      const body = second.subarray(second.indexOf('\r\n\r\n') + 4);
      expect(sha256(body)).toBe(origin.digest('/caf%C3%A9'));
    }
  });

  test('that begins in the packet in which the request before it ends is answered with the file', async () => {
    const raw = get(`/http://${origin.host}/caf\xc3\xa9`);
    const cut = raw.indexOf(0xc3);
    const got = await open(url());
    got.socket.setNoDelay(true);
    got.socket.write(Buffer.concat([get('/nothing'), raw.subarray(0, cut)]));
    await until(() => textOf(got).includes('HTTP/1.1 404'));
    got.socket.write(raw.subarray(cut));
    await until(() => got.closed);
    const answer = Buffer.concat(got.pieces);
    const second = answer.subarray(answer.indexOf('HTTP/1.1', 1));
    expect(sha256(second.subarray(second.indexOf('\r\n\r\n') + 4))).toBe(
      origin.digest('/caf%C3%A9'),
    );
  });

  test.each([
    ['a raw target', get('/\xe9')],
    ['a raw target, and another', Buffer.concat([get('/\xe9'), get('/\xe9')])],
    ['CONNECT', Buffer.from('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['garbage', Buffer.from('blah\r\n\r\n')],
  ])(
    'when 40 clients leave that sent, behind their transfers, %s: no transfer stays active',
    async (_, behind) => {
      const clients = await Promise.all(Array.from({ length: 40 }, () => open(url())));
      const first = Buffer.concat([get(`/${slowUrl}/1`), get(`/${slowUrl}/2`)]);
      // CONNECT by itself ends a connection. Otherwise some clients wait for one to the origin.
      const kept = !behind.includes('CONNECT');
      for (const { socket } of clients) socket.write(Buffer.concat([first, behind]));
      if (kept) await until(() => clients.some(({ pieces }) => pieces.length > 0));
      for (const { socket } of clients) socket.destroy();
      await until(async () => (await edge.status()).transfers.active === 0);
      await isWell();
    },
  );
});

test('a client that ends its side gets a reset, and no short body that looks complete', async () => {
  for (const behind of [Buffer.alloc(0), get('/\xe9'), Buffer.from('blah\r\n\r\n')]) {
    const got = await open(edge.url);
    got.socket.write(get(`/${slowUrl}/long`, '1.0'));
    await until(() => Buffer.concat(got.pieces).includes(half.subarray(-100)));
    got.socket.end(behind);
    await until(() => got.closed);
    expect(got.reset).toBe(true);
  }
});

test('connections with raw targets leave no parser behind: the heap does not grow', async () => {
  const round = async (connections: number) => {
    for (let i = 0; i < connections; i += 50) {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const got = await open(edge.url);
          got.socket.write(get('/\xe9'));
          await until(() => got.closed);
        }),
      );
      sockets.length = 0;
    }
  };
  await round(200);
  const before = await heapBytes();
  await round(1500);
  // A parser that is left behind takes 21 kB.
  expect((await heapBytes()) - before).toBeLessThan(1500 * 3000);
});

test('an edge of several processes serves raw targets as well', async () => {
  const many = await EdgeProcess.start([...options, ...limits, '--workers', '2']);
  try {
    for (let i = 0; i < 8; i++) {
      const got = await open(many.url);
      got.socket.write(get(`/http://${origin.host}/\xc3\xbc${i}`));
      await until(() => got.closed);
      const whole = Buffer.concat(got.pieces);
      const body = whole.subarray(whole.indexOf('\r\n\r\n') + 4);
      expect(sha256(body)).toBe(origin.digest(`/%C3%BC${i}`));
    }
    await isWell(many);
  } finally {
    await many.stop('SIGKILL');
  }
});
