/**
 * Codes that log in one page within a minute, because others may see the address with the code. The
 * page may send its code again: a network that changes ends requests of browsers after the daemon
 * has answered them.
 */

import { createHash, randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';

export const GOOD_FOR_MS = 60_000;
const MAX_CODES = 32;

interface Code {
  readonly endsAt: Millis;
  /** Digest of the text of the page that has used the code. */
  page?: string;
}

export class LoginCodes {
  readonly #now: () => Millis;
  /** Codes by digest, oldest first. */
  readonly #codes = new Map<string, Code>();

  /** @param now monotonic milliseconds */
  constructor(now: () => Millis) {
    this.#now = now;
  }

  make(): string {
    const code = randomBytes(16).toString('base64url');
    this.#codes.set(digestOf(code), { endsAt: this.#now() + GOOD_FOR_MS });
    for (const old of this.#codes.keys()) {
      if (this.#codes.size <= MAX_CODES) break;
      this.#codes.delete(old);
    }
    return code;
  }

  /**
   * Uses up a code, except for the page that has used it first.
   *
   * @param page random text that only the page knows; without it nobody can use the code again
   * @returns whether the code was valid
   */
  take(code: string, page?: string): boolean {
    const digest = digestOf(code);
    const known = this.#codes.get(digest);
    const asking = page === undefined ? undefined : digestOf(page);
    if (known === undefined) return false;
    const valid = this.#now() < known.endsAt && (known.page ?? asking) === asking;
    // A code that anybody else has seen is not used again, not even by its page.
    if (valid && asking !== undefined) known.page = asking;
    else this.#codes.delete(digest);
    return valid;
  }
}

function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('base64url');
}
