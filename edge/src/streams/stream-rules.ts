/** Decides which answers with whole files a node keeps, to serve them in chunks. */

import {
  type Freshness,
  isFresh,
  readFreshness,
  withTimes,
} from '@millrace/shared/http/answers/freshness';
import { judgeWholeAsSent } from '@millrace/shared/http/answers/range-contract';
import { whyNotStreamed } from '@millrace/shared/http/answers/whole-answer';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import type { StreamsOptions } from './stream-types.ts';

/** Fewest chunks that the cache must hold: what passes must stay until its clients have it. */
const LEAST_CHUNKS = 8;

type Answer = Pick<HttpResponse, 'headers' | 'requestedAt' | 'arrivedAt'>;

export class StreamRules {
  readonly #options: Pick<StreamsOptions, 'chunkBytes' | 'maxBytes' | 'times'>;

  constructor(options: Pick<StreamsOptions, 'chunkBytes' | 'maxBytes' | 'times'>) {
    this.#options = options;
  }

  /** True if files of one stream are kept here at all. */
  get canKeep(): boolean {
    const { maxBytes, chunkBytes } = this.#options;
    return maxBytes >= LEAST_CHUNKS * chunkBytes;
  }

  /**
   * Returns why a whole answer is not kept; undefined if it is.
   *
   * @param url that was asked for
   * @throws MillraceError of `judgeWholeAsSent`
   */
  refuses(response: Answer, url: URL): string | undefined {
    const { length } = judgeWholeAsSent(response.headers);
    if (!this.canKeep) return 'no-ranges';
    const { maxBytes } = this.#options;
    return whyNotStreamed(response.headers, length, maxBytes, this.freshness(response, url));
  }

  /** Returns true if an answer with a whole file of that length and these fields would be fresh for a time. */
  keepsForTime(response: Answer, url: URL, length: number): boolean {
    const freshness = this.freshness(response, url);
    const { maxBytes } = this.#options;
    if (!this.canKeep || !isFresh(freshness, freshness.arrivedAt)) return false;
    return whyNotStreamed(response.headers, length, maxBytes, freshness) === undefined;
  }

  /** Returns how long an answer is fresh, by its fields and the operator's rule for its origin. */
  freshness({ headers, requestedAt, arrivedAt }: Answer, url: URL): Freshness {
    const stated = readFreshness(headers, requestedAt, arrivedAt);
    return withTimes(stated, headers, this.#options.times(url));
  }
}
