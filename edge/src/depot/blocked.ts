/**
 * Content that the operator of a depot has blocked, by its SHA-256: it is neither taken nor served.
 * The list is a file in the depot's folder, a digest a line, and outlives the files themselves.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { replaceFile } from '@millrace/shared/node/files/replace-file';

/** Most digests in the list, which is written as a whole. */
const MAX_BLOCKED = 100_000;
const DIGEST = /^[0-9a-f]{64}$/;

export class Blocked {
  readonly #path: string;
  readonly #digests: Set<string>;
  /** Last change of the file. */
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(path: string, digests: Iterable<string>) {
    this.#path = path;
    this.#digests = new Set(digests);
  }

  /**
   * Reads the list of a depot.
   *
   * @throws Error if it cannot be read: content would be served that must not be
   */
  static async open(dir: string): Promise<Blocked> {
    const path = join(dir, 'blocked');
    let text = '';
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    const lines = text.split('\n').filter((line) => line !== '');
    const wrong = lines.findIndex((line) => !DIGEST.test(line));
    if (wrong >= 0) throw new Error(`${path}: line ${wrong + 1} is not a SHA-256`);
    return new Blocked(path, lines);
  }

  get count(): number {
    return this.#digests.size;
  }

  /** @param sha256 hexadecimal; undefined: not known, so not blocked */
  has(sha256: string | undefined): boolean {
    return sha256 !== undefined && this.#digests.has(sha256);
  }

  /**
   * Blocks digests, or takes them back: at once, and on the disk when it resolves.
   *
   * @throws MillraceError `bad-option` if the list would become too long
   */
  async set(digests: readonly string[], isBlocked: boolean): Promise<void> {
    const added = digests.filter((digest) => !this.#digests.has(digest)).length;
    if (isBlocked && this.#digests.size + added > MAX_BLOCKED) {
      throw new MillraceError('bad-option', `at most ${MAX_BLOCKED} digests can be blocked`);
    }
    for (const digest of digests) {
      if (isBlocked) this.#digests.add(digest);
      else this.#digests.delete(digest);
    }
    // Again, even if nothing has changed: the last writing may have failed.
    this.#writing = this.#writing
      .catch(() => {})
      .then(() => replaceFile(this.#path, [...this.#digests, ''].join('\n')));
    await this.#writing;
  }
}
