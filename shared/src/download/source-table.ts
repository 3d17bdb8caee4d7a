/** The sources of a download with what is known of each, and the pace of the requests to them. */

import type { Millis } from '../base/clock.ts';
import { ALIGN_BYTES } from './block-size.ts';
import type { OwnChunks } from './chunk-owner.ts';
import { Forecast, RequestRate } from './forecast.ts';
import type { RunningRequest } from './running-request.ts';

/** Until something is known, the first byte is expected after so long. */
const FIRST_BYTE_MS = 250;
/** Silence of so long beyond twice the time to the first byte is no sign of anything. */
const GRACE_MS = 500;

export interface KnownSource {
  readonly id: string;
  readonly forecast: Forecast;
  readonly own: OwnChunks | undefined;
  /** Requests under way. */
  running: number;
  /** When it last sent anything, or was first asked after a pause. */
  heardAt: Millis;
}

/** When a request will be done as things stand. */
export interface Pace {
  /** Bytes per second, 0 or more. */
  readonly rate: number;
  readonly etaMs: Millis;
}

export class SourceTable {
  readonly #sources = new Map<string, KnownSource>();

  get(id: string): KnownSource | undefined {
    return this.#sources.get(id);
  }

  add(id: string, own: OwnChunks | undefined): void {
    const forecast = this.#sources.get(id)?.forecast ?? new Forecast();
    const running = this.#sources.get(id)?.running ?? 0;
    this.#sources.set(id, { id, forecast, own, running, heardAt: 0 });
  }

  remove(id: string): void {
    this.#sources.delete(id);
  }

  /** Bytes at `position` have become free again. */
  reopen(position: number): void {
    for (const source of this.#sources.values()) source.own?.reopen(position);
  }

  /** Bytes per second that one more request to the source will bring; undefined: unknown. */
  forecast(source: KnownSource, now: Millis): number | undefined {
    const rate = source.forecast.bytesPerSecond;
    if (rate === undefined || source.running === 0) return rate;
    return rate * RequestRate.patience(now - source.heardAt - this.#grace(source));
  }

  /** The same, with a guess for a source nothing is known of: the average of the others. */
  expectation(source: KnownSource | undefined, now: Millis): number | undefined {
    const own = source === undefined ? undefined : this.forecast(source, now);
    if (own !== undefined) return own;
    let sum = 0;
    let count = 0;
    for (const { forecast } of this.#sources.values()) {
      if (forecast.bytesPerSecond === undefined) continue;
      sum += forecast.bytesPerSecond;
      count++;
    }
    return count === 0 ? undefined : sum / count;
  }

  firstByteMs(source: KnownSource | undefined): Millis {
    return source?.forecast.firstByteMs ?? FIRST_BYTE_MS;
  }

  /** Time that the quickest of the sources now in use needs for the smallest request. */
  shortestMs(): Millis {
    let shortest = Number.POSITIVE_INFINITY;
    for (const source of this.#sources.values()) {
      const rate = source.forecast.bytesPerSecond;
      if (rate === undefined || source.running === 0) continue;
      shortest = Math.min(shortest, this.firstByteMs(source) + (ALIGN_BYTES * 1000) / rate);
    }
    return shortest;
  }

  /** What a request brings at present; undefined while nothing can be said. */
  rate(request: RunningRequest, now: Millis): number | undefined {
    const current = request.rate.bytesPerSecond(now);
    if (current !== undefined) return current;
    const source = this.#sources.get(request.source);
    const waited = now - (request.rate.firstByteAt ?? request.startedAt);
    const patience = RequestRate.patience(waited - this.#grace(source));
    const expected = this.expectation(source, now);
    if (expected === undefined) return patience === 1 ? undefined : 0;
    return expected * patience;
  }

  /** When a request will be done; undefined while nothing can be said. */
  pace(request: RunningRequest, now: Millis): Pace | undefined {
    const rate = this.rate(request, now);
    if (rate === undefined) return undefined;
    const { start, end } = request.unread;
    const waited = now - request.startedAt;
    const first = this.firstByteMs(this.#sources.get(request.source));
    const waitMs = request.rate.firstByteAt === undefined ? Math.max(0, first - waited) : 0;
    return { rate, etaMs: waitMs + ((end - start) * 1000) / rate };
  }

  #grace(source: KnownSource | undefined): Millis {
    return GRACE_MS + 2 * this.firstByteMs(source);
  }
}
