/**
 * Sessions of the dashboard. A session is a cookie that only the holder of the administration token
 * can have made: it is valid at all processes of the edge and after a restart. It ends with its
 * time, when the token changes, or when its user logs out; logged-out sessions are remembered.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import type { Revocations, RevocationsSnapshot } from '@millrace/shared/cdn/admission/revocations';

/** Lifetime of a session. */
export const LIFETIME_MS = 12 * 3_600_000;
const COOKIE = /^(\d{1,15})\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{43})$/;
const ATTRIBUTES = 'Path=/-/; HttpOnly; SameSite=Strict';

export interface DashboardSessionsOptions {
  /** Token of the administrators. */
  readonly token: Buffer;
  /** Name of the edge as a whole: its sessions are void at other edges with the same token. */
  readonly name: string;
  readonly revocations: Revocations;
  /** Unix milliseconds. */
  readonly now: () => Millis;
}

interface Session {
  readonly id: string;
  readonly until: Millis;
}

export class DashboardSessions {
  readonly #options: DashboardSessionsOptions;

  constructor(options: DashboardSessionsOptions) {
    this.#options = options;
  }

  /** Returns true if `given` is the token. */
  matches(given: string): boolean {
    const { token } = this.#options;
    const bytes = Buffer.from(given);
    return bytes.length === token.length && timingSafeEqual(bytes, token);
  }

  /** Begins a session. @returns Set-Cookie's value (RFC 6265) */
  begin(port: number, encrypted: boolean): string {
    const { now, revocations } = this.#options;
    // A session that begins in the millisecond in which all were ended is not one of them.
    const until = Math.max(now() + LIFETIME_MS, revocations.until + 1);
    const id = randomBytes(12).toString('base64url');
    const value = `${until}.${id}.${this.#sign(until, id).toString('base64url')}`;
    const age = `Max-Age=${LIFETIME_MS / 1000}`;
    return `${cookieName(port)}=${value}; ${age}; ${ATTRIBUTES}${encrypted ? '; Secure' : ''}`;
  }

  /** Set-Cookie's value that deletes the cookie. */
  end(port: number): string {
    return `${cookieName(port)}=; Max-Age=0; ${ATTRIBUTES}`;
  }

  /** Returns true if a request's Cookie field has a valid session. */
  isGood(field: string | undefined, port: number): boolean {
    return this.#sessionsIn(field, port).length > 0;
  }

  /**
   * Makes the revocations that end the sessions of a request, and with `everywhere` all others.
   *
   * @returns undefined if the request has no valid session, and so may end none
   */
  ending(
    field: string | undefined,
    port: number,
    everywhere: boolean,
  ): RevocationsSnapshot | undefined {
    const sessions = this.#sessionsIn(field, port);
    if (sessions.length === 0) return undefined;
    if (everywhere) return this.endingAll();
    return { until: 0, sessions: sessions.map(({ id, until }) => [id, until] as const) };
  }

  /** Makes the revocations that end all sessions that have begun. */
  endingAll(): RevocationsSnapshot {
    const { now, revocations } = this.#options;
    return { until: Math.max(now() + LIFETIME_MS, revocations.until), sessions: [] };
  }

  #sessionsIn(field: string | undefined, port: number): Session[] {
    const name = cookieName(port);
    return (field ?? '').split(';').flatMap((pair) => {
      const [key, value] = pair.trim().split('=', 2);
      return (key === name && this.#read(value ?? '')) || [];
    });
  }

  /** Reads the session of a cookie; undefined if it is not valid. */
  #read(value: string): Session | undefined {
    const { now, revocations } = this.#options;
    const match = COOKIE.exec(value);
    if (match === null) return undefined;
    const [, text, id, signature] = match as unknown as [string, string, string, string];
    const until = Number(text);
    const given = Buffer.from(signature, 'base64url');
    const right = this.#sign(until, id);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    return now() < until && !revocations.isRevoked(id, until) ? { id, until } : undefined;
  }

  #sign(until: Millis, id: string): Buffer {
    const { token, name } = this.#options;
    return createHmac('sha256', token)
      .update(`millrace dashboard\n${name}\n${until}\n${id}`)
      .digest();
  }
}

/** Ports of a host share cookies (RFC 6265 8.5): those of two edges must not replace each other. */
function cookieName(port: number): string {
  return `millrace-edge-${port}`;
}
