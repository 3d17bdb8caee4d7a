/**
 * The least pace of bodies that are read as a whole. An origin that sends a byte now and then
 * breaks no limit on silence, and would hold a chunk and a connection for ever.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { HttpAnswer } from '@millrace/shared/node/http-response';

/** Bytes per second below which an origin counts as not answering. */
const MIN_BYTES_PER_SECOND = 256;

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
   * Reads a body like `HttpAnswer.readInto`, and gives it up below the least pace.
   *
   * @throws MillraceError like `readInto`, and `origin-timeout` for an origin that is too slow
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
      const seconds = this.#windowMs / 1000;
      throw new MillraceError('origin-timeout', `less than ${least} bytes came in ${seconds} s`);
    } finally {
      clearInterval(timer);
    }
  }
}
