/** The address at which a client reaches this edge. */

import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';

/** A name or address with or without a port; IPv6 in brackets. */
const HOST = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * Returns the configured address, otherwise the one that the request was sent to.
 *
 * @returns a base URL without a slash at its end
 */
export function ownBase(req: IncomingMessage, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const host = req.headers.host ?? '';
  const named = HOST.test(host) ? host : `localhost:${req.socket.localPort}`;
  return `${isEncrypted(req) ? 'https' : 'http'}://${named.toLowerCase()}`;
}

/** Returns true if the client came over TLS, here or by the account of the proxy in front. */
export function isEncrypted(req: IncomingMessage): boolean {
  if ((req.socket as TLSSocket).encrypted === true) return true;
  return req.headers['x-forwarded-proto'] === 'https';
}
