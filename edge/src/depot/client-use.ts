/** Limits of one client at a depot: uploads at a time, and guesses at capabilities and tokens. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { KeyedPlaces } from '@millrace/shared/cdn/admission/keyed-places';
import { LRUCache } from 'lru-cache';
import type { OnRefusal } from '../admission/admissions.ts';
import { APPENDS, CLIENT_APPENDS, GUESSES_PER_MINUTE } from '../admission/resources.ts';

/** Most clients whose guesses are remembered; the least recent ones are forgotten. */
const MAX_CLIENTS = 10_000;
/** Files that are read as a whole at a time, for the digests of their blocks. */
const SCANS = 2;

export class ClientUse {
  readonly #onRefusal: OnRefusal;
  readonly #appends = new KeyedPlaces(CLIENT_APPENDS, APPENDS);
  readonly #guesses = new LRUCache<string, TokenBucket>({ max: MAX_CLIENTS });
  #reads = 0;
  #scans = 0;

  constructor(onRefusal: OnRefusal) {
    this.#onRefusal = onRefusal;
  }

  /** Uploads under way. */
  get appends(): number {
    return this.#appends.running;
  }

  /** Downloads under way. */
  get reads(): number {
    return this.#reads;
  }

  /** Counts a download. @returns ends it */
  beginRead(): () => void {
    this.#reads++;
    return () => void this.#reads--;
  }

  /**
   * Admits an answer for which a whole file is read.
   *
   * @returns ends it
   * @throws MillraceError `too-many-transfers`
   */
  beginScan(): () => void {
    if (this.#scans >= SCANS) {
      throw new MillraceError('too-many-transfers', `${SCANS} files are being read for others`, {
        retryAfterMs: 5000,
      });
    }
    this.#scans++;
    const endRead = this.beginRead();
    return () => {
      this.#scans--;
      endRead();
    };
  }

  /**
   * Admits an upload.
   *
   * @param client its key
   * @returns ends it; further calls do nothing
   * @throws MillraceError `too-many-transfers`
   */
  beginAppend(client: string): () => void {
    const end = this.#appends.take(client);
    if (end !== undefined) return end;
    this.#onRefusal('appends', 'refused', client);
    const own = this.#appends.of(client);
    throw new MillraceError('too-many-transfers', `${own} uploads are under way`, {
      retryAfterMs: 1000,
    });
  }

  /**
   * Checks that a client may try a capability which this edge cannot judge alone.
   *
   * @throws MillraceError `too-many-requests` if it has presented too many wrong ones
   */
  mayGuess(client: string, now: Millis): void {
    const waitMs = this.#guesses.get(client)?.waitMs(now, 1) ?? 0;
    if (waitMs === 0) return;
    this.#onRefusal('capabilities', 'refused', client);
    throw new MillraceError('too-many-requests', 'wrong links or tokens', { retryAfterMs: waitMs });
  }

  /**
   * Counts a wrong capability or token. Right ones are always served: nobody can shut others out
   * by guessing.
   *
   * @throws MillraceError `too-many-requests` beyond the limit
   */
  onWrong(client: string, now: Millis): void {
    let bucket = this.#guesses.get(client);
    if (bucket === undefined) {
      bucket = new TokenBucket(GUESSES_PER_MINUTE / 60, GUESSES_PER_MINUTE, now);
      this.#guesses.set(client, bucket);
    }
    if (bucket.tryTake(now)) return;
    this.#onRefusal('capabilities', 'refused', client);
    throw new MillraceError('too-many-requests', 'wrong links or tokens', {
      retryAfterMs: bucket.waitMs(now, 1),
    });
  }
}
