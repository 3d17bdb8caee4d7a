/** The digest of a file whose chunks come in any order. */

import { createHash, type Hash } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import type { Chunk } from '../files/chunk.ts';
import type { Pointer } from '../files/file-version.ts';

/** Most chunks held at a time because one before them is missing. */
const MAX_EARLY = 8;

/** Hashes chunks in their order: chunks that come early are held until their turn. */
export class DigestCheck {
  readonly #expected: string;
  readonly #hash: Hash = createHash('sha256');
  readonly #early = new Map<number, Chunk>();
  #next = 0;

  constructor(expected: string) {
    this.#expected = expected;
  }

  /** True while only the chunks that the held ones wait for should be requested. */
  get isFull(): boolean {
    return this.#early.size >= MAX_EARLY;
  }

  add(index: number, chunk: Chunk): void {
    this.#early.set(index, chunk.retain());
    for (;;) {
      const next = this.#early.get(this.#next);
      if (next === undefined) return;
      this.#early.delete(this.#next++);
      this.#hash.update(next.data);
      next.release();
    }
  }

  giveUp(): void {
    for (const chunk of this.#early.values()) chunk.release();
    this.#early.clear();
  }

  /** @throws MillraceError `checksum-mismatch` */
  end(): string {
    const actual = this.#hash.digest('hex');
    if (actual === this.#expected) return actual;
    throw new MillraceError('checksum-mismatch', `it has sha-256 ${actual}`);
  }
}

/** Makes a check against the administrator's digest, otherwise against the origin's. */
export function digestCheck(
  asked: string | undefined,
  { version }: Pointer,
): DigestCheck | undefined {
  const stated = fileDigests(version.fields, 206).find(({ algorithm }) => algorithm === 'sha256');
  const expected = asked ?? stated?.hex;
  return expected === undefined ? undefined : new DigestCheck(expected);
}
