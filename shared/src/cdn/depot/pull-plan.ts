/**
 * Decides how a depot pulls a file: which part it asks for next, at which of the part's URLs, how long
 * it pauses, and when it gives up. The parts in order are the file, so the number of bytes that are
 * stored says which part is next, also after a restart.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';
import { isPassing, MillraceError } from '../../base/errors.ts';
import { MAX_RETRY_AFTER_WAIT_MS } from '../../base/limits.ts';
import { canPin, type Validators } from '../../http/fields/validators.ts';
import { type SeenVersion, SeenVersions } from './seen-versions.ts';

/** One part of the file, which each of its URLs has. */
export interface PullPart {
  readonly from: readonly string[];
  /** Strong entity tag that the file at these URLs must have; undefined: any. */
  readonly etag?: string | undefined;
  /** Place of the part in the file at the URLs, and its length, bytes. */
  readonly start: number;
  readonly bytes: number;
}

/** A request for the rest of a part. */
export interface PullAsk {
  readonly kind: 'ask';
  readonly url: string;
  readonly range: ByteRange;
  /** Bytes of the upload that are stored. */
  readonly stored: number;
  /** Version that is asked for; undefined: any. */
  readonly version: Validators | undefined;
  /** Version of the bytes that the URL has given; undefined: it has given none. */
  readonly seen: SeenVersion | undefined;
  /** True if the bytes of several answers need not be shown to be of one version: a digest will tell. */
  readonly isProved: boolean;
}

/** Version that the header of an answer names. */
export interface PulledVersion {
  readonly validators: Validators;
  /** Length of the file; undefined: not stated. */
  readonly length: number | undefined;
}

export interface PullPlanOptions {
  /** Bytes of the file that are stored already. */
  readonly stored: number;
  /** Versions that a former pull has seen. */
  readonly seen?: readonly SeenVersion[] | undefined;
  /** Names a URL in what is handed from pull to pull: URLs may be secret. */
  readonly nameOf: (url: string) => string;
  /** True if the SHA-256 of the file is known. */
  readonly isProved: boolean;
}

/** The next thing to do. */
export type PullStep =
  | PullAsk
  | { readonly kind: 'wait'; readonly ms: Millis }
  | { readonly kind: 'complete' };

/** Returns the length of the file that parts make up, bytes. */
export function pullLength(parts: readonly PullPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Times that all URLs of a part may fail one after the other without much progress. */
const MAX_ROUNDS = 4;
/** Bytes that count as progress: a source that breaks off again and again gets no further chances for less. */
const PROGRESS_BYTES = 1024 * 1024;
/** Pause after the first round; each further one doubles it. */
const PAUSE_MS: Millis = 1000;

export class PullPlan {
  readonly #parts: readonly PullPart[];
  readonly #options: PullPlanOptions;
  /** Length of the file. */
  readonly length: number;
  /** Versions seen at the URLs: all bytes of a URL must be of one. */
  readonly #seen: SeenVersions;
  /** Failures of URLs that have given bytes, and have another version by now. They are left for good. */
  readonly #changed = new Map<string, MillraceError>();
  /** The part under way: its number, and where it begins in the file. */
  #part = 0;
  #begin = 0;
  /** Index of its URL that is asked next, and those that cannot help any more. */
  #at = 0;
  #out = new Set<number>();
  #rounds = 0;
  /** Bytes stored when the rounds began to count, and longest pause that a URL of this round asks for. */
  #since: number;
  #asked: Millis = 0;
  #waitUntil: Millis = -Infinity;
  #given: MillraceError | undefined;

  /**
   * @param parts at least one, none of them empty, each with at least one URL
   */
  constructor(parts: readonly PullPart[], options: PullPlanOptions) {
    this.#parts = parts;
    this.#options = options;
    this.length = pullLength(parts);
    this.#since = options.stored;
    this.#seen = new SeenVersions(options.seen);
    this.#seen.cut(options.stored);
  }

  /** Versions for the next pull of the upload, should this one fail. */
  get seen(): readonly SeenVersion[] {
    return this.#seen.list();
  }

  /**
   * Returns the next thing to do.
   *
   * @param stored bytes of the file that are stored, at most its length
   * @param now monotonic milliseconds
   * @throws MillraceError the failure that the pull ends with
   */
  next(stored: number, now: Millis): PullStep {
    if (stored >= this.length) return { kind: 'complete' };
    if (stored < this.#begin) {
      [this.#part, this.#begin] = [0, 0];
      this.#startPart(stored);
    }
    for (let part = this.#current; stored >= this.#begin + part.bytes; part = this.#current) {
      this.#begin += part.bytes;
      this.#part++;
      this.#startPart(stored);
    }
    if (this.#given !== undefined) throw this.#given;
    if (now < this.#waitUntil) return { kind: 'wait', ms: this.#waitUntil - now };
    const { from, etag, start, bytes } = this.#current;
    const url = from[this.#at] as string;
    const range = { start: start + stored - this.#begin, end: start + bytes };
    const { nameOf, isProved } = this.#options;
    const seen = this.#seen.get(nameOf(url));
    const pinned = seen !== undefined && canPin(seen.validators) ? seen.validators : undefined;
    const version = etag === undefined ? pinned : { etag };
    return { kind: 'ask', url, range, stored, version, seen, isProved };
  }

  /** Notes the version that an answer names, before a byte of it is stored. */
  answered({ url, stored }: PullAsk, { validators, length }: PulledVersion): void {
    this.#seen.shown({ of: this.#options.nameOf(url), from: stored, validators, length });
  }

  /**
   * Returns the end of the bytes to keep when an answer has failed: the others have to be removed before
   * `failed` is called. They may be of a version that the URL has by now, or of no known place.
   *
   * @param stored bytes of the file that are stored
   * @param isTooLong true if the answer had more bytes than it said
   */
  keeps({ url, stored: begun }: PullAsk, error: MillraceError, stored: number, isTooLong: boolean) {
    if (isTooLong) return begun;
    if (error.code !== 'version-changed') return stored;
    return this.#seen.get(this.#options.nameOf(url))?.from ?? stored;
  }

  /**
   * Notes that the URL that was asked has failed, before or after it sent bytes.
   *
   * @param stored bytes of the file that are stored now
   * @param now monotonic milliseconds
   */
  failed(error: MillraceError, stored: number, now: Millis): void {
    const { from, etag } = this.#current;
    const failedUrl = from[this.#at] as string;
    const hasGiven = this.#seen.get(this.#options.nameOf(failedUrl)) !== undefined;
    if (error.code === 'version-changed' && hasGiven) {
      this.#changed.set(changedKey(failedUrl, etag), this.#described(error, failedUrl));
    }
    this.#seen.cut(stored);
    if (stored < this.#begin) return;
    // Bytes that were removed are no progress.
    this.#since = Math.min(this.#since, stored);
    if (stored - this.#since >= PROGRESS_BYTES) {
      this.#rounds = 0;
      this.#since = stored;
    }
    if (!isPassing(error.row)) this.#out.add(this.#at);
    this.#asked = Math.max(this.#asked, error.retryAfterMs ?? 0);
    const failedAt = this.#at;
    for (let i = failedAt + 1; i < from.length; i++) {
      if (this.#out.has(i)) continue;
      this.#at = i;
      return;
    }
    const first = from.findIndex((_, i) => !this.#out.has(i));
    if (first < 0 || ++this.#rounds >= MAX_ROUNDS) {
      this.#given = this.#described(error, failedUrl);
      return;
    }
    this.#at = first;
    const pause = Math.max(this.#asked, PAUSE_MS * 2 ** (this.#rounds - 1));
    this.#waitUntil = now + Math.min(pause, MAX_RETRY_AFTER_WAIT_MS);
    this.#asked = 0;
  }

  get #current(): PullPart {
    return this.#parts[this.#part] as PullPart;
  }

  #startPart(stored: number): void {
    this.#out = new Set();
    this.#rounds = 0;
    this.#since = stored;
    this.#asked = 0;
    this.#waitUntil = -Infinity;
    const { from, etag } = this.#current;
    const errors = from.map((url) => this.#changed.get(changedKey(url, etag)));
    for (const [i, error] of errors.entries()) if (error !== undefined) this.#out.add(i);
    this.#at = errors.indexOf(undefined);
    this.#given = this.#at < 0 ? errors.at(-1) : undefined;
  }

  /** Says which part could not be had, and where from: the host alone, since a URL may be secret. */
  #described({ code, detail }: MillraceError, url: string): MillraceError {
    const where = `part ${this.#part + 1} of ${this.#parts.length}, last from ${new URL(url).host}`;
    return new MillraceError(code, detail === '' ? where : `${detail} (${where})`);
  }
}

const changedKey = (url: string, etag: string | undefined) => `${url} ${etag ?? ''}`;
