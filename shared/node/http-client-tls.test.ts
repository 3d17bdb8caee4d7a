import { once } from 'node:events';
import type { AddressInfo, LookupFunction, Server } from 'node:net';
import {
  createServer,
  getCACertificates,
  setDefaultCACertificates,
  type TLSSocket,
} from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { CERTIFICATE, KEY } from '../testing/certificate.ts';
import { HttpClient, type HttpStream } from './http-client.ts';

const forEver = new AbortController().signal;
const OK = 'HTTP/1.1 200 OK\r\n';
const HELLO = `${OK}Content-Length: 5\r\nETag: "a"\r\n\r\nhello`;

const servers: Server[] = [];
const clients: HttpClient[] = [];
const sockets = new Set<TLSSocket>();

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => once(server.close(), 'close')));
});

async function read(response: HttpStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await response.pipe((piece) => {
    pieces.push(Buffer.from(piece));
    return true;
  });
  return Buffer.concat(pieces);
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('HttpClient over TLS', () => {
  /** Resolves every name to this machine. */
  const lookup: LookupFunction = (_name, _options, done) =>
    done(null, [{ address: '127.0.0.1', family: 4 }]);

  const usual = getCACertificates('default');
  beforeAll(() => setDefaultCACertificates([...usual, CERTIFICATE]));
  // Other tests of this process trust no such certificate.
  afterAll(() => setDefaultCACertificates(usual));

  /**
   * A server with TLS that answers every request so, and may end the connection then.
   *
   * @returns its port and its connections
   */
  async function serveOverTls(
    answer: string,
    ends = false,
  ): Promise<{ port: number; sockets: TLSSocket[] }> {
    const all: TLSSocket[] = [];
    const server = createServer({ key: KEY, cert: CERTIFICATE }, (socket) => {
      all.push(socket);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => {});
      socket.on('data', () => {
        if (ends) socket.end(answer, 'latin1');
        else socket.write(answer, 'latin1');
      });
    });
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return { port: (server.address() as AddressInfo).port, sockets: all };
  }

  function tlsClient(connections: number): HttpClient {
    const limits = { timeoutMs: 10_000, connectTimeoutMs: 10_000, mends: true };
    const made = new HttpClient({ connections, lookup, ...limits });
    clients.push(made);
    return made;
  }

  test.each(['localhost', '127.0.0.1'])('reads from %s', async (host) => {
    const warned = jest.fn();
    process.on('warning', warned);
    const { port } = await serveOverTls(HELLO);
    const response = await tlsClient(1).get(new URL(`https://${host}:${port}/`), {}, forEver);
    expect([response.headers.etag, (await read(response)).toString()]).toEqual(['"a"', 'hello']);
    await settle();
    process.off('warning', warned);
    // Node warns users of addresses that are sent as names.
    expect(warned).not.toHaveBeenCalled();
  });

  test('reads a header that undici refuses', async () => {
    const { port } = await serveOverTls(`${OK}X: one\r\n two\r\nContent-Length: 0\r\n\r\n`);
    const response = await tlsClient(1).get(new URL(`https://localhost:${port}/`), {}, forEver);
    expect([response.status, (await read(response)).length]).toEqual([200, 0]);
  });

  test.each([100, 30_000, 100_000])(
    'keeps the %d bytes of a body that came with its head until they are wanted',
    async (length) => {
      const body = Buffer.alloc(length);
      for (let i = 0; i < length; i++) body[i] = (i * 31) ^ (i >> 8);
      const { port } = await serveOverTls(
        `${OK}Content-Length: ${length}\r\n\r\n${body.toString('latin1')}`,
      );
      const response = await tlsClient(1).get(new URL(`https://localhost:${port}/`), {}, forEver);
      // Time in which all that was decrypted arrives, as when a file is opened meanwhile.
      for (let i = 0; i < 100; i++) await settle();
      expect((await read(response)).equals(body)).toBe(true);
    },
  );

  test.each([
    ['a length', (length: number) => `Content-Length: ${length}\r\n\r\n`],
    ['no length', () => '\r\n'],
  ])(
    'gets no piece while its receiver is not ready, and all of them before the end: %s',
    async (_, fields) => {
      const body = Buffer.alloc(200_000);
      for (let i = 0; i < body.length; i++) body[i] = (i * 31) ^ (i >> 8);
      const { port, sockets: all } = await serveOverTls(
        `${OK}Connection: close\r\n${fields(body.length)}${body.toString('latin1')}`,
        true,
      );
      const response = await tlsClient(1).get(new URL(`https://localhost:${port}/`), {}, forEver);
      // The server has ended the connection before anything of the body is wanted.
      while (!all.every(({ writableFinished }) => writableFinished)) await settle();
      const pieces: Buffer[] = [];
      let early = 0;
      let last: readonly [Buffer, Buffer] | undefined;
      await response.pipe((piece, resume) => {
        if (last !== undefined) early++;
        const copy = Buffer.from(piece);
        pieces.push(copy);
        last = [piece, copy];
        void (async () => {
          for (let i = 0; i < 20; i++) await settle();
          // Nothing is read into the memory of a piece whose receiver is not ready.
          expect(piece.equals(copy)).toBe(true);
          last = undefined;
          resume();
        })();
        return false;
      });
      expect(early).toBe(0);
      expect(Buffer.concat(pieces).equals(body)).toBe(true);
    },
  );

  test('goes on with the session of an earlier connection', async () => {
    const served = await serveOverTls(HELLO);
    const url = new URL(`https://localhost:${served.port}/`);
    const from = tlsClient(2);
    const first = await from.get(url, {}, forEver);
    // The first connection is busy until its body is read, so that the second needs its own.
    await read(await from.get(url, {}, forEver));
    await read(first);
    expect(served.sockets.map((socket) => socket.isSessionReused())).toEqual([false, true]);
  });

  test('takes no byte from a server whose certificate is for another name', async () => {
    const { port } = await serveOverTls(HELLO);
    const url = new URL(`https://files.test:${port}/`);
    await expect(tlsClient(1).get(url, {}, forEver)).rejects.toMatchObject({
      code: 'certificate-invalid',
    });
  });
});
