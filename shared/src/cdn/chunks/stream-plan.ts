/**
 * Decisions about files that come in one stream, from origins without ranges: how far a stream may
 * run ahead of its clients, and whether a second pass brings the same bytes as the first.
 */

/** Bytes of a SHA-256 that are kept for each chunk, to compare a second pass with the first. */
const DIGEST_BYTES = 12;
const DIGEST_CHARS = (DIGEST_BYTES * 4) / 3;
/** Most chunks whose digests are kept: the record of a longer file would not fit on disk. */
export const MAX_STREAM_CHUNKS = 3000;
/** Bytes that an abandoned stream may still bring, so that a small file is kept for others. */
const ALONE_BYTES = 4 * 1024 * 1024;

/**
 * Returns the position up to which a stream may run without a client.
 *
 * @param received bytes that had come when the last client left
 * @param length of the file, if it is known
 */
export function aloneUntil(received: number, length: number | undefined): number {
  const until = received + Math.max(0, Math.min(ALONE_BYTES, 4 * received || ALONE_BYTES));
  return length !== undefined && length > until ? received : until;
}

/** Most requests at a time for what follows in another node's stream. */
const MOST_AHEAD = 4;

/**
 * Returns how many requests a node that follows another node's stream has under way. Where the
 * stream is the slower one, a single request waits at it; where it is ahead, more hide the way.
 *
 * @param before number of requests so far
 * @param isWhole true if the latest answer brought all that it was asked for
 */
export function requestsAhead(before: number, isWhole: boolean): number {
  return isWhole ? Math.min(MOST_AHEAD, 2 * before) : 1;
}

/**
 * Returns the position up to which a stream may run.
 *
 * @param positions of its clients, at least one
 * @param ahead bytes that it may be ahead of the fastest one; what slower ones miss is in the cache
 * @param keeps false for a file that the cache cannot hold: then the slowest one counts
 */
export function mayRunTo(positions: Iterable<number>, ahead: number, keeps: boolean): number {
  const all = [...positions];
  return (keeps ? Math.max(...all) : Math.min(...all)) + ahead;
}

/**
 * Digests of a stream's chunks, in order. A second pass may supply chunks of the version only as
 * long as it brings the same digests, and may add to the list only after all that are in it. So
 * every complete list is that of one whole answer, whatever the origin's validators are worth.
 */
export class StreamDigests {
  #text: string;

  /** @param text of a list that `text` gave */
  constructor(text = '') {
    this.#text = text;
  }

  /** The list as text, for `constructor`; undefined if the file has too many chunks. */
  get text(): string | undefined {
    return this.count > MAX_STREAM_CHUNKS ? undefined : this.#text;
  }

  get count(): number {
    return this.#text.length / DIGEST_CHARS;
  }

  /**
   * Adds the digest of the next chunk, or compares that of a known one.
   *
   * @param index of the chunk: at most the number of known ones
   * @param digest SHA-256 of the chunk
   * @returns false if the chunk is another one than before
   */
  accept(index: number, digest: Uint8Array): boolean {
    const text = base64(digest.subarray(0, DIGEST_BYTES));
    if (index < this.count) {
      return this.#text.slice(index * DIGEST_CHARS, (index + 1) * DIGEST_CHARS) === text;
    }
    if (index > this.count) return false;
    this.#text += text;
    return true;
  }
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
