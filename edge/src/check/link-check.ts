/** Checks of links: policy, limits, the probe, and a short memory of results. */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { SingleFlight } from '@millrace/shared/base/single-flight';
import { ENTRY_BYTES, textBytes, valueBytes } from '@millrace/shared/cdn/admission/memory-weight';
import { listField } from '@millrace/shared/http/fields/headers';
import {
  type Hop,
  judgeOrigin,
  type OriginReport,
  type OriginSighting,
} from '@millrace/shared/http/origin/origin-check';
import { LRUCache } from 'lru-cache';
import type { Admissions } from '../admission/admissions.ts';
import { MAX_CHECKS_AT_ONCE } from '../admission/resources.ts';
import { answerError } from '../egress/answer-error.ts';
import type { OriginRecords } from '../egress/origin-records.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { CheckLimits } from './check-limits.ts';
import { type ProbeOptions, probeOrigin } from './origin-probe.ts';

/** Result of a check. */
export type CheckResult =
  /** The origin has answered. */
  | { readonly kind: 'seen'; readonly seen: OriginSighting; readonly report: OriginReport }
  /** The origin has not answered, or this edge may not ask it. `hops` are the redirects so far. */
  | {
      readonly kind: 'failed';
      readonly error: MillraceError;
      readonly hops: readonly Hop[];
      /** True if the edge would serve the file by a signed link. */
      readonly needsLink?: boolean;
    };

export interface LinkCheckOptions extends ProbeOptions {
  readonly policy: OriginPolicy;
  readonly records: OriginRecords;
  readonly admissions?: Admissions;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** Longest duration of all requests of a check together. */
const DEADLINE_MS = 12_000;
/** Lifetime of a result: checks of the same link within it make no new requests. */
const REMEMBERED_MS = 15_000;
/** Memory for results, which contain headers of origins. */
const MAX_REMEMBERED_BYTES = 4 * 1024 * 1024;

export class LinkCheck {
  readonly #options: LinkCheckOptions;
  readonly #limits: CheckLimits;
  readonly #flights = new SingleFlight<string, CheckResult>();
  readonly #known: LRUCache<string, CheckResult>;

  constructor(options: LinkCheckOptions) {
    this.#options = options;
    const { admissions } = options;
    this.#limits = new CheckLimits(admissions?.refused);
    admissions?.measure('checks', {
      use: () => this.#limits.running,
      limit: MAX_CHECKS_AT_ONCE,
    });
    this.#known = new LRUCache({
      maxSize: MAX_REMEMBERED_BYTES,
      sizeCalculation: (result, key) => ENTRY_BYTES + textBytes(key) + valueBytes(result),
      ttl: REMEMBERED_MS,
      perf: { now: options.now },
    });
  }

  /**
   * Checks a link.
   *
   * @param client key of the client that asks
   * @param signal aborted when the answer is no longer waited for
   * @throws MillraceError `too-many-requests`; the signal's reason
   */
  async check(url: URL, client: string, signal: AbortSignal): Promise<CheckResult> {
    try {
      this.#options.policy.check(url, 'public');
    } catch (error) {
      const needsLink = this.#options.policy.isServedByLink(url);
      return { kind: 'failed', error: asMillraceError(error), hops: [], needsLink };
    }
    const known = this.#known.get(url.href);
    if (known !== undefined) return known;
    const key = url.href;
    const done = this.#flights.has(key)
      ? () => {}
      : this.#limits.admit(client, url, this.#options.now());
    try {
      return await this.#flights.run(key, signal, (all) => this.#probe(url, client, all)).result;
    } finally {
      done();
    }
  }

  async #probe(url: URL, client: string, signal: AbortSignal): Promise<CheckResult> {
    const { records, now } = this.#options;
    const hops: Hop[] = [];
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      records.pause(url).check(now());
      const both = AbortSignal.any([signal, deadline]);
      const seen = await probeOrigin(this.#options, url, client, both, (hop) => hops.push(hop));
      this.#remind(url, seen);
      const report = judgeOrigin(seen);
      const type = listField(seen.begin.headers, 'content-type');
      const urls = [url, ...seen.hops.slice(-1).map(({ to }) => new URL(to))];
      if (report.service !== 'none') {
        this.#options.policy.checkSeen(urls, { type, length: report.length });
      }
      return this.#remember(url, { kind: 'seen', seen, report });
    } catch (thrown) {
      signal.throwIfAborted();
      const error = deadline.aborted
        ? new MillraceError('origin-timeout', `no answer within ${DEADLINE_MS / 1000} s`)
        : asMillraceError(thrown);
      return this.#remember(url, { kind: 'failed', error, hops });
    }
  }

  /** Pauses all requests to an origin that asks for a pause. */
  #remind(url: URL, { begin }: OriginSighting): void {
    if (begin.status !== 429 && begin.status !== 503) return;
    const answer = { ...begin, url, discard() {}, readInto: async () => {} };
    answerError(answer, this.#options.records.pause(url), this.#options.now());
  }

  #remember(url: URL, result: CheckResult): CheckResult {
    this.#known.set(url.href, result);
    return result;
  }
}
