/**
 * Carries a download's requests to their servers: directly, or through the proxy that the user, the
 * environment or the system names for a URL.
 */

import type { LookupFunction } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import { HttpClient, type HttpStream } from '@millrace/shared/node/http-client';
import {
  type Environment,
  hasEnvironmentProxy,
  isBySystem,
  type ProxyServer,
  proxyChoice,
} from '../proxy/proxy-settings.ts';
import { type SystemWays, systemWays } from '../proxy/system-ways.ts';
import type { ProxyClient } from './proxy-client.ts';

export interface TransportOptions {
  /**
   * URL with http://, https://, socks4://, socks4a:// or socks5://; `direct`: no proxy; `system` or
   * undefined: the environment's proxy, and without one the system's.
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
  /** Ways by the system's settings; default: those of this system. */
  readonly system?: SystemWays | undefined;
}

type Fields = Readonly<Record<string, string>>;

/** Longest time for connecting, in milliseconds; a slower server counts as unreachable. */
const MAX_CONNECT_MS = 10_000;

export class Transport {
  readonly #choose: (url: URL) => ProxyServer | undefined;
  /** Undefined if the user or the environment decides. */
  readonly #system: SystemWays | undefined;
  readonly #limits: ConstructorParameters<typeof HttpClient>[0];
  readonly #direct: HttpClient;
  /** Clients by the proxy's address and log-in. */
  readonly #proxied = new Map<string, Promise<ProxyClient>>();
  /** Ends the opening of connections through proxies. */
  readonly #closed = new AbortController();

  /** @throws MillraceError `bad-option` for a proxy that cannot be used */
  constructor({ proxy, env, timeoutMs, connections, lookup, system }: TransportOptions) {
    this.#choose = proxyChoice(proxy, env);
    const bySystem = isBySystem(proxy) && !hasEnvironmentProxy(env);
    this.#system = bySystem ? (system ?? systemWays(env)) : undefined;
    const connectTimeoutMs = Math.min(timeoutMs, MAX_CONNECT_MS);
    const limits = { connections, timeoutMs, connectTimeoutMs, headTimeoutMs: timeoutMs };
    this.#limits = { ...limits, mends: true };
    this.#direct = new HttpClient({ ...this.#limits, ...(lookup === undefined ? {} : { lookup }) });
  }

  /** Returns true if requests to this URL go through a proxy. */
  async isProxied(url: URL): Promise<boolean> {
    if (this.#system === undefined) return this.#choose(url) !== undefined;
    return (await this.#system.ways(url))[0] !== undefined;
  }

  /** Sends one GET. @throws as `HttpClient.get`; MillraceError of the proxy */
  async get(url: URL, headers: Fields, signal: AbortSignal): Promise<HttpStream> {
    if (this.#system === undefined) return this.#getBy(this.#choose(url), url, headers, signal);
    const ways = await this.#system.ways(url);
    for (const way of ways.slice(0, -1)) {
      try {
        return await this.#getBy(way, url, headers, signal);
      } catch (error) {
        // The script of the system names another way for the case that this proxy is down.
        const isDown = isMillraceError(error) && error.code === 'proxy-failed';
        if (way === undefined || !isDown || signal.aborted) throw error;
        this.#system.failed(way);
      }
    }
    return this.#getBy(ways.at(-1), url, headers, signal);
  }

  /** Closes idle connections, and gives up those that are being opened through a proxy. */
  async close(): Promise<void> {
    this.#direct.close();
    this.#closed.abort(new Error('not wanted any more'));
    for (const client of this.#proxied.values()) (await client).close();
  }

  async #getBy(
    proxy: ProxyServer | undefined,
    url: URL,
    headers: Fields,
    signal: AbortSignal,
  ): Promise<HttpStream> {
    if (proxy === undefined) return this.#direct.get(url, headers, signal);
    return (await this.#clientOf(proxy)).get(url, headers, signal);
  }

  #clientOf(proxy: ProxyServer): Promise<ProxyClient> {
    const { scheme, host, port, user, password } = proxy;
    const key = JSON.stringify([scheme, host, port, user, password]);
    let client = this.#proxied.get(key);
    if (client === undefined) {
      // Loaded when it is needed: most downloads go without a proxy.
      client = import('./proxy-client.ts').then(
        ({ ProxyClient }) => new ProxyClient(proxy, this.#limits, this.#closed.signal),
      );
      this.#proxied.set(key, client);
    }
    return client;
  }
}
