/**
 * Visitors are the users of the daemon from other machines: browsers with a session, and paired devices
 * with a token. They outlive the daemon. Only digests of their secrets are stored.
 */

import { createHash, randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { readList } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { SettingStore } from '../store/small-stores.ts';
import type { Account, LiveAccounts } from './accounts.ts';

const SETTING = 'visitors';
const HOUR_MS = 3600_000;
/** Time without use after which a browser's session ends, ms; a device stays until it is revoked. */
export const SESSION_IDLE_MS = 30 * 24 * HOUR_MS;
/** Most browsers, and most devices. */
const MAX_EACH = 64;
const MAX_NAME_CHARS = 64;

const schema = z.object({
  id: z.string(),
  kind: z.enum(['browser', 'device']),
  digest: z.string(),
  name: z.string(),
  /** Key of the account; undefined if somebody on the daemon's own machine has paired the device. */
  account: z.string().optional(),
  address: z.string(),
  createdAt: z.number(),
  usedAt: z.number(),
});

export type Visitor = z.output<typeof schema>;

/** Properties of a new visitor. */
export interface Newcomer {
  readonly kind: Visitor['kind'];
  readonly name: string;
  /** Undefined: the daemon's own machine answers for it. */
  readonly account: string | undefined;
  readonly address: string;
}

export class Visitors {
  readonly #store: SettingStore;
  readonly #accounts: LiveAccounts;
  readonly #now: () => Millis;
  /** Visitors by the digest of their secret, the longest unused first. */
  readonly #visitors = new Map<string, Visitor>();
  readonly #onGone = new Set<(id: string) => void>();

  /** @param now Unix milliseconds */
  constructor(store: SettingStore, accounts: LiveAccounts, now: () => Millis) {
    this.#store = store;
    this.#accounts = accounts;
    this.#now = now;
    const { items, refused } = readList(schema, store.get(SETTING) ?? []);
    for (const visitor of items.slice(-2 * MAX_EACH)) this.#visitors.set(visitor.digest, visitor);
    if (refused > 0) store.isDamaged(SETTING, `${refused} of them have to log in again`);
  }

  /** Calls the listener with the id of each visitor that may come no more. */
  onGone(listener: (id: string) => void): void {
    this.#onGone.add(listener);
  }

  /**
   * Lets somebody in.
   *
   * @returns the secret, told once
   * @throws MillraceError `bad-option` if there are too many devices; the longest unused browser
   *   makes room for a new one
   */
  admit({ kind, name, account, address }: Newcomer): { secret: string; visitor: Visitor } {
    this.sweep();
    const same = [...this.#visitors.values()].filter((visitor) => visitor.kind === kind);
    if (same.length >= MAX_EACH) {
      if (kind === 'device') {
        throw new MillraceError('bad-option', {
          code: 'devices-at-most',
          values: { most: MAX_EACH },
        });
      }
      this.#remove((same[0] as Visitor).digest);
    }
    const secret = randomBytes(32).toString('base64url');
    const now = this.#now();
    const visitor: Visitor = {
      id: randomBytes(9).toString('base64url'),
      kind,
      digest: digestOf(secret),
      name: cleanName(name),
      ...(account === undefined ? {} : { account }),
      address,
      createdAt: now,
      usedAt: now,
    };
    this.#visitors.set(visitor.digest, visitor);
    this.#keep();
    return { secret, visitor };
  }

  /** Finds a visitor by its secret, and notes its use; undefined if it may not come. */
  find(kind: Visitor['kind'], secret: string, address: string): Visitor | undefined {
    const digest = digestOf(secret);
    const visitor = this.#visitors.get(digest);
    if (visitor === undefined || visitor.kind !== kind) return undefined;
    if (this.#isOver(visitor)) {
      this.#remove(digest);
      this.#keep();
      return undefined;
    }
    const now = this.#now();
    if (now - visitor.usedAt < HOUR_MS && visitor.address === address) return visitor;
    const used = { ...visitor, address, usedAt: now };
    this.#visitors.delete(digest);
    this.#visitors.set(digest, used);
    this.#keep();
    return used;
  }

  /** Returns all visitors, the last used first. */
  all(): Visitor[] {
    this.sweep();
    return [...this.#visitors.values()].reverse();
  }

  accountOf({ account }: Visitor): Account | undefined {
    return account === undefined ? undefined : this.#accounts.byKey(account);
  }

  /** Ends a visitor's access. @returns false if there is none of that id */
  revoke(id: string): boolean {
    const visitor = [...this.#visitors.values()].find((one) => one.id === id);
    if (visitor === undefined) return false;
    this.#remove(visitor.digest);
    this.#keep();
    return true;
  }

  /** Ends the access of those whose account is gone or has another password, and old sessions. */
  sweep(): void {
    const over = [...this.#visitors.values()].filter((visitor) => this.#isOver(visitor));
    for (const { digest } of over) this.#remove(digest);
    if (over.length > 0) this.#keep();
  }

  #isOver(visitor: Visitor): boolean {
    const idle = this.#now() - visitor.usedAt > SESSION_IDLE_MS;
    if (visitor.kind === 'browser' && idle) return true;
    return visitor.account !== undefined && this.accountOf(visitor) === undefined;
  }

  #remove(digest: string): void {
    const visitor = this.#visitors.get(digest);
    this.#visitors.delete(digest);
    if (visitor === undefined) return;
    for (const listener of this.#onGone) listener(visitor.id);
  }

  #keep(): void {
    this.#store.set(SETTING, [...this.#visitors.values()]);
  }
}

function cleanName(name: string): string {
  const plain = name.replace(/[\p{C}\s]+/gu, ' ').trim();
  return plain.slice(0, MAX_NAME_CHARS).trim() || '?';
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
