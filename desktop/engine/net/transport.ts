/**
 * Carries a download's requests to their servers: directly, or through the proxy that the user or
 * the environment names for a URL.
 */

import type { LookupFunction } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { HttpClient, type HttpStream } from '@millrace/shared/node/http-client';
import type { ProxyClient } from './proxy-client.ts';
import { type Environment, type ProxyServer, proxyChoice } from './proxy-settings.ts';

export interface TransportOptions {
  /**
   * URL with http://, https://, socks4://, socks4a:// or socks5://; `direct`: no proxy; undefined:
   * the environment's proxy.
   */
  readonly proxy?: string | undefined;
  /** Environment with `http_proxy`, `no_proxy` and so on; usually `process.env`. */
  readonly env: Environment;
  /**
   * Time limit for the head of an answer, and for silence during its body, in milliseconds;
   * connecting may take at most 10 s of it.
   */
  readonly timeoutMs: Millis;
  /** Most simultaneous connections to one origin. */
  readonly connections: number;
  /** Resolves names of servers if no proxy is used; default: the system's resolver. */
  readonly lookup?: LookupFunction | undefined;
}

type Fields = Readonly<Record<string, string>>;

/** Longest time for connecting, in milliseconds; a slower server counts as unreachable. */
const MAX_CONNECT_MS = 10_000;

export class Transport {
  readonly #choose: (url: URL) => ProxyServer | undefined;
  readonly #limits: ConstructorParameters<typeof HttpClient>[0];
  readonly #direct: HttpClient;
  readonly #proxied = new Map<ProxyServer, Promise<ProxyClient>>();
  /** Ends the opening of connections through proxies. */
  readonly #closed = new AbortController();

  /** @throws MillraceError `bad-option` for a proxy that cannot be used */
  constructor({ proxy, env, timeoutMs, connections, lookup }: TransportOptions) {
    this.#choose = proxyChoice(proxy, env);
    const connectTimeoutMs = Math.min(timeoutMs, MAX_CONNECT_MS);
    const limits = { connections, timeoutMs, connectTimeoutMs, headTimeoutMs: timeoutMs };
    this.#limits = { ...limits, mends: true };
    this.#direct = new HttpClient({ ...this.#limits, ...(lookup === undefined ? {} : { lookup }) });
  }

  /** Returns true if requests to this URL go through a proxy. */
  isProxied(url: URL): boolean {
    return this.#choose(url) !== undefined;
  }

  /** Sends one GET. @throws as `HttpClient.get`; MillraceError of the proxy */
  async get(url: URL, headers: Fields, signal: AbortSignal): Promise<HttpStream> {
    const proxy = this.#choose(url);
    if (proxy === undefined) return this.#direct.get(url, headers, signal);
    return (await this.#clientOf(proxy)).get(url, headers, signal);
  }

  /** Closes idle connections, and gives up those that are being opened through a proxy. */
  async close(): Promise<void> {
    this.#direct.close();
    this.#closed.abort(new Error('not wanted any more'));
    for (const client of this.#proxied.values()) (await client).close();
  }

  #clientOf(proxy: ProxyServer): Promise<ProxyClient> {
    let client = this.#proxied.get(proxy);
    if (client === undefined) {
      // Loaded when it is needed: most downloads go without a proxy.
      client = import('./proxy-client.ts').then(
        ({ ProxyClient }) => new ProxyClient(proxy, this.#limits, this.#closed.signal),
      );
      this.#proxied.set(proxy, client);
    }
    return client;
  }
}
