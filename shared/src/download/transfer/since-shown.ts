/**
 * Keeps the bytes that a source has given since its file was last shown to be the version that is
 * being downloaded. A file that is overwritten in place gives its new bytes to answers that began
 * before, under their old headers. So the header of an answer vouches for the bytes that had come
 * when the answer was asked for, and not for later ones, its own included.
 */

import { type ByteRange, RangeSet } from '../../base/byte-range.ts';

/** Most sets of bytes to keep apart; beyond it, older bytes wait for a later answer's word. */
const MAX_SETS = 32;

export class SinceShown {
  /** Bytes that had come when a request was sent, oldest first. */
  readonly #sets: { readonly request: number; readonly bytes: RangeSet }[] = [];
  #latest = new RangeSet();
  #requests = 0;

  /** Notes bytes of the source. */
  add(range: ByteRange): void {
    this.#latest.add(range);
  }

  /** Notes that a request is sent. @returns its number, for `shown` */
  asked(): number {
    const request = ++this.#requests;
    if (this.#latest.ranges.length === 0) return request;
    this.#sets.push({ request, bytes: this.#latest });
    this.#latest = new RangeSet();
    if (this.#sets.length > MAX_SETS) {
      const oldest = this.#sets.shift();
      for (const range of oldest?.bytes.ranges ?? []) this.#sets[0]?.bytes.add(range);
    }
    return request;
  }

  /** Notes that the answer to a request is of the version: the bytes before it were, too. */
  shown(request: number): void {
    const later = this.#sets.findIndex((set) => set.request > request);
    this.#sets.splice(0, later < 0 ? this.#sets.length : later);
  }

  /** Removes and returns all bytes. */
  take(): RangeSet {
    const taken = this.#latest;
    for (const { bytes } of this.#sets) for (const range of bytes.ranges) taken.add(range);
    this.#sets.length = 0;
    this.#latest = new RangeSet();
    return taken;
  }
}
