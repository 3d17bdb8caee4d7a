/**
 * Joins the requests of clients into downloads. A download is one client and one version of one
 * file, however many requests, ranges and resumes it takes: it begins with the first byte that the
 * client takes, and is complete once the client has taken every byte of the file. Bytes that come
 * twice count once.
 *
 * Keys of clients come from the caller, which need not know addresses for longer than a moment.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import { RangeSet } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';

/** Bytes of a file that a client has taken with one request. */
export interface TakenPart {
  /**
   * Keys of client and file together, under which the download may be known: the one of today first,
   * then earlier ones.
   */
  readonly keys: readonly [string, ...string[]];
  /** Length of the file, bytes; undefined: its origin does not tell. */
  readonly length: number | undefined;
  readonly ranges: readonly ByteRange[];
  /** True if the answer was the whole file and came to its end. */
  readonly isWhole: boolean;
}

/** Events of a download that a request has caused. */
export interface DownloadStep {
  /** Number of the day on which the download began, since 1970, UTC. */
  readonly day: number;
  readonly country: string;
  readonly begun: boolean;
  readonly completed: boolean;
}

export const DAY_MS: Millis = 86_400_000;
/** Longest pause of a download; whoever comes back later begins another one. */
export const WINDOW_MS: Millis = DAY_MS;
/** Most downloads remembered at a time; the one without bytes for longest is forgotten first. */
const MAX_OPEN = 20_000;
/** Most separate ranges of one download, and of all. */
const MAX_RANGES_EACH = 256;
const MAX_RANGES = 100_000;

/** Memory of a download with its key and its place in the list, and of one of its ranges, bytes. */
const OPEN_BYTES = 480;
const RANGE_BYTES = 80;

interface Open {
  readonly day: number;
  readonly country: string;
  readonly complete: boolean;
  /** Bytes taken; of a complete download, those taken once more. */
  readonly taken: RangeSet;
  at: Millis;
}

/** The downloads that may still go on. Pure except for what it remembers, which is bounded. */
export class OpenDownloads {
  /** Downloads by key, the latest used last. */
  readonly #open = new Map<string, Open>();
  readonly #maxOpen: number;
  readonly #maxRanges: number;
  #ranges = 0;

  /** @param maxOpen downloads remembered. @param maxRanges separate ranges of all together */
  constructor(maxOpen = MAX_OPEN, maxRanges = MAX_RANGES) {
    this.#maxOpen = maxOpen;
    this.#maxRanges = maxRanges;
  }

  /** Memory that the downloads take, bytes. */
  get bytes(): number {
    return this.#open.size * OPEN_BYTES + this.#ranges * RANGE_BYTES;
  }

  /**
   * Counts what a client has taken with one request.
   *
   * A client that has the whole file begins another download once it has taken half of the file
   * again: clients fetch some last bytes twice, because one of two requests may be late.
   *
   * @param country in which the client is
   * @param now Unix milliseconds
   */
  take(part: TakenPart, country: string, now: Millis): DownloadStep {
    const known = this.#remove(part.keys, now);
    const { length } = part;
    const today = Math.floor(now / DAY_MS);
    const taken = known?.taken ?? new RangeSet();
    for (const range of part.ranges) addBounded(taken, range);
    const isAll = length === undefined ? part.isWhole : taken.bytes >= length;
    const again = length === undefined ? isAll : 2 * taken.bytes >= length;
    if (known?.complete === true && !again) {
      this.#keep(part, known, now);
      return { day: known.day, country: known.country, begun: false, completed: false };
    }
    const begun = known === undefined || known.complete;
    const { day, country: of } = begun ? { day: today, country } : known;
    const left = isAll ? new RangeSet() : taken;
    this.#keep(part, { day, country: of, complete: isAll, taken: left }, now);
    return { day, country: of, begun, completed: isAll };
  }

  /** Takes a download out; undefined if it is unknown or has paused for too long. */
  #remove(keys: readonly string[], now: Millis): Open | undefined {
    for (const key of keys) {
      const open = this.#open.get(key);
      if (open === undefined) continue;
      this.#open.delete(key);
      this.#ranges -= open.taken.ranges.length;
      if (now - open.at <= WINDOW_MS) return open;
    }
    return undefined;
  }

  #keep({ keys: [key] }: TakenPart, open: Omit<Open, 'at'>, now: Millis): void {
    this.#open.set(key, { ...open, at: now });
    this.#ranges += open.taken.ranges.length;
    while (this.#open.size > this.#maxOpen || this.#ranges > this.#maxRanges) {
      const [oldest] = this.#open;
      if (oldest === undefined) return;
      this.#open.delete(oldest[0]);
      this.#ranges -= oldest[1].taken.ranges.length;
    }
  }
}

/** Adds a range, but not one that would be a separate one too many: its bytes are not counted. */
function addBounded(set: RangeSet, range: ByteRange): void {
  const around = { start: Math.max(0, range.start - 1), end: range.end + 1 };
  if (set.ranges.length >= MAX_RANGES_EACH && set.bytesWithin(around) === 0) return;
  set.add(range);
}
