/** Opens the socket of a connection to an origin, plain or with TLS. */

import { connect as connectTcp, type LookupFunction, type OnReadOpts, type Socket } from 'node:net';

/**
 * Opens a socket to an origin.
 *
 * @param url URL of the origin; only scheme, host and port count
 * @param onread memory to read into, and the callback for received bytes
 * @param onConnect called once when bytes can be sent, after the handshake of TLS
 */
export function openSocket(
  url: URL,
  lookup: LookupFunction | undefined,
  onread: OnReadOpts,
  onConnect: () => void,
): Socket {
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const options = {
    host,
    port: Number(url.port || (secure ? 443 : 80)),
    autoSelectFamily: true,
    noDelay: true,
    onread,
    ...(lookup === undefined ? {} : { lookup }),
  };
  const socket = secure
    ? // Loaded only when needed, because it takes 3 MB of memory.
      process
        .getBuiltinModule('node:tls')
        .connect({ ...options, servername: host, ALPNProtocols: ['http/1.1'] })
    : connectTcp(options);
  return socket.once(secure ? 'secureConnect' : 'connect', onConnect);
}
