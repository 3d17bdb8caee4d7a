/**
 * Forecasts the speed of a source from its past: smoothed throughput minus its deviation, so that a
 * steady source counts for more than an unsteady one (LOCI 5).
 */

import type { Millis } from '../../base/clock.ts';
import { Estimate } from '../../base/estimate.ts';

/** Time for which bytes are counted before they make a sample. */
const SAMPLE_MS = 500;
/** Shortest sample: a shorter one tells more about buffers than about the network. */
const MIN_SAMPLE_MS = 100;
/** Time constant of a request's present rate: silence of this length leaves a third of it. */
const TIME_CONSTANT_MS = 1000;
/** Expected time to the first byte of an unknown source. */
const FIRST_BYTE_MS = 250;
/** Waits in vain that say nothing yet: other sources may just have been quicker. */
const USUAL_IN_VAIN = 3;
/** Most doublings of a source's patience and back-off: 4 s for an unknown source. */
const MOST_DOUBLINGS = 4;

/** The experience with all requests to one source; rates are per request. */
export class Forecast {
  readonly #rate = new Estimate();
  readonly #firstByte = new Estimate();
  /** Requests that waited in vain for a first byte, since one came last. */
  #inVain = 0;
  #backOffUntil: Millis = Number.NEGATIVE_INFINITY;

  addRate(bytesPerSecond: number): void {
    this.#rate.add(bytesPerSecond);
  }

  addFirstByte(ms: Millis): void {
    this.#firstByte.add(ms);
    this.#inVain = 0;
    this.#backOffUntil = Number.NEGATIVE_INFINITY;
  }

  /** Notes that a request that began at `startedAt` ends without a first byte. */
  endInVain(startedAt: Millis, now: Millis): void {
    if (now - startedAt < this.firstByteMs) return;
    this.#inVain++;
    if (this.#doublings > 0) this.#backOffUntil = now + FIRST_BYTE_MS * 2 ** this.#doublings;
  }

  /** True while others should be asked first, because requests have just waited in vain. */
  backsOff(now: Millis): boolean {
    return now < this.#backOffUntil;
  }

  /** Bytes per second that one more request will bring; undefined before anything is known. */
  get bytesPerSecond(): number | undefined {
    if (this.#rate.samples === 0) return undefined;
    // A deviation larger than the mean must not make a working source look dead.
    return Math.max(this.#rate.mean - this.#rate.deviation, this.#rate.mean / 8);
  }

  /** Expected time from a request to the first byte of its body. */
  get firstByteMs(): Millis {
    return this.#firstByte.samples === 0 ? FIRST_BYTE_MS : this.#firstByte.mean;
  }

  /**
   * Time to wait for a first byte before others take over the request. Each wait in vain after the
   * first ones doubles it: otherwise sources that answer late would take bytes from each other for
   * ever, before any of them has answered.
   */
  get patientMs(): Millis {
    return this.firstByteMs * 2 ** this.#doublings;
  }

  get #doublings(): number {
    return Math.max(0, Math.min(this.#inVain - USUAL_IN_VAIN, MOST_DOUBLINGS));
  }
}

/** The present rate of one request, which falls by itself while nothing comes in. */
export class RequestRate {
  readonly #forecast: Forecast;
  readonly #startedAt: Millis;
  #firstByteAt: Millis | undefined;
  #heardAt: Millis;
  #total = 0;
  /** Bytes after the first ones, with weights that decay with their age. */
  #recent = 0;
  #recentAt: Millis = 0;
  #sampleBytes = 0;
  #sampleAt: Millis = 0;
  #sampled = false;

  /** @param forecast of the request's source, which learns from the request */
  constructor(forecast: Forecast, now: Millis) {
    this.#forecast = forecast;
    this.#startedAt = now;
    this.#heardAt = now;
  }

  /** When the first byte came in. */
  get firstByteAt(): Millis | undefined {
    return this.#firstByteAt;
  }

  /** When bytes came in last; before the first, when the request began. */
  get heardAt(): Millis {
    return this.#heardAt;
  }

  add(bytes: number, now: Millis): void {
    this.#heardAt = now;
    this.#total += bytes;
    if (this.#firstByteAt === undefined) {
      // The time that the first bytes took is the time to the first byte, and shows no rate.
      this.#firstByteAt = this.#recentAt = this.#sampleAt = now;
      this.#forecast.addFirstByte(now - this.#startedAt);
      return;
    }
    this.#recent = this.#recent * decay(now - this.#recentAt) + bytes;
    this.#recentAt = now;
    this.#sampleBytes += bytes;
    if (now - this.#sampleAt >= SAMPLE_MS) this.#sample(now);
  }

  /** Ends the request, and counts the bytes that are not part of a sample yet. */
  end(now: Millis): void {
    if (this.#firstByteAt === undefined) {
      return this.#forecast.endInVain(this.#startedAt, now);
    }
    // After the first bytes alone, silence is no rate: of a forecast of 0 a source never recovers.
    const isEmpty = this.#sampleBytes === 0 && !this.#sampled;
    if (!isEmpty && now - this.#sampleAt >= MIN_SAMPLE_MS) return this.#sample(now);
    if (this.#sampled) return;
    this.#forecast.addRate((this.#total * 1000) / Math.max(1, now - this.#startedAt));
  }

  /** Returns the bytes per second of about the last second; undefined while not known yet. */
  bytesPerSecond(now: Millis): number | undefined {
    const first = this.#firstByteAt;
    // The first bytes alone make no rate.
    if (first === undefined || this.#recent === 0 || now - first < MIN_SAMPLE_MS) return undefined;
    const silence = now - this.#recentAt;
    const seconds = (TIME_CONSTANT_MS / 1000) * (1 - decay(now - first));
    return (this.#recent * decay(silence)) / seconds;
  }

  /** Returns the bytes per second since the request began; undefined before the first byte. */
  average(now: Millis): number | undefined {
    if (this.#firstByteAt === undefined) return undefined;
    return (this.#total * 1000) / Math.max(1, now - this.#startedAt);
  }

  #sample(now: Millis): void {
    this.#forecast.addRate((this.#sampleBytes * 1000) / (now - this.#sampleAt));
    this.#sampleBytes = 0;
    this.#sampleAt = now;
    this.#sampled = true;
  }
}

function decay(ms: Millis): number {
  return Math.exp(-ms / TIME_CONSTANT_MS);
}
