/**
 * Passwords of accounts, kept as scrypt (RFC 7914) only. Strangers can ask for as many comparisons
 * as they like, so few run at a time, and few may wait.
 */

import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

/** Cost of new passwords: 32 MiB and about a tenth of a second each. */
const COST = { N: 2 ** 15, r: 8, p: 1 };
/** Most memory of one comparison, bytes. */
const MAX_MEMORY = 64 * 1024 * 1024;
const SALT_BYTES = 16;
const KEY_BYTES = 32;
/** Comparisons at a time, and those that may wait. */
const AT_A_TIME = 2;
const MAX_WAITING = 32;

const KEPT = /^scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([A-Za-z0-9_-]{22})\$([A-Za-z0-9_-]{43})$/;

/** Makes the text that is kept of a password. */
export async function keptPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return textOf(salt, await derive(password, salt, COST));
}

function textOf(salt: Buffer, key: Buffer): string {
  const { N, r, p } = COST;
  return ['scrypt', N, r, p, salt.toString('base64url'), key.toString('base64url')].join('$');
}

/** Returns true for texts of `keptPassword`. */
export function isKeptPassword(text: string): boolean {
  return KEPT.test(text);
}

/** Compares passwords with what is kept of them. */
export class PasswordCheck {
  /** Text that no password fits, and that costs as much to compare. */
  readonly #decoy = textOf(randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /**
   * Compares a password.
   *
   * @param kept undefined if there is no such account: the comparison then takes the same time
   * @returns undefined if too many others are being compared
   */
  async matches(password: string, kept: string | undefined): Promise<boolean | undefined> {
    if (this.#running >= AT_A_TIME) {
      if (this.#waiting.length >= MAX_WAITING) return undefined;
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
    this.#running++;
    try {
      const right = await isPassword(password, kept ?? this.#decoy);
      return right && kept !== undefined;
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }
}

async function isPassword(password: string, kept: string): Promise<boolean> {
  const [, N, r, p, salt, key] = KEPT.exec(kept) ?? [];
  if (salt === undefined || key === undefined) return false;
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  const given = await derive(password, Buffer.from(salt, 'base64url'), cost).catch(() => undefined);
  return given !== undefined && timingSafeEqual(given, Buffer.from(key, 'base64url'));
}

function derive(password: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  // One form for each password, however a keyboard composes its letters.
  scrypt(
    password.normalize('NFKC'),
    salt,
    KEY_BYTES,
    { ...cost, maxmem: MAX_MEMORY },
    (error, key) => (error === null ? resolve(key) : reject(error)),
  );
  return promise;
}
