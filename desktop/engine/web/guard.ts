/**
 * Decides who may talk to the daemon at all. A page in a browser can make the browser send requests
 * to loopback. Such requests carry fields that our own requests never do, and are refused before
 * their body is read.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface GuardOptions {
  /** Address that the server is bound to. */
  readonly address: string;
  readonly port: number;
  readonly allowedOrigins: readonly string[];
}

/** Reason for refusing a request, told to its sender. */
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
 *
 * @returns why the request is refused; undefined if it is allowed
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
 * Returns true for requests of the page that is served here. A cookie counts only with these,
 * because browsers send cookies by themselves.
 */
export function isOwnOrigin({ headers: { host, origin } }: IncomingMessage): boolean {
  return host !== undefined && origin?.toLowerCase() === `http://${host.toLowerCase()}`;
}

/** Returns true if a Host field names the address that the server is bound to, or loopback. */
export function isOurs(host: string | undefined, { address, port }: GuardOptions): boolean {
  const match = /^(\[[0-9a-f:]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(host ?? '');
  if (match === null || Number(match[2] ?? 80) !== port) return false;
  const name = (match[1] as string).toLowerCase();
  const bound = address.includes(':') ? `[${address}]` : address;
  return ['127.0.0.1', '[::1]', 'localhost', bound].includes(name);
}

/** A secret whose comparison takes the same time however much of a guess is right. */
export class Secret {
  readonly #digest: Buffer;

  constructor(secret: string) {
    this.#digest = hash(secret);
  }

  matches(given: string): boolean {
    return timingSafeEqual(this.#digest, hash(given));
  }

  /** Checks `Authorization: Bearer SECRET` (RFC 6750). */
  inHeader(req: IncomingMessage): boolean {
    const match = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '');
    return match !== null && this.matches(match[1] as string);
  }

  /** Checks a parameter `token:SECRET`, as aria2's clients send it. */
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

/** Returns true for addresses that only this machine can reach. */
export function isLoopback(address: string): boolean {
  return /^127(?:\.\d{1,3}){3}$/.test(address) || address === '::1' || address === 'localhost';
}
