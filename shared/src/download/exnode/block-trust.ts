/**
 * Decides who may bring a block whose bytes have had a wrong digest, and who is to blame. A block
 * that one source has brought alone convicts it. A block of several sources convicts nobody at
 * first: it is then fetched from one source alone, and once its right bytes are known, those that
 * differed from them convict their giver.
 */

import type { ByteRange } from '../../base/byte-range.ts';

/** Wrong blocks after which a source is left: one may have been damaged on the way. */
const MOST_WRONG = 2;
/** Wrong versions of one block after which it is given up. */
const MOST_ROUNDS = 16;

/** Bytes of a wrong block that one source alone has given. */
export interface Given {
  readonly source: string;
  readonly range: ByteRange;
  /** Digest of these bytes. */
  readonly digest: string;
}

/** A block whose bytes have been wrong. */
interface WrongBlock {
  rounds: number;
  /** Times that a source had a part in wrong bytes of the block. */
  readonly parts: Map<string, number>;
  readonly given: Given[];
}

export interface BlockTrustOptions {
  /** Lists the sources that have a block, best first. */
  readonly holders: (block: number) => readonly string[];
  /** Returns true if a source can be asked now. */
  readonly isUsable: (source: string) => boolean;
  /**
   * Returns true for a source without which the file cannot be completed: it is left only if it sends
   * the same block wrong again. Absent: none is needed.
   */
  readonly isNeeded?: ((source: string) => boolean) | undefined;
  /** Returns true for a source that nobody vouches for: its first wrong block is enough to leave it. */
  readonly isStranger?: ((source: string) => boolean) | undefined;
}

export class BlockTrust {
  readonly #options: BlockTrustOptions;
  readonly #wrong = new Map<number, WrongBlock>();
  /** Wrong blocks that a source has been convicted of. */
  readonly #convicted = new Map<string, Set<number>>();

  constructor(options: BlockTrustOptions) {
    this.#options = options;
  }

  /** Blocks whose bytes were wrong, and that have not come again; ascending. */
  get wrong(): readonly number[] {
    return [...this.#wrong.keys()].sort((a, b) => a - b);
  }

  /** Returns true if a source may bring a block. */
  mayBring(source: string, block: number): boolean {
    const wrong = this.#wrong.get(block);
    return wrong === undefined || this.#only(block, wrong) === source;
  }

  /**
   * Notes a block with wrong bytes.
   *
   * @param alone the source that gave all of the block; undefined: several did
   * @param parts all sources that gave any byte of it
   * @param given the parts that one source alone has given
   * @returns sources that must be left
   */
  onWrong(
    block: number,
    alone: string | undefined,
    parts: readonly string[],
    given: readonly Given[],
  ): string[] {
    const known: WrongBlock = this.#wrong.get(block) ?? { rounds: 0, parts: new Map(), given: [] };
    this.#wrong.set(block, known);
    known.rounds++;
    for (const source of parts) known.parts.set(source, (known.parts.get(source) ?? 0) + 1);
    if (alone !== undefined) return this.#convict(alone, block);
    // One of the parts is enough of each source; the others would only take room.
    for (const one of given) {
      if (!known.given.some(({ source }) => source === one.source)) known.given.push(one);
    }
    return [];
  }

  /**
   * Lists the parts of a block to compare with its right bytes; empty: it was never wrong, or one
   * source is convicted already.
   */
  suspects(block: number): readonly Given[] {
    return this.#wrong.get(block)?.given ?? [];
  }

  /**
   * Notes that the right bytes of a block have come.
   *
   * @param digests of the ranges of `suspects` in these bytes, in their order
   * @returns sources that must be left
   */
  onRight(block: number, digests: readonly string[]): string[] {
    const suspects = this.suspects(block);
    this.#wrong.delete(block);
    return suspects.flatMap(({ source, digest }, i) =>
      digest === digests[i] ? [] : this.#convict(source, block),
    );
  }

  /** Returns a block that nobody seems to have right; undefined: there is none. */
  hopeless(): number | undefined {
    for (const [block, { rounds }] of this.#wrong) if (rounds >= MOST_ROUNDS) return block;
    return undefined;
  }

  #convict(source: string, block: number): string[] {
    const blocks = this.#convicted.get(source) ?? new Set();
    const again = blocks.has(block) && this.#wrong.has(block);
    blocks.add(block);
    this.#convicted.set(source, blocks);
    if (again || this.#options.isStranger?.(source) === true) return [source];
    const isNeeded = this.#options.isNeeded?.(source) === true;
    return blocks.size >= MOST_WRONG && !isNeeded ? [source] : [];
  }

  /** Chooses the only source that may bring a block: of those with least part in wrong bytes. */
  #only(block: number, { parts }: WrongBlock): string | undefined {
    let best: string | undefined;
    const failures = (source: string) => parts.get(source) ?? 0;
    for (const source of this.#options.holders(block)) {
      if (!this.#options.isUsable(source)) continue;
      if (best === undefined || failures(source) < failures(best)) best = source;
    }
    return best;
  }
}
