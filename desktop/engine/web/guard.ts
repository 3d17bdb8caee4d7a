/**
 * Decides who may talk to the daemon at all. A page in a browser can make the browser send requests
 * to loopback: they carry fields that our own requests never do, and are refused before anything is
 * read.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface GuardOptions {
  /** Address that the server is bound to. */
  readonly address: string;
  readonly port: number;
  readonly allowedOrigins: readonly string[];
}

/** Why a request is refused, for its sender. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
}

/**
 * Checks Host and Origin.
 *
 * A name that an attacker's DNS points at loopback (DNS rebinding) shows in Host. A page of another
 * site, or of another port, shows in Origin, or at least in Sec-Fetch-Site. The only page at this
 * address is our own.
 */
export function refuse(req: IncomingMessage, options: GuardOptions): Refusal | undefined {
  const { host, origin } = req.headers;
  if (!isOurs(host, options)) {
    return { status: 403, reason: 'the Host field does not name this server' };
  }
  if (origin === undefined) {
    const site = req.headers['sec-fetch-site'];
    if (site === undefined || site === 'none' || site === 'same-origin') return undefined;
    return { status: 403, reason: 'pages of other sites may not call' };
  }
  if (options.allowedOrigins.includes(origin)) return undefined;
  if (origin.startsWith('http://') && isOurs(origin.slice(7), options)) return undefined;
  return { status: 403, reason: 'this Origin may not call' };
}

/**
 * True for requests of the page that is served here: a cookie, which browsers send by themselves,
 * counts only with these.
 */
export function isOwnOrigin({ headers: { host, origin } }: IncomingMessage): boolean {
  return host !== undefined && origin?.toLowerCase() === `http://${host.toLowerCase()}`;
}

/** True if the value of a Host field means the address that we are bound to. */
export function isOurs(host: string | undefined, { address, port }: GuardOptions): boolean {
  const match = /^(\[[0-9a-f:]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(host ?? '');
  if (match === null || Number(match[2] ?? 80) !== port) return false;
  const name = (match[1] as string).toLowerCase();
  const bound = address.includes(':') ? `[${address}]` : address;
  return ['127.0.0.1', '[::1]', 'localhost', bound].includes(name);
}

/** Compares secrets without telling by the time it takes how much of one was right. */
export class Secret {
  readonly #digest: Buffer;

  constructor(secret: string) {
    this.#digest = hash(secret);
  }

  matches(given: string): boolean {
    return timingSafeEqual(this.#digest, hash(given));
  }

  /** `Authorization: Bearer SECRET` (RFC 6750). */
  inHeader(req: IncomingMessage): boolean {
    const match = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '');
    return match !== null && this.matches(match[1] as string);
  }

  /** aria2's way: `token:SECRET` as a parameter. */
  inParameter(parameter: unknown): boolean {
    return (
      typeof parameter === 'string' &&
      parameter.startsWith('token:') &&
      this.matches(parameter.slice('token:'.length))
    );
  }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** True for addresses that only this machine reaches. */
export function isLoopback(address: string): boolean {
  return /^127(?:\.\d{1,3}){3}$/.test(address) || address === '::1' || address === 'localhost';
}
