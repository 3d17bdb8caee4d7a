/**
 * Opens connections to an origin's port through a proxy: CONNECT (RFC 9110 9.3.6) and SOCKS (RFC
 * 1928, 1929; SOCKS4 and 4a). Every failure before the tunnel is open is reported as the proxy's.
 */

import { lookup } from 'node:dns/promises';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Detail, DetailValue } from '@millrace/shared/base/error-table/particulars';
import { MillraceError } from '@millrace/shared/base/errors';
import { networkError } from '@millrace/shared/node/network-error';
import { SocksClient } from 'socks';
import { formatProxy, type ProxyServer } from '../proxy/proxy-settings.ts';

/** Destination of a tunnel. */
export interface Target {
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Opens a socket to the host of a URL, with TLS for https:. */
type Connect = (url: URL) => Promise<Socket>;

/** Longest answer of a proxy to CONNECT, in bytes. */
const MAX_HEAD_BYTES = 16 * 1024;

/**
 * Returns the value of Proxy-Authorization (RFC 7617), if the proxy's URL has a user or password.
 */
export function proxyAuthorization(proxy: ProxyServer): string | undefined {
  const { user, password } = proxy;
  if (user === undefined && password === undefined) return undefined;
  return `Basic ${Buffer.from(`${user ?? ''}:${password ?? ''}`).toString('base64')}`;
}

/** Returns the error for a proxy's answer 407. */
export function askedToLogIn(proxy: ProxyServer): MillraceError {
  const given = proxyAuthorization(proxy) !== undefined;
  const code = given ? 'proxy-refuses-log-in' : 'proxy-asks-log-in';
  return new MillraceError('proxy-denied', { code, values: { proxy: formatProxy(proxy) } });
}

/**
 * Opens a connection to the proxy itself.
 *
 * @throws MillraceError `proxy-failed`, `certificate-invalid`
 */
export async function connectToProxy(proxy: ProxyServer, connect: Connect): Promise<Socket> {
  const { scheme, host, port } = proxy;
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  try {
    return await connect(new URL(`${scheme === 'https' ? 'https' : 'http'}://${authority}`));
  } catch (error) {
    const { code, reason, row } = networkError(error, false);
    const detail = atProxy(proxy, reason === '' ? row.title : reason);
    const said = code === 'certificate-invalid' ? code : 'proxy-failed';
    throw new MillraceError(said, detail, { cause: error });
  }
}

/**
 * Turns `socket`, a connection to the proxy, into a connection to the target.
 *
 * @param timeoutMs time limit for the proxy, in milliseconds
 * @throws MillraceError `proxy-failed`, `proxy-denied`, `origin-unreachable`; the socket is
 *   destroyed
 */
export async function openTunnel(
  proxy: ProxyServer,
  target: Target,
  socket: Socket,
  timeoutMs: number,
): Promise<void> {
  try {
    if (proxy.scheme === 'http' || proxy.scheme === 'https') {
      await httpTunnel(proxy, target, socket, timeoutMs);
    } else {
      await socksTunnel(proxy, target, socket, timeoutMs);
    }
  } catch (error) {
    socket.on('error', () => {}).destroy();
    throw error;
  }
}

async function httpTunnel(
  proxy: ProxyServer,
  target: Target,
  socket: Socket,
  timeoutMs: number,
): Promise<void> {
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
  const authorization = proxyAuthorization(proxy);
  const asked = process.getBuiltinModule('node:http').request({
    method: 'CONNECT',
    path: authority,
    createConnection: () => socket,
    maxHeaderSize: MAX_HEAD_BYTES,
    setHost: false,
    headers: {
      host: authority,
      'user-agent': 'Millrace/0.1',
      ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
    },
  });
  const { status, early } = await answerTo(asked, proxy, timeoutMs);
  // tinyproxy answers 401 to a wrong password.
  if (status === 407 || status === 401) throw askedToLogIn(proxy);
  if (status >= 200 && status < 300) {
    if (early.length > 0) socket.unshift(early);
    return;
  }
  throw new MillraceError(status >= 400 && status < 500 ? 'proxy-denied' : 'proxy-failed', {
    code: 'proxy-answered',
    values: { proxy: formatProxy(proxy), status, place: authority },
  });
}

function answerTo(
  asked: ClientRequest,
  proxy: ProxyServer,
  timeoutMs: number,
): Promise<{ status: number; early: Buffer }> {
  const values = { proxy: formatProxy(proxy) };
  return new Promise((resolve, reject) => {
    const fail = (code: 'proxy-silent' | 'proxy-not-http' | 'proxy-hung-up', cause?: unknown) => {
      clearTimeout(timer);
      reject(new MillraceError('proxy-failed', { code, values }, { cause }));
    };
    const timer = setTimeout(() => {
      fail('proxy-silent');
      asked.destroy();
    }, timeoutMs);
    asked.on('error', (error: NodeJS.ErrnoException) => {
      const nonsense = error.code?.startsWith('HPE_') === true;
      fail(nonsense ? 'proxy-not-http' : 'proxy-hung-up', error);
    });
    asked.on('connect', (response: IncomingMessage, _socket: Socket, early: Buffer) => {
      clearTimeout(timer);
      resolve({ status: response.statusCode ?? 0, early });
    });
    asked.end();
  });
}

async function socksTunnel(
  proxy: ProxyServer,
  target: Target,
  socket: Socket,
  timeoutMs: number,
): Promise<void> {
  const { scheme, user, password, host, port } = proxy;
  const type = scheme === 'socks5' ? 5 : 4;
  const destination = { host: await socksHost(scheme, target.host), port: target.port };
  try {
    await SocksClient.createConnection({
      command: 'connect',
      proxy: {
        host,
        port,
        type,
        ...(user === undefined ? {} : { userId: user }),
        ...(password === undefined ? {} : { password }),
      },
      destination,
      existing_socket: socket,
      timeout: timeoutMs,
    });
  } catch (error) {
    // The error is not kept as the cause: it contains the password.
    throw socksError(proxy, target, error instanceof Error ? error.message : String(error));
  }
}

/**
 * Returns the host as sent to the proxy. SOCKS4 knows IPv4 addresses only; with 4a and 5, the proxy
 * looks names up.
 */
async function socksHost(scheme: ProxyServer['scheme'], host: string): Promise<string> {
  if (scheme === 'socks5') return host;
  if (isIP(host) === 6) {
    throw new MillraceError('proxy-failed', { code: 'proxy-no-ipv6', values: { scheme, host } });
  }
  if (scheme === 'socks4a' || isIP(host) === 4) return host;
  try {
    return (await lookup(host, { family: 4 })).address;
  } catch (error) {
    throw networkError(error, false);
  }
}

/** Returns a detail that says what failed at the proxy. */
function atProxy(proxy: ProxyServer, why: DetailValue): Detail {
  return { code: 'at', values: { place: formatProxy(proxy), why } };
}

/** Turns an error of the library, which reports the reason only in words, into one of ours. */
function socksError(proxy: ProxyServer, target: Target, message: string): MillraceError {
  const detail = atProxy(proxy, { code: 'quoted', values: { text: message } });
  if (/Authentication failed|no accepted authentication|RejectedIdent/i.test(message)) {
    return askedToLogIn(proxy);
  }
  if (/NotAllowed/.test(message)) return new MillraceError('proxy-denied', detail);
  if (/HostUnreachable|NetworkUnreachable|ConnectionRefused|TTLExpired/.test(message)) {
    return new MillraceError('origin-unreachable', {
      code: 'proxy-cannot-reach',
      values: { host: target.host, why: detail },
    });
  }
  return new MillraceError('proxy-failed', detail);
}
