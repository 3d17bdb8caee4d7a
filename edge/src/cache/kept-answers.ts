/**
 * Answers of origins without a file, in memory only. Strangers can ask for made-up URLs at will, so
 * the answers are bounded twice: in bytes all together, and in number for each origin, so that one
 * origin's answers push out no other's.
 */

import { LRUCache } from 'lru-cache';
import { ownText, type Scope, scopedKey, urlOfPointer } from '../files/file-version.ts';
import type { KeptAnswer } from '../files/origin-answer.ts';
import type { Purges } from './purges.ts';
import { answerBytes } from './weights.ts';

/** Most answers of one origin: the oldest goes first. */
const MAX_PER_ORIGIN = 1000;

interface Marked {
  readonly answer: KeptAnswer;
  /** Generation in which the answer was requested (see `Generations`). */
  readonly generation: number;
  readonly origin: string;
}

export class KeptAnswers {
  readonly #entries: LRUCache<string, Marked>;
  /** Keys of each origin's answers, the oldest first. */
  readonly #ofOrigin = new Map<string, Set<string>>();
  readonly #purges: Purges;
  readonly #maxPerOrigin: number;

  /**
   * @param maxBytes bound on the weight of all answers
   * @param maxPerOrigin bound on the number of each origin's
   */
  constructor(purges: Purges, maxBytes: number, maxPerOrigin = MAX_PER_ORIGIN) {
    this.#purges = purges;
    this.#maxPerOrigin = maxPerOrigin;
    this.#entries = new LRUCache({
      maxSize: Math.ceil(maxBytes),
      sizeCalculation: ({ answer }, key) => answerBytes(key, answer),
      dispose: ({ origin }, key) => this.#forget(origin, key),
    });
  }

  /** Bytes that the answers weigh. */
  get bytes(): number {
    return this.#entries.calculatedSize;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Returns the answer that is kept in place of a file, however old it is. */
  get(name: string, scope: Scope): KeptAnswer | undefined {
    const key = scopedKey(scope, name);
    const marked = this.#entries.get(key);
    if (marked === undefined || !this.#isVoid(name, marked.answer, marked.generation)) {
      return marked?.answer;
    }
    this.#entries.delete(key);
    return undefined;
  }

  /** @param generation in which the answer was requested: one that was purged since is not kept */
  put(name: string, scope: Scope, answer: KeptAnswer, generation: number): void {
    if (this.#isVoid(name, answer, generation)) return;
    const origin = new URL(urlOfPointer(name)).origin;
    const key = ownText(scopedKey(scope, name));
    // Replacing an entry must not leave it in its old place among its origin's.
    this.#entries.delete(key);
    this.#entries.set(key, { answer, generation, origin });
    if (!this.#entries.has(key)) return;
    const keys = this.#ofOrigin.get(origin) ?? new Set();
    this.#ofOrigin.set(origin, keys.add(key));
    const [oldest] = keys;
    if (keys.size > this.#maxPerOrigin && oldest !== undefined) this.#entries.delete(oldest);
  }

  drop(name: string, scope: Scope): void {
    this.#entries.delete(scopedKey(scope, name));
  }

  #isVoid(name: string, { fields }: KeptAnswer, generation: number): boolean {
    const url = urlOfPointer(name);
    return (
      this.#purges.isVoid(url, undefined, generation) ||
      this.#purges.isVoidByLabel(fields, generation)
    );
  }

  #forget(origin: string, key: string): void {
    const keys = this.#ofOrigin.get(origin);
    keys?.delete(key);
    if (keys?.size === 0) this.#ofOrigin.delete(origin);
  }
}
