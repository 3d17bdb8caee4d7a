/** An HTTP proxy for tests: forwards and tunnels requests, records them, and fails on demand. */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { CERTIFICATE, KEY } from '@millrace/shared/testing/certificate';
import { ProxyServer } from './proxy-server.ts';

export interface HttpProxyOptions {
  readonly tls?: boolean;
  /** `user:password` that the proxy asks for. */
  readonly login?: string;
  /** Fault to show instead of serving requests. */
  readonly fault?: 'denies' | 'busy' | 'nonsense' | 'hangs-up' | 'dies-in-head' | 'silent';
}

export class HttpProxy extends ProxyServer {
  /** Recorded requests: "CONNECT origin.test:443", "GET http://origin.test/". */
  readonly asked: string[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly #options: HttpProxyOptions;

  private constructor(options: HttpProxyOptions) {
    const server = options.tls ? createTlsServer({ key: KEY, cert: CERTIFICATE }) : createServer();
    super(server);
    this.#options = options;
    server.on('connect', (asked, socket) => this.#onConnect(asked, socket));
    server.on('request', (asked, answer) => this.#onRequest(asked, answer));
  }

  static start(options: HttpProxyOptions = {}): Promise<HttpProxy> {
    return new HttpProxy(options).listen();
  }

  #note(asked: IncomingMessage): void {
    this.asked.push(`${asked.method} ${asked.url}`);
    this.headers.push(asked.headers);
  }

  /** Returns the status to answer instead of serving the request; undefined: serves it. */
  #refusal(asked: IncomingMessage): number | undefined {
    const { login, fault } = this.#options;
    const expected = `Basic ${Buffer.from(login ?? '').toString('base64')}`;
    if (login !== undefined && asked.headers['proxy-authorization'] !== expected) return 407;
    return fault === 'denies' ? 403 : fault === 'busy' ? 503 : undefined;
  }

  #onConnect(asked: IncomingMessage, socket: Duplex): void {
    this.#note(asked);
    socket.on('error', () => {});
    const { fault } = this.#options;
    if (fault === 'silent') return;
    if (fault === 'hangs-up') return void socket.destroy();
    if (fault === 'nonsense') return void socket.end('SSH-2.0-OpenSSH_9.6\r\n');
    if (fault === 'dies-in-head') return void socket.end('HTTP/1.1 200 Connection est');
    const refusal = this.#refusal(asked);
    if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} No\r\n\r\n`);
    const port = Number(asked.url?.split(':').at(-1));
    const origin = this.tunnel(socket, port, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    });
    origin.on('error', () => socket.end('HTTP/1.1 502 Bad gateway\r\n\r\n'));
  }

  #onRequest(asked: IncomingMessage, answer: ServerResponse): void {
    this.#note(asked);
    const refusal = this.#refusal(asked);
    if (refusal !== undefined) {
      answer.writeHead(refusal, { 'proxy-authenticate': 'Basic realm="test"' }).end('no');
      return;
    }
    const url = new URL(asked.url ?? '');
    const { 'proxy-authorization': _, ...headers } = asked.headers;
    const path = url.pathname + url.search;
    const onward = request({ host: '127.0.0.1', port: url.port, path, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(answer);
    });
    onward.on('error', () => answer.writeHead(502).end()).end();
  }
}
