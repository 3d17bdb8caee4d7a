/**
 * Sends GET requests through one proxy: over tunnels, or, for http:// URLs at an HTTP proxy, over
 * connections to the proxy itself, because many proxies tunnel only to ports of https://.
 */

import type { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { HttpClient, type HttpStream } from '@millrace/shared/node/http-client';
import { openSocket, type SocketOptions } from '@millrace/shared/node/open-socket';
import type { RangeClientOptions } from '@millrace/shared/node/range-client';
import type { ProxyServer } from '../proxy/proxy-settings.ts';
import { askedToLogIn, connectToProxy, openTunnel, proxyAuthorization } from './proxy-connect.ts';

type Fields = Readonly<Record<string, string>>;
type Tls = Pick<SocketOptions, 'session' | 'onSession' | 'over'>;

export class ProxyClient {
  readonly #proxy: ProxyServer;
  readonly #timeoutMs: Millis;
  readonly #closed: AbortSignal;
  readonly #client: HttpClient;

  /** @param closed ends the opening of connections */
  constructor(proxy: ProxyServer, limits: RangeClientOptions, closed: AbortSignal) {
    this.#proxy = proxy;
    this.#timeoutMs = limits.connectTimeoutMs;
    this.#closed = closed;
    const way = {
      open: (url: URL, tls: Tls, signal: AbortSignal) =>
        this.#open(url, tls, AbortSignal.any([signal, closed])),
      isForwarded: (url: URL) => this.#isForwarded(url),
    };
    this.#client = new HttpClient({ ...limits, way });
  }

  /** Sends one GET. @throws as `HttpClient.get`; MillraceError of the proxy */
  async get(url: URL, headers: Fields, signal: AbortSignal): Promise<HttpStream> {
    this.#closed.throwIfAborted();
    if (!this.#isForwarded(url)) return this.#client.get(url, headers, signal);
    // No origin sees the credentials: the connections of such requests lead to the proxy.
    const authorization = proxyAuthorization(this.#proxy);
    const own: Fields = authorization === undefined ? {} : { 'proxy-authorization': authorization };
    const response = await this.#client.get(url, { ...headers, ...own }, signal);
    if (response.status !== 407) return response;
    response.discard();
    throw askedToLogIn(this.#proxy);
  }

  /** Closes idle connections. */
  close(): void {
    this.#client.close();
  }

  #isForwarded({ protocol }: URL): boolean {
    const { scheme } = this.#proxy;
    return protocol === 'http:' && (scheme === 'http' || scheme === 'https');
  }

  async #open(url: URL, tls: Tls, signal: AbortSignal): Promise<Socket> {
    const proxy = this.#proxy;
    const connect = (to: URL, how: Tls) => connectWithin(to, how, this.#timeoutMs, signal);
    const socket = await connectToProxy(proxy, (to) => connect(to, {}));
    if (this.#isForwarded(url)) return socket;
    const secure = url.protocol === 'https:';
    const target = {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port) || (secure ? 443 : 80),
    };
    const giveUp = () => void socket.destroy();
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      await openTunnel(proxy, target, socket, this.#timeoutMs);
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
    signal.throwIfAborted();
    return secure ? connect(url, { ...tls, over: socket }) : socket;
  }
}

/**
 * Opens a socket, TLS included.
 *
 * @throws the socket's Error; the signal's reason; MillraceError `origin-timeout`
 */
function connectWithin(
  url: URL,
  how: Tls,
  timeoutMs: Millis,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onConnect = () => {
      end();
      resolve(socket);
    };
    const socket = openSocket(url, { ...how, onConnect });
    const late = setTimeout(() => {
      socket.destroy(new MillraceError('origin-timeout', { code: 'connection-late' }));
    }, timeoutMs);
    const onAbort = () => void socket.destroy(signal.reason);
    const end = () => {
      clearTimeout(late);
      signal.removeEventListener('abort', onAbort);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const fail = (error: unknown) => {
      end();
      how.over?.destroy();
      reject(signal.aborted ? signal.reason : error);
    };
    // The listener stays, because the connection made of the socket listens a little later.
    socket.on('error', fail);
    socket.once('close', () => fail(new MillraceError('origin-reset', { code: 'closed-early' })));
  });
}
