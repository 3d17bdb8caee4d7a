/**
 * Tells which names are asked for so often that a copy pays, in memory that does not grow: a node
 * copies only those chunks of other nodes that its clients ask for again and again.
 *
 * A copy pays if it is still there when it is asked for again. Copies leave in the order of their
 * last use, so that one which is asked for again after more bytes of others than there is room for
 * has left by then, like every other chunk of a large file that is read from end to end. Such copies
 * bring nothing, and cost the processor: bytes that pass on in the same few pieces of memory stay in
 * its own cache.
 */

import { hashText } from '../routing/hrw.ts';

/** Names that are remembered at most. */
const PLACES = 2 ** 16;
/** Number of the request with which a name is asked for often. Clients side by side make two. */
const OFTEN = 3;
/** Bytes are counted in this unit: 32 bits of it are 4 TiB. */
const UNIT_BYTES = 1024;

export class AskedOften {
  /**
   * Fingerprints of names. The first half of a name's hash says where its fingerprint is, and the
   * second half is the fingerprint; a later name with the same place takes it over.
   */
  readonly #fingerprints: Uint32Array;
  /** Units that had passed when a name was asked for last. */
  readonly #passedBefore: Uint32Array;
  /** Requests for a name, at most `OFTEN`. */
  readonly #times: Uint8Array;
  #passed = 0;

  /** @param places names that are remembered at most, a power of two */
  constructor(places = PLACES) {
    this.#fingerprints = new Uint32Array(places);
    this.#passedBefore = new Uint32Array(places);
    this.#times = new Uint8Array(places);
  }

  /**
   * Counts a request.
   *
   * @param bytes that pass on for it
   * @param roomBytes room for copies
   * @returns true with the third request and later ones of a name, if no more bytes than `roomBytes`
   *   have passed on from each of them to the next; of names that differ, one in 4 billion is taken
   *   for another
   */
  isOften(name: string, bytes: number, roomBytes: number): boolean {
    const { high, low } = hashText(name);
    const place = high & (this.#fingerprints.length - 1);
    // An empty place has 0.
    const fingerprint = low === 0 ? 1 : low;
    const passedUnits = (this.#passed - (this.#passedBefore[place] as number)) >>> 0;
    const isSoon = passedUnits * UNIT_BYTES <= roomBytes;
    const again = this.#fingerprints[place] === fingerprint && isSoon;
    const times = again ? Math.min(OFTEN, (this.#times[place] as number) + 1) : 1;
    this.#fingerprints[place] = fingerprint;
    this.#passedBefore[place] = this.#passed;
    this.#times[place] = times;
    this.#passed = (this.#passed + Math.ceil(bytes / UNIT_BYTES)) >>> 0;
    return times === OFTEN;
  }
}
