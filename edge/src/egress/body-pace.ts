/**
 * The slowest that an origin may send. A byte now and then breaks no limit on silence, and would
 * hold a chunk or a client, and a connection, for ever.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { AwaitedPace } from '@millrace/shared/cdn/awaited-pace';
import type { HttpAnswer } from '@millrace/shared/node/http-response';

/** Bytes per second below which an origin counts as one that does not answer. */
export const MIN_BYTES_PER_SECOND = 256;

/** How often a body in pieces is looked at while its reader pauses: this part of a window. */
const LOOKS = 10;

/** Watches a body that is passed on in pieces. */
export interface WatchedPace {
  came(bytes: number): void;
  /** The reader takes nothing: its time is not the origin's. */
  pause(): void;
  resume(): void;
  stop(): void;
}

export class BodyPace {
  readonly #windowMs: Millis;
  #tooSlow = false;

  /** @param windowMs time over which the pace is measured: an origin may well pause for a while */
  constructor(windowMs: Millis) {
    this.#windowMs = windowMs;
  }

  /** True once an origin has been given up because of its pace. */
  get tooSlow(): boolean {
    return this.#tooSlow;
  }

  /**
   * Reads a body as `HttpAnswer.readInto`, at the least pace or not at all.
   *
   * @throws MillraceError as that, and `origin-timeout` for an origin that is too slow
   */
  async readInto(
    answer: HttpAnswer,
    into: Buffer,
    onBytes: (count: number) => void,
  ): Promise<void> {
    const least = (MIN_BYTES_PER_SECOND * this.#windowMs) / 1000;
    let came = 0;
    const timer = setInterval(() => {
      this.#tooSlow = came < least;
      came = 0;
      if (this.#tooSlow) answer.discard();
    }, this.#windowMs).unref();
    try {
      await answer.readInto(into, (count) => {
        came += count;
        onBytes(count);
      });
    } catch (error) {
      if (!this.#tooSlow) throw error;
      throw this.#error(least);
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * Watches a body that is passed on in pieces, from now on until `stop`.
   *
   * @param now monotonic
   * @param giveUp called once, with `origin-timeout`, if the origin is too slow
   */
  watch(now: () => Millis, giveUp: (error: MillraceError) => void): WatchedPace {
    const pace = new AwaitedPace(this.#windowMs, MIN_BYTES_PER_SECOND, now());
    let timer: NodeJS.Timeout;
    const look = () => {
      this.#tooSlow = pace.tooSlow(now());
      if (this.#tooSlow) return giveUp(this.#error(pace.least));
      const left = this.#windowMs - pace.awaitedMs(now());
      timer = setTimeout(look, Math.max(left, this.#windowMs / LOOKS)).unref();
    };
    timer = setTimeout(look, this.#windowMs).unref();
    return {
      came: (bytes) => pace.came(bytes),
      pause: () => pace.pause(now()),
      resume: () => pace.resume(now()),
      stop: () => clearTimeout(timer),
    };
  }

  #error(least: number): MillraceError {
    const seconds = this.#windowMs / 1000;
    return new MillraceError('origin-timeout', `less than ${least} bytes came in ${seconds} s`);
  }
}
