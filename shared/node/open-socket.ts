/** Opens the socket of a connection to an origin, plain or with TLS, or takes one that is open. */

import {
  connect as connectTcp,
  isIP,
  type LookupFunction,
  type OnReadOpts,
  type Socket,
} from 'node:net';

/**
 * Time limit for connecting to each address of a host but the last, in milliseconds (RFC 8305).
 * Node gives up an attempt before it begins the next, and its default of 250 ms is less than a
 * round trip to the far side of the world.
 */
const ADDRESS_ATTEMPT_MS = 1000;

/** Certificate and key that are shown to an origin, and authorities for its own, PEM. */
export interface ClientTls {
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  readonly ca?: Buffer | undefined;
}

export interface SocketOptions {
  readonly lookup?: LookupFunction | undefined;
  /** Memory to read into, and the callback for received bytes; undefined: the socket's own events. */
  readonly onread?: OnReadOpts | undefined;
  /** Called once when bytes can be sent, after the handshake of TLS. */
  readonly onConnect: () => void;
  /** TLS session of an earlier connection to the origin, by which its handshake costs less. */
  readonly session?: Buffer | undefined;
  /** Called with each session that the server offers for later connections. */
  readonly onSession?: ((session: Buffer) => void) | undefined;
  /** A connection to the origin that TLS is to be spoken over, such as a tunnel. */
  readonly over?: Socket | undefined;
  readonly shown?: ClientTls | undefined;
}

/** Opens a socket to an origin. @param url URL of the origin; only scheme, host and port count */
export function openSocket(
  url: URL,
  { lookup, onread, onConnect, session, onSession, over, shown }: SocketOptions,
): Socket {
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const options = {
    host,
    port: Number(url.port || (secure ? 443 : 80)),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    noDelay: true,
    ...(onread === undefined ? {} : { onread }),
    ...(lookup === undefined ? {} : { lookup }),
  };
  if (!secure) return connectTcp(options).once('connect', onConnect);
  // Loaded only when needed, because it takes 3 MB of memory.
  const socket = process.getBuiltinModule('node:tls').connect({
    ...options,
    ...shown,
    ...(over === undefined ? {} : { socket: over }),
    // Addresses are not sent as names (RFC 6066, 3); the certificate must be for them all the same.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(session === undefined ? {} : { session }),
    ALPNProtocols: ['http/1.1'],
  });
  if (onSession !== undefined) socket.on('session', onSession);
  return socket.once('secureConnect', onConnect);
}

/**
 * Lets a socket that was opened elsewhere feed memory, as sockets with `onread` do: copies what it
 * receives into that memory. When the callback of `onread` returns false, the rest waits in the
 * socket, which is paused.
 */
export function feed(socket: Socket, { buffer, callback }: OnReadOpts): void {
  const memory = () => (typeof buffer === 'function' ? buffer() : buffer);
  socket.on('data', (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; ) {
      const room = memory();
      const count = bytes.copy(room, 0, at);
      at += count;
      const goesOn = callback(count, room);
      if (socket.destroyed) return;
      if (goesOn) continue;
      socket.pause();
      if (at < bytes.length) socket.unshift(bytes.subarray(at));
      return;
    }
  });
  // Code that opened the socket may have left it paused.
  socket.resume();
}
