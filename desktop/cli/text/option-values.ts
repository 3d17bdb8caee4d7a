/** Reads option values strictly: errors are reported before anything happens. */

import {
  algorithmNamed,
  DIGEST_DIGITS,
  type Digest,
  digestFromHex,
} from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { parseRate } from '@millrace/shared/base/unit-options';
import { MAX_DATA, MAX_PARITY } from '@millrace/shared/code/reed-solomon';
import { FETCHABLE_SCHEMES } from '@millrace/shared/download/request/source-kinds';
import { InvalidArgumentError } from 'commander';

/** A mistake in the user's command; printed as commander prints its own. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Makes a reader that throws MillraceError usable for commander. */
export function reading<T>(read: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return read(text);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      throw new InvalidArgumentError(error.detail === '' ? error.message : error.detail);
    }
  };
}

/** Collects the values of an option that may be repeated. */
export function repeated<T>(
  read: (text: string) => T,
): (text: string, before: T[] | undefined) => T[] {
  return (text, before) => [...(before ?? []), read(text)];
}

/** Returns a reader of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^[+-]?\d+$/.test(text.trim()) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`a whole number from ${min} to ${max} is needed`);
  };
}

/** Numbers of data and of parity shards. */
export interface StripeValue {
  readonly data: number;
  readonly parity: number;
}

/** Reads numbers of shards, such as `4+2`. */
export function stripeValue(text: string): StripeValue {
  const [data = 0, parity = 0] = /^\s*(\d+)\+(\d+)\s*$/.exec(text)?.slice(1).map(Number) ?? [];
  if (data >= 1 && data <= MAX_DATA && parity >= 1 && parity <= MAX_PARITY) {
    return { data, parity };
  }
  throw new InvalidArgumentError(
    `two numbers are needed, such as 4+2: up to ${MAX_DATA} parts and ${MAX_PARITY} of parity`,
  );
}

/** Reads a rate in bytes per second, or `none`: commander does not let null through. */
export function rateOrNone(text: string): number | 'none' {
  return text.trim().toLowerCase() === 'none' ? 'none' : reading(parseRate)(text);
}

/** Turns `none` into null, which the daemon expects for it. */
export function noneAsNull<T>(value: T | 'none'): T | null {
  return value === 'none' ? null : value;
}

/** Returns a reader of whole numbers from 1 to `max`, or `none`. */
export function countOrNone(max: number): (text: string) => number | 'none' {
  return (text) => (text.trim().toLowerCase() === 'none' ? 'none' : wholeNumber(1, max)(text));
}

/** Reads a digest, such as `sha-256=HEX`. */
export function digestValue(text: string): Digest {
  const [name = '', value = ''] = text.split('=');
  const algorithm = algorithmNamed(name);
  if (algorithm === undefined) {
    throw new InvalidArgumentError(
      'the algorithm must be md5, sha-1, sha-224, sha-256, sha-384 or sha-512',
    );
  }
  const digest = digestFromHex(algorithm, value.trim());
  if (digest === undefined) {
    throw new InvalidArgumentError(`${name} has ${DIGEST_DIGITS[algorithm]} hexadecimal digits`);
  }
  return digest;
}

/** Reads a URL with one of the schemes; a URL without a scheme gets the first one. */
export function urlValue(text: string, schemes = FETCHABLE_SCHEMES): string {
  try {
    const url = new URL(text.includes('://') ? text : `${schemes[0]}://${text}`);
    url.hash = '';
    if (schemes.includes(url.protocol.slice(0, -1)) && url.hostname !== '') return url.href;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError(`that is not a URL of ${schemes.join(' or ')}`);
}

/** Reads a header field, `Name: value`; returns the name in lower case. */
export function headerValue(text: string): readonly [name: string, value: string] {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([\t\x20-\x7e\x80-\xff]*)$/.exec(text);
  if (!match) throw new InvalidArgumentError('a header field is given as "Name: value"');
  return [(match[1] as string).toLowerCase(), (match[2] as string).trim()];
}

/** Reads a cookie, `name=value`. */
export function cookieValue(text: string): string {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+=[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e"]*$/.test(text)) {
    return text;
  }
  throw new InvalidArgumentError('a cookie is given as name=value');
}

/** Reads the id of a download, or the beginning of one. */
export function idValue(text: string): string {
  const id = text.toLowerCase();
  if (/^[0-9a-f]{1,16}$/.test(id)) return id;
  throw new InvalidArgumentError(
    'an id has up to 16 hexadecimal digits, as "millrace list" shows it',
  );
}

/** Reads a SHA-256, hexadecimal. */
export function sha256Value(text: string): string {
  const hex = text.trim().toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hex)) return hex;
  throw new InvalidArgumentError('sha-256 has 64 hexadecimal digits');
}
