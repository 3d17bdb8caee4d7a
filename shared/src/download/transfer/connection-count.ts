/**
 * Finds how many connections a download needs: more while another one brings measurably more (long
 * or lossy paths, servers that limit each connection), fewer where more would only fill queues or
 * take from others. NSDI 3.3 finds a window in the same way; LOCI 3.2.1 leaves the number to the
 * user.
 *
 * The count doubles while the rate grows. Afterwards, trials change the count and compare the rates
 * before and after. Late answers show a queue before the line, and so a line that is full: then
 * nothing is added, and a smaller count is kept if it costs no more than what one other connection
 * on that line may have taken.
 */

import type { Millis } from '../../base/clock.ts';

/** Connections at the beginning: slow start is quick enough with these on every usual path. */
const FIRST = 4;
/** Most connections that are kept only because there are so many sources. */
const MOST_FOR_SOURCES = 8;
/** Length of a step, in times to the head of an answer, and its bounds in milliseconds. */
const STEP_HEADS = 2.5;
const LEAST_STEP_MS = 200;
const MOST_STEP_MS = 1000;
/** Steps from one doubling to the next, and growth in one of them that asks for the next. */
const RISE_STEPS = 2;
const GROWTH = 1.15;
/**
 * Steps in which new connections reach their rate, in which those that stay take over the share of
 * those that have ended, and over which a rate is measured.
 */
const SETTLE_UP_STEPS = 2;
const SETTLE_DOWN_STEPS = 10;
const MEASURE_STEPS = 3;
/** The same for fewer connections: a wrong choice costs more than a slow one. */
const MEASURE_DOWN_STEPS = 10;
/** Time for which a queue counts: windows, and queues with them, go up and down. */
const FULL_FOR_MS = 10_000;
/**
 * Inaccuracy of a comparison of two rates, as a share, and the same on a full line, where the shares
 * of several connections go up and down.
 */
const NOISE = 0.05;
const FULL_NOISE = 0.15;
/** Answers that must all be late to show a queue, and how much later than the quickest is late. */
const HEADS = 4;
const LATE = 1.1;
const LATE_MS = 3;
/** Share of the best rate below which losses must be keeping connections from using the line. */
const SAGGING = 0.8;
/** Surplus of connections where the number needed is computed from the best rate. */
const SURPLUS = 1.25;
/**
 * Wait before the first trial of fewer connections, and before one where more have helped, in
 * milliseconds: on a long line, the connections that stay need seconds to fill it again.
 */
const FIRST_DOWN_MS = 10_000;
const NEEDED_MS = 15_000;
/** Shortest and longest wait after a trial that changed nothing; it doubles each time. */
const LEAST_WAIT_MS = 5000;
const MOST_WAIT_MS = 60_000;

export interface ConnectionCountOptions {
  /** Most connections, 1 or more. */
  readonly most: number;
  /** Connections that earlier downloads needed; undefined: nothing is known. */
  readonly known?: number | undefined;
}

/** A count of connections, and the bytes per second that it brought. */
interface Rate {
  readonly count: number;
  readonly rate: number;
}

type Phase =
  /** The rate grows by itself or with the count; `rates` has one entry per step. */
  | { readonly kind: 'rising'; readonly rates: number[] }
  | { readonly kind: 'steady' }
  /** A trial whose connections have not reached their rate yet. */
  | { readonly kind: 'settling'; readonly from: Rate; steps: number }
  | { readonly kind: 'measuring'; readonly from: Rate };

export class ConnectionCount {
  readonly #most: number;
  #least = 1;
  #count: number;
  #phase: Phase = { kind: 'rising', rates: [] };
  /** Bytes of the present step, its beginning, and its least length. */
  #bytes = 0;
  #since: Millis;
  #stepMs: Millis = LEAST_STEP_MS;
  /** Shortest time to the head of an answer, by source. */
  readonly #headMs = new Map<string, Millis>();
  /** For each of the last answers, at most `HEADS`, whether it was late. */
  readonly #late: boolean[] = [];
  /** When answers last showed a full line. */
  #fullAt: Millis = Number.NEGATIVE_INFINITY;
  /** Rates of the last steps, bytes per second, at most `MEASURE_DOWN_STEPS`. */
  #rates: number[] = [];
  /** Best rate that was measured, bytes per second. */
  #best = 0;
  /** When the next trials of more and of fewer connections are due. */
  #upAt: Millis;
  #downAt: Millis;
  #upWaitMs: Millis = LEAST_WAIT_MS;
  #downWaitMs: Millis = LEAST_WAIT_MS;

  constructor({ most, known }: ConnectionCountOptions, now: Millis) {
    this.#most = Math.max(1, most);
    this.#count = this.#within(known ?? FIRST);
    this.#since = this.#upAt = now;
    this.#downAt = now + FIRST_DOWN_MS;
  }

  /** Connections to use now. */
  get count(): number {
    return this.#count;
  }

  /** Count that the last measurements have confirmed; undefined before the rate is steady. */
  get confirmed(): number | undefined {
    const phase = this.#phase;
    if (phase.kind === 'rising') return undefined;
    return phase.kind === 'steady' ? this.#count : phase.from.count;
  }

  /** Sets the number of sources in use, each of which gets a connection, up to eight. */
  setSources(count: number): void {
    this.#least = Math.max(1, Math.min(count, MOST_FOR_SOURCES));
    this.#count = this.#within(this.#count);
  }

  /**
   * Notes the time from a request, sent on an open connection, to the head of its answer: a round
   * trip, the wait in the queue before the line, and the server's own time.
   */
  onHead(source: string, ms: Millis): void {
    const least = Math.min(ms, this.#headMs.get(source) ?? ms);
    this.#headMs.set(source, least);
    this.#late.push(ms > least * LATE + LATE_MS);
    if (this.#late.length > HEADS) this.#late.shift();
    const longest = Math.max(...this.#headMs.values());
    this.#stepMs = Math.min(MOST_STEP_MS, Math.max(LEAST_STEP_MS, longest * STEP_HEADS));
  }

  /**
   * Notes bytes that have come in.
   *
   * @param active requests under way
   * @returns true if the count has changed
   */
  onBytes(bytes: number, active: number, now: Millis): boolean {
    this.#bytes += bytes;
    if (now - this.#since < this.#stepMs) return false;
    const before = this.#count;
    const rate = (this.#bytes * 1000) / (now - this.#since);
    this.#beginStep(now);
    this.#onStep(rate, active, now);
    return this.#count !== before;
  }

  /**
   * Gives up the trial and the measurement under way, because something else than the count changes
   * the rate: the client's own limit, a failed request, too few requests.
   */
  disturb(now: Millis): void {
    const phase = this.#phase;
    if (phase.kind === 'settling' || phase.kind === 'measuring') {
      this.#count = this.#within(phase.from.count);
      this.#phase = { kind: 'steady' };
    }
    this.#rates = [];
    this.#beginStep(now);
  }

  #beginStep(now: Millis): void {
    this.#since = now;
    this.#bytes = 0;
  }

  #onStep(rate: number, active: number, now: Millis): void {
    const phase = this.#phase;
    if (phase.kind === 'rising') return this.#rise(phase.rates, rate, active >= this.#count);
    // There is no work for more requests, or no source takes more.
    if (active < this.#count) return this.disturb(now);
    // Connections beyond the count end with their requests.
    const over = active > this.#count;
    if (phase.kind === 'settling') {
      if (over || --phase.steps > 0) return;
      this.#phase = { kind: 'measuring', from: phase.from };
      this.#rates = [];
      return;
    }
    if (this.#isFull) this.#fullAt = now;
    this.#rates.push(rate);
    if (this.#rates.length > MEASURE_DOWN_STEPS) this.#rates.shift();
    const down = phase.kind === 'measuring' && phase.from.count > this.#count;
    if (this.#rates.length < (down ? MEASURE_DOWN_STEPS : MEASURE_STEPS)) return;
    if (phase.kind === 'measuring') this.#judge(phase.from, this.#measured(), now);
    else if (!over) this.#consider(now);
    // A trial that was given up leaves no rates.
    if (this.#rates.length > 0)
      this.#best = Math.max(this.#best, this.#measured(MEASURE_STEPS).rate);
  }

  /** The present count's rate. @param steps number of the last steps to average */
  #measured(steps = MEASURE_DOWN_STEPS): Rate {
    return { count: this.#count, rate: mean(this.#rates.slice(-steps)) };
  }

  /** Doubles the count while the rate grows and the line is not full. */
  #rise(rates: number[], rate: number, busy: boolean): void {
    this.#best = Math.max(this.#best, rate);
    rates.push(rate);
    if (rates.length < RISE_STEPS) return;
    const grew = (step: number) =>
      step > 0 && (rates[step] ?? 0) >= (rates[step - 1] ?? 0) * GROWTH;
    const flat = !grew(rates.length - 1) && !grew(rates.length - 2);
    if (flat || this.#isFull || !busy) this.#phase = { kind: 'steady' };
    else if (rates.length % RISE_STEPS === 0) this.#count = this.#within(this.#count * 2);
  }

  /** True if answers wait in a queue before the line: more connections would only lengthen it. */
  get #isFull(): boolean {
    return this.#late.length === HEADS && this.#late.every((late) => late);
  }

  /** Begins a trial if one is due. */
  #consider(now: Millis): void {
    const lately = this.#measured(MEASURE_STEPS);
    const { count, rate } = lately;
    const sags = rate < this.#best * SAGGING;
    // The line has carried more: losses keep each connection from its share of it.
    const needed = sags ? Math.ceil((count * this.#best * SURPLUS) / rate) : 0;
    const up = this.#within(Math.max(needed, count + Math.ceil(count / 2)));
    const down = this.#within(Math.floor(count / 2));
    if (!this.#isFull && up > count && (sags || now >= this.#upAt)) {
      this.#begin(up, lately, SETTLE_UP_STEPS);
    } else if (this.#isFull && down < count && now >= this.#downAt) {
      this.#begin(down, this.#measured(), SETTLE_DOWN_STEPS);
    }
  }

  #begin(count: number, from: Rate, steps: number): void {
    this.#count = count;
    this.#phase = { kind: 'settling', from, steps };
  }

  /** Ends a trial: keeps the new count, or returns to the old one. */
  #judge(from: Rate, to: Rate, now: Millis): void {
    const more = to.count > from.count;
    // Without a queue, no other connection can be what keeps this line full.
    const rivals = now - this.#fullAt < FULL_FOR_MS ? 1 : 0;
    const keep = more ? isWorth(from, to, rivals) : !isWorth(to, from, rivals);
    this.#phase = { kind: 'steady' };
    if (!keep) {
      this.#count = this.#within(from.count);
      this.#rates = [];
    }
    if (more && keep) {
      this.#upAt = now;
      this.#upWaitMs = LEAST_WAIT_MS;
      this.#downAt = now + NEEDED_MS;
    } else if (more) {
      this.#best = Math.max(from.rate, to.rate);
      this.#upAt = now + this.#upWaitMs;
      this.#upWaitMs = Math.min(MOST_WAIT_MS, 2 * this.#upWaitMs);
    } else if (keep) {
      this.#best = to.rate;
      this.#downAt = now;
      this.#downWaitMs = LEAST_WAIT_MS;
      this.#upAt = Math.max(this.#upAt, now + this.#upWaitMs);
    } else {
      this.#downAt = now + this.#downWaitMs;
      this.#downWaitMs = Math.min(MOST_WAIT_MS, 2 * this.#downWaitMs);
    }
  }

  #within(count: number): number {
    return Math.min(this.#most, Math.max(this.#least, count));
  }
}

/**
 * Returns true if the larger of two counts brings more than it could by taking from rivals on a line
 * that all of them fill: `n` connections beside one rival have `n / (n + 1)` of it.
 *
 * @param rivals connections of others on the same line
 */
export function isWorth(smaller: Rate, larger: Rate, rivals: number): boolean {
  const share = (count: number) => count / (count + rivals);
  const taken = share(larger.count) / share(smaller.count);
  return larger.rate > smaller.rate * taken * (1 + (rivals > 0 ? FULL_NOISE : NOISE));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
