/**
 * The file of a depot's owners: those who may store files there. Each line is one owner: a name, the
 * SHA-256 of the owner's token, and limits. The token itself is in no file of the depot.
 *
 *     alice sha256:9f86…0a08 bytes=100GiB each=20GiB for=30d count=1000 rate=50MiB/s
 */

import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { parseBytes, parseDuration, parseRate } from '../../base/unit-options.ts';

/** One line of the file. */
export interface Owner {
  readonly name: string;
  /** SHA-256 of the token, hexadecimal. */
  readonly proof: string;
  /** Bytes of all allocations together. */
  readonly bytes: number;
  /** Bytes of one allocation. */
  readonly each: number;
  /** Longest time from now to the end of a lease; Infinity: as long as the depot allows. */
  readonly forMs: Millis;
  /** Allocations at a time. */
  readonly count: number;
  /** Bytes per second of all uploads together; Infinity: no limit. */
  readonly rate: number;
}

/** Most lines that are read. */
const MAX_OWNERS = 10_000;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const PROOF = /^sha256:([0-9a-f]{64})$/;

type Limits = Omit<Owner, 'name' | 'proof'>;

const DEFAULTS: Limits = {
  bytes: Infinity,
  each: Infinity,
  forMs: Infinity,
  count: 1000,
  rate: Infinity,
};

/** Readers of the limits, by their names in the file. */
const READERS = new Map<string, (value: string) => Partial<Limits>>([
  ['bytes', (value) => ({ bytes: parseBytes(value) })],
  ['each', (value) => ({ each: parseBytes(value) })],
  ['for', (value) => ({ forMs: parseDuration(value) })],
  ['count', (value) => ({ count: parseCount(value) })],
  ['rate', (value) => ({ rate: parseRate(value) })],
]);

/** Returns true for texts that can name an owner. */
export function isOwnerName(name: string): boolean {
  return NAME.test(name);
}

/** Writes the line of an owner. @param limits as in the file, such as `bytes=100GiB` */
export function formatOwner(name: string, proof: string, limits: readonly string[] = []): string {
  return [name, `sha256:${proof}`, ...limits].join(' ');
}

/**
 * Reads the file. Empty lines, and those that begin with `#`, are comments.
 *
 * @throws MillraceError `bad-option` that names the line
 */
export function parseOwners(text: string): Owner[] {
  const owners = new Map<string, Owner>();
  for (const [i, line] of text.split('\n').entries()) {
    const words = line.split(/\s+/).filter((word) => word !== '');
    if (words.length === 0 || words[0]?.startsWith('#')) continue;
    try {
      const owner = parseOwner(words);
      if (owners.has(owner.name)) throw new MillraceError('bad-option', 'the name occurs twice');
      owners.set(owner.name, owner);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      throw new MillraceError('bad-option', `line ${i + 1}: ${error.detail}`);
    }
  }
  if (owners.size > MAX_OWNERS) {
    throw new MillraceError('bad-option', `has more than ${MAX_OWNERS} owners`);
  }
  return [...owners.values()];
}

/** @throws MillraceError `bad-option` */
function parseOwner([name = '', hash = '', ...limits]: readonly string[]): Owner {
  if (!isOwnerName(name)) {
    throw new MillraceError('bad-option', 'a name has up to 64 letters, digits, . _ -');
  }
  const proof = PROOF.exec(hash)?.[1];
  if (proof === undefined) {
    throw new MillraceError('bad-option', 'behind the name comes sha256: and 64 digits');
  }
  let owner: Owner = { name, proof, ...DEFAULTS };
  for (const limit of limits) owner = { ...owner, ...parseLimit(limit) };
  return owner;
}

/** Reads a limit such as `bytes=100GiB`. @throws MillraceError `bad-option` */
export function parseLimit(text: string): Partial<Limits> {
  const equals = text.indexOf('=');
  const read = READERS.get(text.slice(0, Math.max(0, equals)));
  if (read !== undefined) return read(text.slice(equals + 1));
  const known = [...READERS.keys()].join(', ');
  throw new MillraceError('bad-option', `"${text}" is not a limit: they are ${known}`);
}

function parseCount(value: string): number {
  if (/^[0-9]{1,9}$/.test(value)) return Number(value);
  throw new MillraceError('bad-option', `"${value}" is not a number`);
}
