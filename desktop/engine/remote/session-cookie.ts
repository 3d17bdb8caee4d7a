/**
 * The cookie of a browser that has logged in from another machine. By its prefix (RFC 6265bis
 * 4.1.3.2) no other host can set it, and it is sent by https only.
 */

import type { IncomingMessage } from 'node:http';
import { SESSION_IDLE_MS } from './visitors.ts';

const NAME = '__Host-millrace-session';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Strict';

/** Returns the value of Set-Cookie for a session. */
export function sessionCookie(secret: string): string {
  return `${NAME}=${secret}; Max-Age=${SESSION_IDLE_MS / 1000}; ${ATTRIBUTES}`;
}

/** Value of Set-Cookie that deletes the cookie. */
export const NO_SESSION_COOKIE = `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;

/** Returns the secret in a request's cookie. */
export function sessionSecret(req: IncomingMessage): string | undefined {
  for (const pair of (req.headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === NAME && value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)) return value;
  }
  return undefined;
}
