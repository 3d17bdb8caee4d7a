/**
 * Tells which names were asked for before, not long ago, in memory that does not grow: a node copies
 * only those chunks of other nodes that its clients ask for again.
 */

import { hashText } from '../routing/hrw.ts';

/** Names that are remembered at most. */
const PLACES = 2 ** 16;

export class AskedAgain {
  /**
   * Fingerprints of names. The first half of a name's hash says where its fingerprint is, and the
   * second half is the fingerprint; a later name with the same place takes it over.
   */
  readonly #fingerprints: Uint32Array;

  /** @param places names that are remembered at most, a power of two */
  constructor(places = PLACES) {
    this.#fingerprints = new Uint32Array(places);
  }

  /**
   * Remembers a name.
   *
   * @returns true if it is remembered already; of names that differ, one in 4 billion is taken for
   *   another
   */
  isAgain(name: string): boolean {
    const { high, low } = hashText(name);
    const place = high & (this.#fingerprints.length - 1);
    // An empty place has 0.
    const fingerprint = low === 0 ? 1 : low;
    const again = this.#fingerprints[place] === fingerprint;
    this.#fingerprints[place] = fingerprint;
    return again;
  }
}
