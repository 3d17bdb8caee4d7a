/** Stage of tests of `Transport`: origins, proxies and transports that end with their test; for Jest only. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeEach, expect } from '@jest/globals';
import { CERTIFICATE, KEY } from '@millrace/shared/testing/certificate';
import { Transport, type TransportOptions } from '../transport.ts';
import { HttpProxy } from './http-proxy.ts';
import { SocksProxy } from './socks-proxy.ts';

/** Certificates that other tests of this process trust. */
const usual = getCACertificates('default');

/** Has transports trust the certificate of origins and proxies no more, until the test ends. */
export const distrust = () => setDefaultCACertificates(usual);

/** A request as the origin sees it. */
interface Seen {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

export class TransportStage {
  readonly #ends: (() => Promise<unknown>)[] = [];

  /** Construct it once in a file, outside its tests. */
  constructor() {
    beforeEach(() => setDefaultCACertificates([...usual, CERTIFICATE]));
    afterEach(async () => {
      for (const end of this.#ends.splice(0).reverse()) await end();
    });
    afterAll(distrust);
  }

  /** Starts an origin that answers with its Host; only the proxies know its name. */
  async origin(tls = false): Promise<{ port: number; seen: Seen[] }> {
    const seen: Seen[] = [];
    const server: Server = tls ? createTlsServer({ key: KEY, cert: CERTIFICATE }) : createServer();
    server.on('request', (request, answer) => {
      seen.push({ url: request.url, headers: request.headers });
      answer.end(`this is ${request.headers.host}`);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#ends.push(async () => {
      server.close();
      server.closeAllConnections();
    });
    return { port: (server.address() as AddressInfo).port, seen };
  }

  async httpProxy(...options: Parameters<typeof HttpProxy.start>): Promise<HttpProxy> {
    const proxy = await HttpProxy.start(...options);
    this.#ends.push(() => proxy.stop());
    return proxy;
  }

  async socksProxy(...options: Parameters<typeof SocksProxy.start>): Promise<SocksProxy> {
    const proxy = await SocksProxy.start(...options);
    this.#ends.push(() => proxy.stop());
    return proxy;
  }

  transport(proxy: string | undefined, options: Partial<TransportOptions> = {}): Transport {
    const made = new Transport({ proxy, env: {}, timeoutMs: 20_000, connections: 4, ...options });
    this.#ends.push(() => made.close());
    return made;
  }
}

/** Requests a URL. @returns the status and the body */
export async function get(
  via: Transport,
  text: string,
  signal = new AbortController().signal,
): Promise<string> {
  const url = new URL(text);
  const response = await via.get(url, { 'x-own': 'yes' }, signal);
  let body = '';
  await response.pipe((piece) => {
    body += piece.toString('latin1');
    return true;
  });
  return `${response.status} ${body}`;
}

/** Returns the error of a request, and checks that it shows no password. */
export async function failure(
  promise: Promise<unknown>,
): Promise<{ code: string; detail: string }> {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  );
  const all = [String(error), JSON.stringify(error), String(error?.cause)].join(' ');
  expect(all).not.toMatch(/secret|c2VjcmV0/);
  return { code: error?.code, detail: error?.detail };
}
