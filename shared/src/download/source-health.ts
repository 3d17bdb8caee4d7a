/**
 * What a source has shown of itself, and what follows: go on, pause, or never again (ANYCAST
 * 3.1.1; NSDI 3.3).
 *
 * A failure after data began is a disruption: the same source is asked for the rest at once. A
 * failure to connect means the source is down: it rests, for longer each time. An answer that
 * breaks the range contract ends its use.
 */

import type { Millis, Random } from '../base/clock.ts';
import type { ErrorCode, MillraceError } from '../base/errors.ts';

const FIRST_REST_MS = 500;
const MAX_REST_MS = 15_000;

/** Failures that waiting can mend. All others end the use of the source. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'origin-reset',
  'origin-timeout',
  'origin-unreachable',
  'origin-busy',
  'origin-error',
  'proxy-failed',
  'too-many-transfers',
  'too-many-requests',
  'draining',
  'wrong-length',
  'wrong-digest',
]);

export class SourceHealth {
  readonly #random: Random;
  #failures = 0;
  #restsUntil: Millis = 0;
  #quarantine: MillraceError | undefined;
  #last: MillraceError | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Why the source is not used any more, if so. */
  get quarantine(): MillraceError | undefined {
    return this.#quarantine;
  }

  /** The last failure, until something succeeds. */
  get lastFailure(): MillraceError | undefined {
    return this.#last;
  }

  /** When the source may be asked again; undefined: never. */
  usableAt(): Millis | undefined {
    return this.#quarantine === undefined ? this.#restsUntil : undefined;
  }

  /** Bytes came in: whatever was wrong before is over. */
  onBytes(): void {
    this.#failures = 0;
    this.#last = undefined;
  }

  /**
   * A request failed.
   *
   * @param gotBytes true if the request had brought some: a disruption, no reason to rest
   */
  onFailure(error: MillraceError, gotBytes: boolean, now: Millis): void {
    this.#last = error;
    if (!PASSING.has(error.code)) {
      this.#quarantine = error;
      return;
    }
    const asked = error.retryAfterMs ?? 0;
    if (gotBytes && asked === 0) {
      this.#restsUntil = now;
      return;
    }
    const rest = Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** this.#failures++);
    this.#restsUntil = now + Math.max(asked, rest * (0.5 + this.#random()));
  }
}
