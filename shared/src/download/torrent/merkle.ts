/** Trees of digests over the blocks of a file, as torrents of version 2 have them (BEP 52). */

/** Computes a digest. */
export type HashOf = (algorithm: 'sha1' | 'sha256', bytes: Uint8Array) => Uint8Array;

/** Bytes of a block, whose digest is a leaf; the last block of a file may be shorter. */
export const LEAF_BYTES = 16 * 1024;
const DIGEST_BYTES = 32;

/** Computes the root of a tree in memory of the order of its height. */
export class MerkleTree {
  readonly #hashOf: HashOf;
  /** Complete subtrees that wait for their right neighbour, by height. */
  readonly #waiting: (Uint8Array | undefined)[] = [];

  constructor(hashOf: HashOf) {
    this.#hashOf = hashOf;
  }

  /** Adds the next leaf, or the root of the next subtree, of 32 bytes. */
  add(digest: Uint8Array): void {
    let node = digest;
    for (let height = 0; ; height++) {
      const left = this.#waiting[height];
      if (left === undefined) {
        this.#waiting[height] = node;
        return;
      }
      this.#waiting[height] = undefined;
      node = this.#parent(left, node);
    }
  }

  /**
   * Returns the root.
   *
   * @param width leaves of the whole tree, a power of two, at least as many as were added
   * @param absent stands for each leaf that was not added: of a file's own leaves, 32 zeros
   */
  root(width: number, absent: Uint8Array = new Uint8Array(DIGEST_BYTES)): Uint8Array {
    const top = Math.log2(width);
    let empty = absent;
    let node: Uint8Array | undefined;
    for (let height = 0; height < top; height++) {
      const left = this.#waiting[height];
      if (left !== undefined) node = this.#parent(left, node ?? empty);
      else if (node !== undefined) node = this.#parent(node, empty);
      empty = this.#parent(empty, empty);
    }
    return node ?? this.#waiting[top] ?? empty;
  }

  #parent(left: Uint8Array, right: Uint8Array): Uint8Array {
    const both = new Uint8Array(2 * DIGEST_BYTES);
    both.set(left);
    both.set(right, DIGEST_BYTES);
    return this.#hashOf('sha256', both);
  }
}

/** Returns the smallest power of two that is at least a number from 1. */
export function powerOfTwo(least: number): number {
  let power = 1;
  while (power < least) power *= 2;
  return power;
}
