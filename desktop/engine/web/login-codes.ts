/**
 * Codes that log in a page once and within a minute, because others may see the address with the
 * code.
 */

import { createHash, randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';

export const GOOD_FOR_MS = 60_000;
const MAX_CODES = 32;

export class LoginCodes {
  readonly #now: () => Millis;
  /** Time at which each code expires, by digest, oldest first. */
  readonly #codes = new Map<string, Millis>();

  /** @param now monotonic milliseconds */
  constructor(now: () => Millis) {
    this.#now = now;
  }

  make(): string {
    const code = randomBytes(16).toString('base64url');
    this.#codes.set(digestOf(code), this.#now() + GOOD_FOR_MS);
    for (const old of this.#codes.keys()) {
      if (this.#codes.size <= MAX_CODES) break;
      this.#codes.delete(old);
    }
    return code;
  }

  /** Uses up a code. @returns whether it was valid */
  take(code: string): boolean {
    const digest = digestOf(code);
    const endsAt = this.#codes.get(digest);
    this.#codes.delete(digest);
    return endsAt !== undefined && this.#now() < endsAt;
  }
}

function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('base64url');
}
