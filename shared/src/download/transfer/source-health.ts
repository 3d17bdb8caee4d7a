/**
 * Decides after each failure of a source whether to continue at once, to pause, or never to ask the
 * source again (ANYCAST 3.1.1; NSDI 3.3).
 *
 * A failure after data began is a disruption: the same source is asked for the rest at once. A
 * failure to connect means that the source is down: it rests, for longer each time. A source that
 * breaks the range contract is quarantined.
 */

import type { Millis, Random } from '../../base/clock.ts';
import { type ErrorCode, isPassing, type MillraceError } from '../../base/errors.ts';

/** Rest after the first failure; it doubles with each further failure. */
const FIRST_REST_MS = 500;
/** Longest rest of most sources that failures alone can cause, before its random spread. */
const MAX_REST_MS = 15_000;
/** Longest pause granted to a server (Retry-After): a demand for more is probably a mistake. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Breaches of the range contract in a row that quarantine a source. Fewer are forgiven, because
 * damage on the way can cause them.
 */
const MAX_BREACHES = 4;

/** Failures before any answer: the server or the network is away (ANYCAST 3.1.1). */
const HANDSHAKE: ReadonlySet<ErrorCode> = new Set([
  'origin-unreachable',
  'origin-refused',
  'origin-unknown',
  'network-away',
]);

/** Failures of `HANDSHAKE` that show a working network: it has brought the negative answer. */
const SERVER_AWAY: ReadonlySet<ErrorCode> = new Set(['origin-refused', 'origin-unknown']);

/** Statuses that may mean that one client makes too many requests at a time. */
const REFUSALS: ReadonlySet<number> = new Set([403, 429, 503]);

/** Returns true for failures that fewer requests at a time may avoid. */
export function isRefusal(error: MillraceError): boolean {
  return REFUSALS.has(error.row.status);
}

/** Failures that show that a host accepts fewer requests at a time than it got. */
const TOO_MANY: ReadonlySet<ErrorCode> = new Set([
  'origin-busy',
  'too-many-requests',
  'too-many-transfers',
]);

/**
 * Returns true for failures that show how many requests at a time a host accepts. A 403 shows
 * nothing: it may be about the file, the link or the user, and a learned limit outlives the
 * download.
 *
 * @param crowded as for `onFailure`: other requests were under way at a source that has served us
 */
export function teachesLimit({ code }: MillraceError, crowded: boolean): boolean {
  return TOO_MANY.has(code) || (crowded && code === 'origin-refused');
}

export class SourceHealth {
  readonly #random: Random;
  readonly #maxRestMs: Millis;
  #failures = 0;
  #breaches = 0;
  #restsUntil: Millis = 0;
  #quarantine: MillraceError | undefined;
  #last: MillraceError | undefined;

  /** @param maxRestMs longest rest that failures alone can cause, before its random spread */
  constructor(random: Random, maxRestMs: Millis = MAX_REST_MS) {
    this.#random = random;
    this.#maxRestMs = maxRestMs;
  }

  /** The reason why the source is never used again; undefined: it is in use. */
  get quarantine(): MillraceError | undefined {
    return this.#quarantine;
  }

  /** The last failure; undefined once bytes have come since. */
  get lastFailure(): MillraceError | undefined {
    return this.#last;
  }

  /** True while the source or the network is unreachable. */
  get isDown(): boolean {
    return this.#last !== undefined && HANDSHAKE.has(this.#last.code);
  }

  /** True while the server alone is unreachable: it refuses connections, or its name is unknown. */
  get isServerAway(): boolean {
    return this.#last !== undefined && SERVER_AWAY.has(this.#last.code);
  }

  /** Returns true while the source rests after a failure. */
  isResting(now: Millis): boolean {
    return this.#quarantine === undefined && this.#restsUntil > now;
  }

  /** Ends the rest of an unreachable source, because the network has changed. */
  retryNow(now: Millis): void {
    if (this.isDown) this.#restsUntil = now;
  }

  /** Quarantines the source for a reason that is not a failed request. */
  quarantineFor(error: MillraceError): void {
    this.#quarantine ??= error;
    this.#last = error;
  }

  /** Returns when the source may be asked again; undefined: never. */
  usableAt(): Millis | undefined {
    return this.#quarantine === undefined ? this.#restsUntil : undefined;
  }

  /** Clears earlier failures, because bytes came in; breaches of the contract stay counted. */
  onBytes(): void {
    this.#failures = 0;
    this.#last = undefined;
  }

  /** Clears earlier breaches, because a whole answer kept the contract. */
  onServed(): void {
    this.#breaches = 0;
  }

  /**
   * Notes a failed request: lets the source continue, rests it or quarantines it.
   *
   * @param gotBytes true if the source sent bytes meanwhile: a disruption, no reason to rest
   * @param crowded true if other requests of ours were under way at the source, which has served us
   *   before: a refusal may mean that we make too many requests
   */
  onFailure(error: MillraceError, gotBytes: boolean, now: Millis, crowded = false): void {
    this.#last = error;
    // A failure that does not pass with time quarantines the source.
    const passes = isPassing(error.row) || (crowded && isRefusal(error));
    if (error.row.bytes === 'dropped') this.#breaches++;
    if (!passes || this.#breaches >= MAX_BREACHES) {
      this.#quarantine ??= error;
      return;
    }
    const asked = Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
    if (gotBytes && asked === 0) {
      this.#restsUntil = now;
      return;
    }
    // All requests under way at a failing source fail with it: they count as one failure.
    const rest = now < this.#restsUntil ? 0 : FIRST_REST_MS * 2 ** this.#failures++;
    const planned = Math.min(this.#maxRestMs, rest) * (0.5 + this.#random());
    this.#restsUntil = Math.max(this.#restsUntil, now + asked, now + planned);
  }
}
