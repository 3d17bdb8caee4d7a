/**
 * Merges statements about one file, made by the user, Metalink files, answers and checksum files.
 * If two statements contradict each other, neither is chosen.
 */

import { type Digest, fitsLength, formatDigest, type PieceDigests } from '../../base/digest.ts';
import { MillraceError } from '../../base/errors.ts';
import type { Replica } from './description.ts';

/** A statement about a file. */
export interface Statement {
  /**
   * The source of the statement in words that the user knows: `--checksum`, a URL, the name of a
   * Metalink file.
   */
  readonly by: string;
  /** Length of the file in bytes. */
  readonly size?: number | undefined;
  readonly digests?: readonly Digest[] | undefined;
  readonly pieces?: readonly PieceDigests[] | undefined;
  readonly replicas?: readonly Replica[] | undefined;
}

/** The merged statements. */
export interface Agreement {
  readonly size: number | undefined;
  /** Digests of the file, one per algorithm. */
  readonly digests: readonly Digest[];
  /** Digests of pieces, one list per algorithm and piece length. */
  readonly pieces: readonly PieceDigests[];
  /** Replicas, best first, each URL once. */
  readonly replicas: readonly Replica[];
}

/**
 * Merges statements.
 *
 * @throws MillraceError `contradicting-statements`, naming both sides
 */
export function mergeStatements(statements: readonly Statement[]): Agreement {
  const sizes = new Agreeing<number>(
    (size) => `${size}`,
    (a, b) => `${a.by} says ${a.value} bytes, ${b.by} says ${b.value}`,
  );
  const digests = new Agreeing<Digest>(
    formatDigest,
    (a, b) => `${a.by} says ${formatDigest(a.value)}, ${b.by} says ${formatDigest(b.value)}`,
  );
  const pieces = new Agreeing<PieceDigests>(
    ({ hexes }) => hexes.join(),
    (a, b) => `${a.by} and ${b.by} have different digests of pieces of ${a.value.pieceBytes} bytes`,
  );
  for (const { by, size, digests: said = [], pieces: parts = [] } of statements) {
    if (size !== undefined) sizes.add('', size, by);
    for (const digest of said) digests.add(digest.algorithm, digest, by);
    for (const piece of parts) pieces.add(keyOf(piece), piece, by);
  }
  const size = sizes.values[0];
  for (const piece of pieces.values) {
    const { pieceBytes, hexes } = piece;
    if (size === undefined || fitsLength(piece, Math.max(1, size))) continue;
    throw new MillraceError(
      'contradicting-statements',
      `${sizes.by('')} says ${size} bytes, ${pieces.by(keyOf(piece))} has ${hexes.length} pieces of ${pieceBytes}`,
    );
  }
  return {
    size,
    digests: digests.values,
    pieces: pieces.values,
    replicas: orderReplicas(statements.flatMap(({ replicas = [] }) => replicas)),
  };
}

/** Returns a text that pieces have in common whose digests must be equal. */
function keyOf({ algorithm, pieceBytes, from, tree }: PieceDigests): string {
  return `${algorithm} ${pieceBytes} ${from ?? ''} ${tree ?? ''}`;
}

/**
 * Orders replicas by priority, best first; equal priorities keep the given order. Each URL is
 * listed once: as its first replica, with the best of its priorities.
 */
export function orderReplicas(replicas: readonly Replica[]): Replica[] {
  const found = new Map<string, Replica>();
  for (const replica of replicas) {
    const before = found.get(replica.url);
    const priority = Math.min(before?.priority ?? replica.priority, replica.priority);
    found.set(replica.url, { ...(before ?? replica), priority });
  }
  return [...found.values()].sort((a, b) => a.priority - b.priority);
}

interface Said<T> {
  readonly value: T;
  readonly by: string;
}

/** Keeps one value per key, with the statement that gave it first; refuses other values. */
class Agreeing<T> {
  readonly #said = new Map<string, Said<T>>();
  readonly #identity: (value: T) => string;
  readonly #contradiction: (first: Said<T>, second: Said<T>) => string;

  /** @param identity returns equal text for values that are the same */
  constructor(
    identity: (value: T) => string,
    contradiction: (first: Said<T>, second: Said<T>) => string,
  ) {
    this.#identity = identity;
    this.#contradiction = contradiction;
  }

  get values(): T[] {
    return [...this.#said.values()].map(({ value }) => value);
  }

  by(key: string): string {
    return this.#said.get(key)?.by ?? '';
  }

  add(key: string, value: T, by: string): void {
    const first = this.#said.get(key);
    if (first === undefined) this.#said.set(key, { value, by });
    else if (this.#identity(first.value) !== this.#identity(value)) {
      const detail = this.#contradiction(first, { value, by });
      throw new MillraceError('contradicting-statements', detail);
    }
  }
}
