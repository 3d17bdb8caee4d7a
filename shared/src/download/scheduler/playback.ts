/**
 * Decides which bytes of a download in progress media players need first. A player has several
 * readers at a time (the header at the start, an index at the end, the scene that is shown). Its
 * user watches from the latest seek on, but no reader may wait for ever (LOCI 5: the deadline of an
 * earlier block is never sacrificed for a later one).
 */

import type { Millis } from '../../base/clock.ts';

/** Time by which an earlier reader may wait longer than the reader of the latest seek. */
const PATIENCE_MS: Millis = 2000;

interface Reader {
  /** Number in the order in which readers were opened. */
  readonly number: number;
  /** The next byte that it needs. */
  position: number;
  /** When it began to wait for that byte; undefined while it does not wait. */
  waitingSince: Millis | undefined;
}

/**
 * The readers of one download. For every reader: `opened`, then `waits` and `advanced` in turn,
 * then `closed`. The preferred position changes only with these calls, never by time alone.
 */
export class Playback {
  readonly #readers = new Map<object, Reader>();
  #openedAt: Millis = 0;
  #count = 0;

  /** Number of readers. */
  get readers(): number {
    return this.#readers.size;
  }

  /** Adds a reader that begins at `position`: a seek, whose bytes come first from now on. */
  opened(reader: object, position: number, now: Millis): void {
    this.#openedAt = now;
    this.#readers.set(reader, { number: this.#count++, position, waitingSince: undefined });
  }

  /** Notes that a reader waits for the bytes from its position on. */
  waits(reader: object, now: Millis): void {
    this.#of(reader).waitingSince ??= now;
  }

  /** Notes that a reader got the bytes up to `position`; it may take a while to ask for more. */
  advanced(reader: object, position: number): void {
    const of = this.#of(reader);
    of.position = position;
    of.waitingSince = undefined;
  }

  /** Removes a reader. */
  closed(reader: object): void {
    this.#readers.delete(reader);
  }

  /**
   * Returns the position whose bytes are needed first; undefined without readers. The latest reader
   * comes first if it waits, unless another has waited more than 2 s longer. If the latest reader
   * does not wait, the reader that has waited longest comes first. If none waits, bytes are fetched
   * ahead for the latest reader.
   */
  preferred(): number | undefined {
    let latest: Reader | undefined;
    for (const reader of this.#readers.values()) {
      if (latest === undefined || reader.number > latest.number) latest = reader;
    }
    let first = latest;
    let firstSince = Number.POSITIVE_INFINITY;
    for (const reader of this.#readers.values()) {
      if (reader.waitingSince === undefined) continue;
      // Time waited before the latest seek does not count, so that the seek gets its turn.
      const since =
        reader === latest
          ? reader.waitingSince - PATIENCE_MS
          : Math.max(reader.waitingSince, this.#openedAt);
      if (since >= firstSince) continue;
      first = reader;
      firstSince = since;
    }
    return first?.position;
  }

  #of(reader: object): Reader {
    const found = this.#readers.get(reader);
    if (found === undefined) throw new Error('not a reader that is open');
    return found;
  }
}
