/** The sources of a download, the facts known about each, and the pace of the requests to them. */

import type { Millis } from '../../base/clock.ts';
import { ALIGN_BYTES } from './block-size.ts';
import { Forecast } from './forecast.ts';
import { firstHeld, type Holds } from './holdings.ts';
import type { OwnChunks } from './own-chunks.ts';
import type { RunningRequest } from './running-request.ts';

const UNKNOWN = new Forecast();
/** Silence, beyond twice the time to the first byte, after which a request stands still. */
const GRACE_MS = 500;
/** Silence, beyond the time to the first byte, after which a source gets no new work. */
const DOUBT_MS = 250;
/** Time for which a source that has asked for work counts as one that wants some. */
const WANTS_MS = 400;

export interface KnownSource {
  readonly id: string;
  readonly forecast: Forecast;
  readonly own: OwnChunks | undefined;
  /** Parts of the file that it has; undefined: the whole file. */
  readonly holds: Holds | undefined;
  /** True if others like it may be found. */
  readonly hasPeers: boolean;
  /** Requests made. */
  asked: number;
  /** Requests under way. */
  running: number;
  /** When it was last asked whether there is work for it. */
  polledAt: Millis;
  /** When it last sent bytes, or was first asked for bytes; undefined: it owes none. */
  waitingSince: Millis | undefined;
  /** When it was last asked, while silent, for bytes of a slow request; undefined: not since it sent. */
  probedAt: Millis | undefined;
}

/** The present rate of a request, and the time until it is done at that rate. */
export interface Pace {
  /** Bytes per second, 0 or more. */
  readonly rate: number;
  /** Time until its next byte comes: 0 unless its answer has not begun. */
  readonly waitMs: Millis;
  readonly etaMs: Millis;
}

export class SourceTable {
  readonly #sources = new Map<string, KnownSource>();

  /** Number of sources. */
  get size(): number {
    return this.#sources.size;
  }

  get(id: string): KnownSource | undefined {
    return this.#sources.get(id);
  }

  add(id: string, facts: Pick<KnownSource, 'own' | 'holds' | 'hasPeers'>): void {
    const forecast = this.#sources.get(id)?.forecast ?? new Forecast();
    const running = this.#sources.get(id)?.running ?? 0;
    this.#sources.set(id, {
      id,
      forecast,
      ...facts,
      asked: 0,
      running,
      polledAt: Number.NEGATIVE_INFINITY,
      waitingSince: undefined,
      probedAt: undefined,
    });
  }

  /** Notes that bytes at `position` have become free again. */
  reopen(position: number): void {
    for (const source of this.#sources.values()) source.own?.reopen(position);
  }

  /** Returns true if some sources are partial and no other source has this byte. */
  isSole(source: KnownSource, position: number): boolean {
    const byte = { start: position, end: position + 1 };
    let somePartial = false;
    for (const other of this.#sources.values()) {
      somePartial ||= other.holds !== undefined;
      if (other !== source && firstHeld(other.holds, byte) !== undefined) return false;
    }
    return somePartial;
  }

  /** Notes that a request to the source begins. */
  onStart(source: KnownSource, now: Millis): void {
    source.running++;
    source.asked++;
    source.waitingSince ??= now;
  }

  /** Notes that the source has sent bytes. */
  onBytes(source: KnownSource, now: Millis): void {
    source.waitingSince = now;
    source.probedAt = undefined;
  }

  /** Notes that a request to the source has ended. A silent source stays silent until it sends. */
  onEnd(source: KnownSource, now: Millis): void {
    source.running = Math.max(0, source.running - 1);
    if (source.running === 0 && !this.isSilent(source, now)) source.waitingSince = undefined;
  }

  /** Returns how long the source has kept a request waiting; 0 if none waits. */
  silenceMs(source: KnownSource, now: Millis): Millis {
    return now - (source.waitingSince ?? now);
  }

  /** Returns true if the source owes bytes and has been silent for longer than usual. */
  isSilent(source: KnownSource, now: Millis): boolean {
    return this.silenceMs(source, now) > DOUBT_MS + this.firstByteMs(source);
  }

  /** Returns true if a source has just waited in vain, and another one wants work. */
  yields(source: KnownSource, now: Millis): boolean {
    if (!source.forecast.backsOff(now)) return false;
    for (const other of this.#sources.values()) {
      const wants = other !== source && now - other.polledAt <= WANTS_MS;
      if (wants && !other.forecast.backsOff(now)) return true;
    }
    return false;
  }

  /** Returns true if any source is not silent. */
  someAlive(now: Millis): boolean {
    for (const source of this.#sources.values()) if (!this.isSilent(source, now)) return true;
    return false;
  }

  /** Forecasts the bytes per second of one more request to the source; undefined: unknown. */
  forecast(source: KnownSource, now: Millis): number | undefined {
    return this.isSilent(source, now) ? 0 : source.forecast.bytesPerSecond;
  }

  /** Like `forecast`, with a guess for an unknown source: the average of the others. */
  expectation(source: KnownSource | undefined, now: Millis): number | undefined {
    const own = source === undefined ? undefined : this.forecast(source, now);
    return own ?? this.averageRate();
  }

  /** Returns the average bytes per second of the known sources; undefined if there are none. */
  averageRate(): number | undefined {
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
    return (source?.forecast ?? UNKNOWN).firstByteMs;
  }

  /** Returns how long to wait for a source's first byte, which grows with each wait in vain. */
  patientMs(source: KnownSource | undefined): Millis {
    return (source?.forecast ?? UNKNOWN).patientMs;
  }

  /** Returns the time that the quickest source in use needs for the smallest request. */
  shortestMs(): Millis {
    let shortest = Number.POSITIVE_INFINITY;
    for (const source of this.#sources.values()) {
      const rate = source.forecast.bytesPerSecond;
      if (rate === undefined || source.running === 0) continue;
      shortest = Math.min(shortest, this.firstByteMs(source) + (ALIGN_BYTES * 1000) / rate);
    }
    return shortest;
  }

  /** Forecasts how long a request will take; 0 while unknown. */
  expectedMs(source: KnownSource, bytes: number, now: Millis): Millis {
    const rate = this.expectation(source, now);
    return rate === undefined || rate === 0 ? 0 : this.firstByteMs(source) + (bytes * 1000) / rate;
  }

  /** Returns the present bytes per second of a request; 0: it stands still; undefined: unknown. */
  rate(request: RunningRequest, now: Millis): number | undefined {
    const source = this.#sources.get(request.source);
    if (now - request.rate.heardAt > GRACE_MS + 2 * this.patientMs(source)) return 0;
    const current = request.rate.bytesPerSecond(now);
    if (current !== undefined) return current;
    const usual = source?.forecast.bytesPerSecond;
    // A silent source is asked to find out whether it still is: give its answer time to come.
    const isAwaited = now - request.rate.heardAt <= DOUBT_MS + this.patientMs(source);
    if (source !== undefined && usual !== undefined) {
      return isAwaited ? usual : this.forecast(source, now);
    }
    const guess = isAwaited ? this.averageRate() : this.expectation(source, now);
    return request.rate.average(now) ?? guess;
  }

  /** Forecasts when a request will be done; undefined while unknown. */
  pace(request: RunningRequest, now: Millis): Pace | undefined {
    const rate = this.rate(request, now);
    if (rate === undefined) return undefined;
    const bytes = request.end - request.position;
    const bytesMs = (bytes * 1000) / rate;
    if (request.rate.firstByteAt !== undefined) return { rate, waitMs: 0, etaMs: bytesMs };
    // An overdue request will probably take as much longer again.
    const source = this.#sources.get(request.source);
    const waitMs = Math.abs(now - request.startedAt - this.patientMs(source));
    return { rate, waitMs, etaMs: waitMs + bytesMs };
  }
}
