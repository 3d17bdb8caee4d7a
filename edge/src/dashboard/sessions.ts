/**
 * Sessions of the dashboard, without anything to remember: a cookie that only the holder of the
 * administration token can have made. It is good at all processes of the edge and after a restart,
 * and ends with its time or with the token.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';

/** How long a session lasts. */
const LIFETIME_MS = 12 * 3_600_000;
const COOKIE = /^(\d{1,15})\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{43})$/;
const ATTRIBUTES = 'Path=/-/; HttpOnly; SameSite=Strict';

export class DashboardSessions {
  readonly #token: Buffer;
  readonly #now: () => Millis;

  /** @param now Unix milliseconds */
  constructor(token: Buffer, now: () => Millis) {
    this.#token = token;
    this.#now = now;
  }

  /** Whether that is the token. */
  matches(given: string): boolean {
    const bytes = Buffer.from(given);
    return bytes.length === this.#token.length && timingSafeEqual(bytes, this.#token);
  }

  /** Begins a session. @returns Set-Cookie's value (RFC 6265) */
  begin(port: number, encrypted: boolean): string {
    const until = this.#now() + LIFETIME_MS;
    const nonce = randomBytes(12).toString('base64url');
    const value = `${until}.${nonce}.${this.#sign(until, nonce).toString('base64url')}`;
    const age = `Max-Age=${LIFETIME_MS / 1000}`;
    return `${cookieName(port)}=${value}; ${age}; ${ATTRIBUTES}${encrypted ? '; Secure' : ''}`;
  }

  /** Set-Cookie's value that takes the cookie back. */
  end(port: number): string {
    return `${cookieName(port)}=; Max-Age=0; ${ATTRIBUTES}`;
  }

  /** Whether a request's Cookie field has a session that goes on. */
  isGood(field: string | undefined, port: number): boolean {
    const name = cookieName(port);
    return (field ?? '').split(';').some((pair) => {
      const [key, value] = pair.trim().split('=', 2);
      return key === name && this.#isGoodValue(value ?? '');
    });
  }

  #isGoodValue(value: string): boolean {
    const match = COOKIE.exec(value);
    if (match === null) return false;
    const [, until, nonce, signature] = match as unknown as [string, string, string, string];
    const given = Buffer.from(signature, 'base64url');
    const right = this.#sign(Number(until), nonce);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return false;
    return this.#now() < Number(until);
  }

  #sign(until: Millis, nonce: string): Buffer {
    return createHmac('sha256', this.#token)
      .update(`millrace dashboard\n${until}\n${nonce}`)
      .digest();
  }
}

/** Cookies do not know of ports (RFC 6265 8.5): those of two edges must not replace each other. */
function cookieName(port: number): string {
  return `millrace-edge-${port}`;
}
