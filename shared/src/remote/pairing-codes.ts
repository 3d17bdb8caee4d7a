/**
 * Codes that pair a device with a daemon: short enough to be typed, valid once and for minutes.
 * Their 40 bits are safe because guesses are counted: a few hundred wrong ones end all codes.
 */

import type { Millis } from '../base/clock.ts';

/** Time for which a code can be used. */
export const CODE_GOOD_FOR_MS: Millis = 5 * 60_000;
/** Characters of a code. */
export const CODE_CHARS = 8;
/** Crockford's base 32: no letters that look like digits, and no U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** Most codes that are valid at a time. */
const MAX_CODES = 8;
/** Wrong guesses, by whomever, after which all codes are void. */
const MAX_WRONG = 200;

/** Makes a code of random bytes, at least `CODE_CHARS` of them. */
export function codeFrom(random: Uint8Array): string {
  return [...random.subarray(0, CODE_CHARS)].map((byte) => ALPHABET[byte % 32]).join('');
}

/** Returns a code in the form that people read: two groups of four. */
export function codeText(code: string): string {
  return `${code.slice(0, CODE_CHARS / 2)}-${code.slice(CODE_CHARS / 2)}`;
}

/** Reads a code as people type it. @returns undefined for a text that can be no code */
export function readCode(text: string): string | undefined {
  const bare = text.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  const fits = bare.length === CODE_CHARS && [...bare].every((char) => ALPHABET.includes(char));
  return fits ? bare : undefined;
}

interface Code<T> {
  readonly owner: T;
  readonly endsAt: Millis;
}

/** The valid codes. @typeParam T who has asked for a code */
export class PairingCodes<T> {
  /** Codes, oldest first. */
  readonly #codes = new Map<string, Code<T>>();
  #wrong = 0;

  /** Adds a code. @returns when it ends */
  add(code: string, owner: T, now: Millis): Millis {
    if (this.#codes.size === 0) this.#wrong = 0;
    const endsAt = now + CODE_GOOD_FOR_MS;
    this.#codes.delete(code);
    this.#codes.set(code, { owner, endsAt });
    for (const old of this.#codes.keys()) {
      if (this.#codes.size <= MAX_CODES) break;
      this.#codes.delete(old);
    }
    return endsAt;
  }

  /**
   * Uses up a code.
   *
   * @param text as typed
   * @returns who has asked for the code; undefined if it is not valid
   */
  take(text: string, now: Millis): Code<T> | undefined {
    for (const [old, { endsAt }] of this.#codes) if (now >= endsAt) this.#codes.delete(old);
    const code = readCode(text);
    const found = code === undefined ? undefined : this.#codes.get(code);
    if (found !== undefined) this.#codes.delete(code as string);
    else if (++this.#wrong >= MAX_WRONG) this.#codes.clear();
    return found;
  }

  /** Ends the codes of some owners. */
  forget(isGone: (owner: T) => boolean): void {
    for (const [code, { owner }] of this.#codes) if (isGone(owner)) this.#codes.delete(code);
  }
}
