/**
 * Carries a download's requests to their servers: directly, through an HTTP proxy or through a
 * SOCKS proxy. Each way has one undici Agent; they differ in how a connection is opened.
 */

import type { LookupFunction, Socket } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { Millis } from '@millrace/shared/base/clock';
import { ADDRESS_ATTEMPT_MS } from '@millrace/shared/node/open-socket';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import {
  askedToLogIn,
  type Connect,
  connectToProxy,
  openTunnel,
  proxyAuthorization,
} from './proxy-connect.ts';
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
  /** Certificates (PEM) that are trusted besides the system's. */
  readonly ca?: readonly string[] | undefined;
}

export interface Transport {
  /** Returns the dispatcher for requests to this URL; the same for all URLs of one origin. */
  dispatcherFor(url: URL): Dispatcher;
  /** Dispatcher for requests to servers themselves, whatever the proxy. */
  readonly direct: Dispatcher;
  /** Returns true if requests to this URL go through a proxy. */
  proxied(url: URL): boolean;
  /** Ends all requests under way. */
  close(): Promise<void>;
}

const MAX_CONNECT_MS = 10_000;
/** Longest response head, in bytes: as long as other clients accept. */
const MAX_HEAD_BYTES = 128 * 1024;
/** Creates a transport. @throws MillraceError `bad-option` for a proxy that cannot be used */
export function createTransport(options: TransportOptions): Transport {
  const choose = proxyChoice(options.proxy, options.env);
  const sockets = new ConnectingSockets();
  const direct = new Agent(agentOptions(options, connector(options, options.lookup)));
  const ways = new Map<ProxyServer, { readonly agent: Agent; readonly dispatcher: Dispatcher }>();
  const wayOf = (proxy: ProxyServer) => {
    let way = ways.get(proxy);
    if (way === undefined) {
      const agent = new Agent(agentOptions(options, viaProxy(proxy, options, sockets)));
      const forwarding = proxy.scheme === 'http' || proxy.scheme === 'https';
      way = { agent, dispatcher: forwarding ? agent.compose(absoluteForm(proxy)) : agent };
      ways.set(proxy, way);
    }
    return way;
  };
  return {
    dispatcherFor(url) {
      const proxy = choose(url);
      return proxy === undefined ? direct : wayOf(proxy).dispatcher;
    },
    direct,
    proxied: (url) => choose(url) !== undefined,
    async close() {
      sockets.destroy();
      const agents = [direct, ...[...ways.values()].map((way) => way.agent)];
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}

function agentOptions(options: TransportOptions, connect: buildConnector.connector): Agent.Options {
  const { connections, timeoutMs } = options;
  return {
    connections,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    connect,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  };
}

function connector(
  options: TransportOptions,
  lookup?: LookupFunction | undefined,
): buildConnector.connector {
  const { ca, timeoutMs } = options;
  return buildConnector({
    allowH2: false,
    timeout: Math.min(timeoutMs, MAX_CONNECT_MS),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    ...(lookup === undefined ? {} : { lookup }),
    ...(ca === undefined ? {} : { secureContext: trusting(ca) }),
  } as buildConnector.BuildOptions);
}

/**
 * Builds the context once: reading all certificates for each connection would take longer than the
 * handshake.
 */
function trusting(ca: readonly string[]): SecureContext {
  return createSecureContext({ ca: [...getCACertificates('default'), ...ca] });
}

/**
 * Opens connections through a proxy. For an http:// URL at an HTTP proxy, the connection leads to
 * the proxy itself; in all other cases it is a tunnel, because many proxies tunnel only to ports of
 * https://.
 */
function viaProxy(
  proxy: ProxyServer,
  options: TransportOptions,
  sockets: ConnectingSockets,
): buildConnector.connector {
  const open = connector(options);
  const connect: Connect = (to) =>
    new Promise((resolve, reject) => {
      // undici's types hide that the socket is returned: it must be ended when the transport
      // closes.
      const socket = open(to, (error, ready) => {
        sockets.delete(socket);
        if (error === null) resolve(ready);
        else reject(error);
      }) as unknown as Socket;
      sockets.add(socket);
    });
  const establish = async (to: buildConnector.Options): Promise<Socket> => {
    const secure = to.protocol === 'https:';
    const socket = await connectToProxy(proxy, connect);
    const forwarding = proxy.scheme === 'http' || proxy.scheme === 'https';
    if (forwarding && !secure) return socket;
    sockets.add(socket);
    try {
      const host = to.hostname.replace(/^\[|\]$/g, '');
      const port = Number(to.port) || (secure ? 443 : 80);
      const timeoutMs = Math.min(options.timeoutMs, MAX_CONNECT_MS);
      await openTunnel(proxy, { host, port }, socket, timeoutMs);
      return secure ? await connect({ ...to, httpSocket: socket }) : socket;
    } finally {
      sockets.delete(socket);
    }
  };
  return (to, callback) => {
    establish(to).then(
      (socket) => callback(null, socket),
      (error) => callback(error as Error, null),
    );
  };
}

/**
 * Returns an interceptor for http:// URLs: their requests name the whole URL (RFC 9112 3.2.2) and
 * carry the proxy's credentials. Their connections lead only to the proxy, so that no origin sees
 * the credentials.
 */
function absoluteForm(proxy: ProxyServer): Dispatcher.DispatcherComposeInterceptor {
  const authorization = proxyAuthorization(proxy);
  const own = authorization === undefined ? {} : { 'proxy-authorization': authorization };
  return (dispatch) => (request, handler) => {
    const origin = String(request.origin);
    if (!origin.startsWith('http:')) return dispatch(request, handler);
    const headers = { ...(request.headers as Record<string, string>), ...own };
    return dispatch(
      { ...request, path: `${origin}${request.path}`, headers },
      refusing(proxy, handler),
    );
  };
}

/** Treats 407 as an answer of the proxy, not of the origin. */
function refusing(
  proxy: ProxyServer,
  handler: Dispatcher.DispatchHandler,
): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onRequestUpgrade: (controller, status, headers, socket) =>
      handler.onRequestUpgrade?.(controller, status, headers, socket),
    onResponseStart(controller, status, headers, message) {
      if (status === 407) controller.abort(askedToLogIn(proxy));
      else handler.onResponseStart?.(controller, status, headers, message);
    },
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
  };
}

/** Sockets that no Agent knows yet. */
class ConnectingSockets {
  readonly #sockets = new Set<Socket>();
  #over = false;

  add(socket: Socket): void {
    if (this.#over) socket.destroy();
    else this.#sockets.add(socket);
  }

  delete(socket: Socket): void {
    this.#sockets.delete(socket);
  }

  destroy(): void {
    this.#over = true;
    for (const socket of this.#sockets) socket.destroy(new Error('not wanted any more'));
  }
}
