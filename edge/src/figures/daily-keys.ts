/**
 * Keys that stand for clients and the files that they ask for. A key is made with a random salt,
 * which is replaced every day and never leaves the memory of this process: after two days nobody can
 * tell any more which address a key was made of, not even by trying all addresses.
 */

import { createHmac, randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { DAY_MS } from '@millrace/shared/cdn/figures/open-downloads';

const SALT_BYTES = 32;
/** Length of a key, characters of base64: 144 bits. */
const KEY_CHARS = 24;

interface Salt {
  readonly day: number;
  readonly bytes: Buffer;
}

export class DailyKeys {
  readonly #random: (bytes: number) => Buffer;
  #today: Salt | undefined;
  #yesterday: Salt | undefined;

  /** @param random makes secret random bytes */
  constructor(random: (bytes: number) => Buffer = randomBytes) {
    this.#random = random;
  }

  /**
   * Makes the keys of a text: the one of today, then the one that it had yesterday, if any was made.
   *
   * @param now Unix milliseconds
   */
  of(text: string, now: Millis): [string, ...string[]] {
    const day = Math.floor(now / DAY_MS);
    // A clock that was set back keeps the salt.
    if (this.#today === undefined || day > this.#today.day) {
      this.#yesterday = this.#today?.day === day - 1 ? this.#today : undefined;
      this.#today = { day, bytes: this.#random(SALT_BYTES) };
    }
    const key = ({ bytes }: Salt) =>
      createHmac('sha256', bytes).update(text).digest('base64').slice(0, KEY_CHARS);
    const first = key(this.#today);
    return this.#yesterday === undefined ? [first] : [first, key(this.#yesterday)];
  }
}
