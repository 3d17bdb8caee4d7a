/** The owners of a depot: found by their tokens, with the limits that their file gives them. */

import { readFileSync } from 'node:fs';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { type Owner, parseOwners } from '@millrace/shared/cdn/depot/owners-file';
import { fileWords } from '@millrace/shared/node/files/file-words';
import { isSameProof, proofOf } from './proofs.ts';

/** Reads the file of owners. @throws MillraceError `bad-option` */
export function readOwners(path: string): Owner[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new MillraceError('bad-option', `cannot be read: ${fileWords(error)}`);
  }
  return parseOwners(text);
}

export class Owners {
  readonly #path: string | undefined;
  /** By their names. */
  #owners: ReadonlyMap<string, Owner>;
  readonly #rates = new Map<string, { readonly rate: number; readonly bucket: TokenBucket }>();

  /**
   * @param path file of owners; undefined: there are none
   * @throws MillraceError `bad-option` if the file cannot be used
   */
  constructor(path: string | undefined) {
    this.#path = path;
    this.#owners = path === undefined ? new Map() : byName(readOwners(path));
  }

  /** Reads the file again. @throws MillraceError `bad-option`; then the owners stay as they were */
  reload(): void {
    if (this.#path !== undefined) this.#owners = byName(readOwners(this.#path));
    this.#rates.clear();
  }

  /** Finds the owner with a token. Compares all, so that the time tells nothing. */
  withToken(token: string): Owner | undefined {
    const proof = proofOf(token);
    let found: Owner | undefined;
    for (const owner of this.#owners.values()) if (isSameProof(proof, owner.proof)) found = owner;
    return found;
  }

  named(name: string): Owner | undefined {
    return this.#owners.get(name);
  }

  /** Counts bytes that came for an owner. @returns milliseconds to wait before more are taken */
  pause(name: string, bytes: number, now: Millis): Millis {
    const rate = this.named(name)?.rate ?? Infinity;
    if (rate === Infinity) return 0;
    let kept = this.#rates.get(name);
    if (kept?.rate !== rate) {
      kept = { rate, bucket: new TokenBucket(rate, rate, now) };
      this.#rates.set(name, kept);
    }
    kept.bucket.take(bytes, now);
    return kept.bucket.waitMs(now);
  }
}

function byName(owners: readonly Owner[]): Map<string, Owner> {
  return new Map(owners.map((owner) => [owner.name, owner]));
}
