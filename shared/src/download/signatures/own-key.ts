/** Keys that the user trusts, beside those that come with Millrace. */

import { isOfPatterns } from '../resolve/link-pattern.ts';

/** Most keys in the user's list. */
export const MAX_OWN_KEYS = 64;
/** Most patterns of one key. */
export const MAX_KEY_PATTERNS = 16;

export interface OwnKey {
  /** Of the primary key, upper-case hexadecimal; of minisign: the key's id. */
  readonly fingerprint: string;
  /** Name of the owner that is shown. */
  readonly name: string;
  /** The public key: OpenPGP's, armored, or minisign's. */
  readonly text: string;
  /**
   * Links of files that it is for: signatures are looked for there without being asked for, and it
   * vouches for no others. None: it vouches for all files whose signatures are looked for anyway.
   */
  readonly patterns: readonly string[];
}

/** Returns the keys that may vouch for the file of a URL. */
export function keysFor(url: string, keys: readonly OwnKey[]): readonly OwnKey[] {
  return keys.filter(({ patterns }) => patterns.length === 0 || isOfPatterns(url, patterns));
}

/** Returns true if one of these keys is for the file, so that signatures are looked for. */
export function asksFor(keys: readonly OwnKey[]): boolean {
  return keys.some(({ patterns }) => patterns.length > 0);
}

/** Returns a fingerprint as programs compare it, without the spaces that people see; undefined for other texts. */
export function plainFingerprint(text: string): string | undefined {
  const plain = text.replace(/[\s:]|^0x/gi, '').toUpperCase();
  return /^(?:[0-9A-F]{40}|[0-9A-F]{64}|[0-9A-F]{16})$/.test(plain) ? plain : undefined;
}
