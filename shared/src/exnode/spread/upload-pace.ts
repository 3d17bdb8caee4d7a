/** How fast a depot takes an upload, by what it has acknowledged: bytes that wait in buffers tell nothing. */

import type { Millis } from '../../base/clock.ts';

/** Time over which the rate is taken; each further one counts as much as all before it. */
const WINDOW_MS: Millis = 5000;
/** Time after which a depot that has acknowledged nothing yet is known to be slow. */
const SILENT_MS: Millis = 3000;

export class UploadPace {
  /** Bytes per millisecond before the present window; undefined: not known. */
  #known: number | undefined;
  /** Beginning of the present window; undefined: nothing is under way. */
  #since: Millis | undefined;
  #bytes = 0;

  /** Notes that the upload of an extent begins. */
  begin(now: Millis): void {
    this.#since = now;
    this.#bytes = 0;
  }

  /** Notes acknowledged bytes. */
  onBytes(bytes: number, now: Millis): void {
    this.#roll(now);
    this.#bytes += bytes;
  }

  /** Notes that the upload of an extent has ended. */
  end(now: Millis): void {
    this.#known = this.#rate(now);
    this.#since = undefined;
  }

  /** Forecasts the bytes per millisecond that the depot takes; undefined: nothing is known yet. */
  rate(now: Millis): number | undefined {
    this.#roll(now);
    return this.#rate(now);
  }

  #rate(now: Millis): number | undefined {
    if (this.#since === undefined) return this.#known;
    const ms = Math.max(1, now - this.#since);
    if (this.#known !== undefined) {
      return (this.#known * WINDOW_MS + this.#bytes) / (WINDOW_MS + ms);
    }
    return this.#bytes > 0 || ms >= SILENT_MS ? this.#bytes / ms : undefined;
  }

  /** Ends the windows that are over. */
  #roll(now: Millis): void {
    if (this.#since === undefined) return;
    while (now - this.#since >= WINDOW_MS) {
      const rate = this.#bytes / WINDOW_MS;
      this.#known = this.#known === undefined ? rate : (this.#known + rate) / 2;
      this.#since += WINDOW_MS;
      this.#bytes = 0;
      // After a long silence, further windows change nothing.
      if (this.#known < Number.EPSILON && now - this.#since >= WINDOW_MS) this.#since = now;
    }
  }
}
