/**
 * Judges a source by its failures: continue, pause, or never again (ANYCAST 3.1.1; NSDI 3.3).
 *
 * A failure after data began is a disruption: the same source is asked for the rest at once. A
 * failure to connect means that the source is down: it rests, for longer each time. An answer that
 * breaks the range contract ends its use.
 */

import type { Millis, Random } from '../../base/clock.ts';
import { type ErrorCode, isPassing, type MillraceError } from '../../base/errors.ts';

const FIRST_REST_MS = 500;
const MAX_REST_MS = 15_000;
/** Servers that ask for more have made a mistake, or do not want us: an hour is long enough. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Breaches of the range contract that damage on the way can cause: a few in a row are forgiven. */
const MAX_BREACHES = 4;

/** Failures before any answer: the server is not there, or there is no network (ANYCAST 3.1.1). */
const HANDSHAKE: ReadonlySet<ErrorCode> = new Set([
  'origin-unreachable',
  'origin-refused',
  'origin-unknown',
  'network-away',
]);

/** Failures among these that only the server can have caused: the network has brought the answer. */
const SERVER_AWAY: ReadonlySet<ErrorCode> = new Set(['origin-refused', 'origin-unknown']);

/** Statuses with which servers mean that one client asks for too much at a time. */
const REFUSALS: ReadonlySet<number> = new Set([403, 429, 503]);

/** True for failures that fewer requests at a time may mend. */
export function isRefusal(error: MillraceError): boolean {
  return REFUSALS.has(error.row.status);
}

/** Failures that say of a host that it stands fewer requests at a time than it got. */
const TOO_MANY: ReadonlySet<ErrorCode> = new Set([
  'origin-busy',
  'too-many-requests',
  'too-many-transfers',
]);

/**
 * True for failures that show how many requests at a time a host accepts. A 403 shows nothing: it
 * may be about the file, the link or the user, and the learned limit outlives the download.
 *
 * @param crowded as for `onFailure`: other requests were under way at a source that has served us
 */
export function teachesLimit({ code }: MillraceError, crowded: boolean): boolean {
  return TOO_MANY.has(code) || (crowded && code === 'origin-refused');
}

export class SourceHealth {
  readonly #random: Random;
  #failures = 0;
  #breaches = 0;
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

  /** True while the source, or the network, is not there at all. */
  get isDown(): boolean {
    return this.#last !== undefined && HANDSHAKE.has(this.#last.code);
  }

  /** True while the server is missing, and not the network: no port, or no such name. */
  get isServerAway(): boolean {
    return this.#last !== undefined && SERVER_AWAY.has(this.#last.code);
  }

  /** True while the source has been put aside for a time. */
  isResting(now: Millis): boolean {
    return this.#quarantine === undefined && this.#restsUntil > now;
  }

  /** The network has changed: every unreachable source is worth a try at once. */
  retryNow(now: Millis): void {
    if (this.isDown) this.#restsUntil = now;
  }

  /** The source is not used any more, for a reason that is not a failed request. */
  quarantineFor(error: MillraceError): void {
    this.#quarantine ??= error;
    this.#last = error;
  }

  /** When the source may be asked again; undefined: never. */
  usableAt(): Millis | undefined {
    return this.#quarantine === undefined ? this.#restsUntil : undefined;
  }

  /** Bytes came in: earlier failures are over; breaches of the contract are remembered. */
  onBytes(): void {
    this.#failures = 0;
    this.#last = undefined;
  }

  /** An answer was as it should be from beginning to end: earlier breaches are forgiven. */
  onServed(): void {
    this.#breaches = 0;
  }

  /**
   * A request failed.
   *
   * @param gotBytes true if the request had brought some: a disruption, no reason to rest
   * @param crowded true if other requests of ours were under way at the source, which has served
   *   us before: a refusal may mean that they are too many
   */
  onFailure(error: MillraceError, gotBytes: boolean, now: Millis, crowded = false): void {
    this.#last = error;
    // A failure that does not pass ends the use of the source.
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
    // Requests that were under way when the source failed fail with it: that is one failure.
    const rest = now < this.#restsUntil ? 0 : FIRST_REST_MS * 2 ** this.#failures++;
    const planned = Math.min(MAX_REST_MS, rest) * (0.5 + this.#random());
    this.#restsUntil = Math.max(this.#restsUntil, now + asked, now + planned);
  }
}
