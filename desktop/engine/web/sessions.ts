/**
 * Sessions of pages that have logged in. They outlive the daemon, so that a page stays logged in
 * after a restart. Only digests of their ids are stored.
 */

import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { readList } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { SettingStore } from '../store/small-stores.ts';

const SETTING = 'sessions';
const MAX_SESSIONS = 32;
const DAY_MS = 24 * 3600_000;
/** Milliseconds without use after which a session ends. */
const IDLE_MS = 30 * DAY_MS;

const schema = z.object({ digest: z.string(), usedAt: z.number() });

export class Sessions {
  readonly #store: SettingStore;
  readonly #now: () => Millis;
  /** Time of the last use, to the day, by digest; the oldest comes first. */
  readonly #usedAt = new Map<string, Millis>();
  readonly #onEnded = new Set<(session: string) => void>();

  /** @param now Unix milliseconds */
  constructor(store: SettingStore, now: () => Millis) {
    this.#store = store;
    this.#now = now;
    const { items, refused } = readList(schema, store.get(SETTING) ?? []);
    for (const { digest, usedAt } of items.slice(-MAX_SESSIONS)) this.#usedAt.set(digest, usedAt);
    if (refused > 0) store.isDamaged(SETTING, `${refused} of them have to log in again`);
  }

  /** Calls the listener when a session has ended. @returns a function that removes the listener */
  listen(listener: (session: string) => void): () => void {
    this.#onEnded.add(listener);
    return () => this.#onEnded.delete(listener);
  }

  /** Begins a session. @returns the value of Set-Cookie (RFC 6265) */
  begin(port: number): string {
    const id = randomBytes(16).toString('base64url');
    this.#usedAt.set(digestOf(id), this.#now());
    for (const old of this.#usedAt.keys()) {
      if (this.#usedAt.size <= MAX_SESSIONS) break;
      this.#end(old);
    }
    this.#keep();
    return `${cookieName(port)}=${id}; Max-Age=${IDLE_MS / 1000}; ${ATTRIBUTES}`;
  }

  /** Returns the session of a request by its cookie; undefined if it has no valid one. */
  of(req: IncomingMessage): string | undefined {
    const id = cookieOf(req);
    if (id === undefined) return undefined;
    const session = digestOf(id);
    const usedAt = this.#usedAt.get(session);
    if (usedAt === undefined) return undefined;
    const now = this.#now();
    if (now - usedAt > IDLE_MS) {
      this.#end(session);
      this.#keep();
      return undefined;
    }
    if (now - usedAt > DAY_MS) {
      this.#usedAt.delete(session);
      this.#usedAt.set(session, now);
      this.#keep();
    }
    return session;
  }

  /** Ends a session. @returns the value of Set-Cookie that deletes the cookie */
  end(session: string | undefined, port: number): string {
    if (session !== undefined) {
      this.#end(session);
      this.#keep();
    }
    return `${cookieName(port)}=; Max-Age=0; ${ATTRIBUTES}`;
  }

  #end(session: string): void {
    this.#usedAt.delete(session);
    for (const listener of this.#onEnded) listener(session);
  }

  #keep(): void {
    const all = [...this.#usedAt].map(([digest, usedAt]) => ({ digest, usedAt }));
    this.#store.set(SETTING, all);
  }
}

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

/** Cookies ignore ports (RFC 6265 8.5), so the name keeps two daemons' cookies apart. */
function cookieName(port: number): string {
  return `millrace-session-${port}`;
}

function cookieOf(req: IncomingMessage): string | undefined {
  const name = cookieName(req.socket.localPort as number);
  for (const pair of (req.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name && value !== undefined && /^[A-Za-z0-9_-]{22}$/.test(value)) return value;
  }
  return undefined;
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}
