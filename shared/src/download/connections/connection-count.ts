/**
 * Finds how many connections a download needs: more while another one brings measurably more (long
 * or lossy paths, servers that limit each connection), fewer where more would only fill queues or
 * take from others. NSDI 3.3 finds a window in the same way; LOCI 3.2.1 leaves the number to the
 * user.
 *
 * A download begins with one connection where one request can ask for all the rest; one connection
 * fills many lines by itself. When its rate no longer grows, two small requests show whether answers
 * now wait in a queue: then the line is full. If it is not, several connections are tried. Other
 * downloads begin with four. The count doubles while the rate grows. Afterwards, trials change the
 * count and compare the rates before and after. Late answers show a queue before the line, and so a
 * line that is full: then nothing is added, and a smaller count is kept if it costs no more than
 * what one other connection on that line may have taken.
 */

import type { Millis } from '../../base/clock.ts';
import { AnswerTimes } from './answer-times.ts';
import type { Phase, Probing, Rising, Trial } from './connection-phases.ts';
import { isWorth, mean, NOISE, type Rate } from './connection-rates.ts';
import { TrialTimes } from './trial-times.ts';

/** Small requests that show whether one connection has filled the line, and the longest wait. */
const PROBES = 2;
const PROBE_STEPS = 8;
/** Connections that are tried if it has not. */
const SEVERAL = 8;
/** Connections at the beginning otherwise: slow start is quick enough with these on usual paths. */
const FIRST = 4;
/** Most connections that are kept only because there are so many sources. */
const MOST_FOR_SOURCES = 8;
/** Length of a step, in times to the head of an answer, and its bounds in milliseconds. */
const STEP_HEADS = 2.5;
const LEAST_STEP_MS = 200;
const LEAST_FIRST_STEP_MS = 100;
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
/** Share of a step for which requests may be held back if its rate is to count. */
const HELD = 0.25;
/** Share of the best rate below which losses must be keeping connections from using the line. */
const SAGGING = 0.9;
const SAGGING_ALONE = 0.7;
/** Surplus of connections where the number needed is computed from the best rate. */
const SURPLUS = 1.25;

export interface ConnectionCountOptions {
  /** Most connections, 1 or more. */
  readonly most: number;
  /** Connections that earlier downloads needed; undefined: nothing is known. */
  readonly known?: number | undefined;
  /** True if the download may begin with one connection. */
  readonly beginsWithOne?: boolean | undefined;
}

const STEADY: Phase = { kind: 'steady' };

export class ConnectionCount {
  readonly #most: number;
  #least = 1;
  #count: number;
  #phase: Phase;
  /** Bytes of the present step, its beginning, and its least length. */
  #bytes = 0;
  #since: Millis;
  #stepMs: Millis = LEAST_STEP_MS;
  readonly #answers = new AnswerTimes();
  /** When answers last showed a full line. */
  #fullAt: Millis = Number.NEGATIVE_INFINITY;
  /** Rates of the last steps, bytes per second, at most `MEASURE_DOWN_STEPS`. */
  #rates: number[] = [];
  /** Best rate that was measured, bytes per second. */
  #best = 0;
  /** True if the present count brought no more than a smaller one when it was first tried. */
  #isUnproven = false;
  /** Time for which the client has held back its requests in the present step, in all. */
  #heldMs: Millis = 0;
  readonly #trials: TrialTimes;

  constructor({ most, known, beginsWithOne = false }: ConnectionCountOptions, now: Millis) {
    this.#most = Math.max(1, most);
    this.#count = this.#within(known ?? (beginsWithOne ? 1 : FIRST));
    if (known !== undefined) this.#phase = STEADY;
    else if (beginsWithOne) this.#phase = { kind: 'starting', before: 0 };
    else this.#phase = { kind: 'growing', rates: [] };
    this.#beginStep(now);
    this.#since = now;
    this.#trials = new TrialTimes(now);
  }

  /** Connections to use now. */
  get count(): number {
    return this.#count;
  }

  /** Count that the last measurements have confirmed; undefined before the rate is steady. */
  get confirmed(): number | undefined {
    const phase = this.#phase;
    if (phase.kind === 'steady') return this.#count;
    return 'from' in phase ? phase.from?.count : undefined;
  }

  /** True while further requests only serve to time their answers. */
  get isProbing(): boolean {
    return this.#phase.kind === 'probing';
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
    const isLate = this.#answers.add(source, ms);
    if (this.#phase.kind === 'probing') this.#phase.late.push(isLate);
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
    const ms = now - this.#since;
    const rate = (this.#bytes * 1000) / ms;
    if (this.#heldMs > ms * active * HELD) {
      this.disturb(now);
    } else {
      this.#beginStep(now);
      this.#onStep(rate, active, now);
    }
    return this.#count !== before;
  }

  /** Notes how long the client has held back one request, for the disk or its own limit. */
  onHeld(ms: Millis): void {
    this.#heldMs += ms;
  }

  /**
   * Gives up the trial and the measurement under way, because something else than the count changes
   * the rate: the client's own limit, a failed request, too few requests.
   */
  disturb(now: Millis): void {
    const phase = this.#phase;
    if (phase.kind === 'probing') {
      this.#count = this.#within(1);
      this.#phase = { kind: 'starting', before: 0 };
    }
    if (phase.kind === 'settling' || phase.kind === 'measuring') {
      this.#count = this.#within(phase.from.count);
      this.#phase = STEADY;
    }
    this.#rates = [];
    this.#beginStep(now);
  }

  #beginStep(now: Millis): void {
    const isFirst = this.#phase.kind === 'starting' || this.#phase.kind === 'probing';
    const least = isFirst ? LEAST_FIRST_STEP_MS : LEAST_STEP_MS;
    this.#stepMs = Math.min(MOST_STEP_MS, Math.max(least, this.#answers.longestMs * STEP_HEADS));
    this.#since = now;
    this.#bytes = 0;
    this.#heldMs = 0;
  }

  #onStep(rate: number, active: number, now: Millis): void {
    const phase = this.#phase;
    if (phase.kind === 'starting') return this.#start(phase, rate, now);
    if (phase.kind === 'probing') return this.#probe(phase, now);
    if (phase.kind === 'growing') return this.#grow(phase.rates, rate, active >= this.#count);
    if (phase.kind === 'rising') return this.#rise(phase, rate, active >= this.#count, now);
    // There is no work for more requests, or no source takes more.
    if (active < this.#count) return this.disturb(now);
    // Connections beyond the count end with their requests.
    const over = active > this.#count;
    if (phase.kind === 'settling') {
      if (over || --phase.steps > 0) return;
      this.#phase = { ...phase, kind: 'measuring' };
      this.#rates = [];
      return;
    }
    if (this.#answers.areLate) this.#fullAt = now;
    this.#rates.push(rate);
    if (this.#rates.length > MEASURE_DOWN_STEPS) this.#rates.shift();
    const down = phase.kind === 'measuring' && phase.from.count > this.#count;
    if (this.#rates.length < (down ? MEASURE_DOWN_STEPS : MEASURE_STEPS)) return;
    if (phase.kind === 'measuring') this.#judge(phase, this.#measured(), now);
    else if (!over) this.#consider(now);
    // A trial that was given up leaves no rates.
    if (this.#rates.length > 0)
      this.#best = Math.max(this.#best, this.#measured(MEASURE_STEPS).rate);
  }

  /** The present count's rate. @param steps number of the last steps to average */
  #measured(steps = MEASURE_DOWN_STEPS): Rate {
    return { count: this.#count, rate: mean(this.#rates.slice(-steps)) };
  }

  /** Begins to probe once the rate of the first connection no longer grows by itself. */
  #start(phase: { before: number }, rate: number, now: Millis): void {
    const grows = rate > phase.before * GROWTH;
    phase.before = rate;
    if (grows) return;
    if (this.#mayProbe) this.#beginProbes();
    else this.#several(undefined, now);
  }

  /** True if one connection is used, and the time of an answer without a queue is known. */
  get #mayProbe(): boolean {
    return this.#count === 1 && this.#most > 1 && this.#answers.longestMs > 0;
  }

  /** @param from the rate of one connection, if it is steady */
  #beginProbes(from?: Rate): void {
    this.#count = this.#within(1 + PROBES);
    this.#phase = { kind: 'probing', late: [], from, steps: 0 };
  }

  /** Stays with one connection if the answers were late, because the line is full. */
  #probe(phase: Probing, now: Millis): void {
    const isOver = phase.late.length >= PROBES || ++phase.steps > PROBE_STEPS;
    if (!isOver && !phase.late.includes(false)) return;
    if (phase.late.length === 0 || phase.late.includes(false))
      return this.#several(phase.from, now);
    this.#count = this.#within(1);
    this.#phase = STEADY;
    this.#trials.onOneIsEnough(now);
    this.#rates = [];
    this.#best = 0;
  }

  /** Tries several connections. */
  #several(from: Rate | undefined, now: Millis): void {
    this.#count = this.#within(Math.max(SEVERAL, this.#count));
    this.#phase = { kind: 'rising', rates: [], from };
    this.#trials.onSeveral(now);
  }

  /** Doubles the first count while the rate grows, by itself or with the count. */
  #grow(rates: number[], rate: number, busy: boolean): void {
    this.#best = Math.max(this.#best, rate);
    rates.push(rate);
    if (rates.length < RISE_STEPS) return;
    const grew = (step: number) => (rates[step] ?? 0) >= (rates[step - 1] ?? Infinity) * GROWTH;
    const flat = !grew(rates.length - 1) && !grew(rates.length - 2);
    if (flat || this.#answers.areLate || !busy) this.#phase = STEADY;
    else if (rates.length % RISE_STEPS === 0) this.#count = this.#within(this.#count * 2);
  }

  /** Doubles the count while that brings more and the line is not full. */
  #rise(phase: Rising, rate: number, busy: boolean, now: Millis): void {
    const { rates } = phase;
    this.#best = Math.max(this.#best, rate);
    rates.push(rate);
    if (rates.length < RISE_STEPS) return;
    const measured = { count: this.#count, rate: Math.max(...rates.slice(-RISE_STEPS)) };
    const { from } = phase;
    // The queue of a full line may be too short to be seen.
    const isUseful = from === undefined || isWorth(from, measured, 1);
    const isFull = this.#answers.areLate;
    if (isFull || !busy || !isUseful) {
      this.#phase = STEADY;
      this.#isUnproven = !isUseful;
      if (isUseful) return;
      this.#trials.onUselessRise(now);
      // Losses make connections slower later on: where the line has room, several are kept.
      if (isFull || from.count === 1) this.#count = this.#within(from.count);
      return;
    }
    this.#count = this.#within(this.#count * 2);
    const isMost = this.#count === measured.count;
    this.#phase = isMost ? STEADY : { kind: 'rising', rates: [], from: measured };
  }

  /** Begins a trial if one is due. */
  #consider(now: Millis): void {
    const lately = this.#measured(MEASURE_STEPS);
    const { count, rate } = lately;
    const sags = rate < this.#best * (count === 1 ? SAGGING_ALONE : SAGGING);
    // The line has carried more: losses keep each connection from its share of it.
    const needed = sags ? Math.ceil((count * this.#best * SURPLUS) / rate) : 0;
    const up = this.#within(Math.max(needed, count + Math.ceil(count / 2)));
    const down = this.#within(Math.floor(count / 2));
    if (this.#mayProbe && (sags || this.#trials.mayRise(now))) {
      this.#beginProbes(lately);
    } else if (!this.#answers.areLate && up > count && (sags || this.#trials.mayRise(now))) {
      this.#begin(up, lately, SETTLE_UP_STEPS, sags);
    } else if (
      (this.#answers.areLate || this.#isUnproven) &&
      down < count &&
      this.#trials.mayFall(now)
    ) {
      this.#begin(down, this.#measured(), SETTLE_DOWN_STEPS);
    }
  }

  #begin(count: number, from: Rate, steps: number, isForLosses = false): void {
    this.#count = count;
    this.#phase = { kind: 'settling', from, isForLosses, steps };
  }

  /** Ends a trial: keeps the new count, or returns to the old one. */
  #judge({ from, isForLosses }: Trial, to: Rate, now: Millis): void {
    const more = to.count > from.count;
    // Without a queue, no other connection can be what keeps this line full.
    const rivals = now - this.#fullAt < FULL_FOR_MS ? 1 : 0;
    // Without a queue more connections harm nobody, and the next losses cost less of the rate.
    const isSpare = isForLosses && !this.#answers.areLate && from.count >= SEVERAL;
    const keep = more ? isSpare || isWorth(from, to, rivals) : !isWorth(to, from, rivals);
    this.#phase = STEADY;
    if (!keep) {
      this.#count = this.#within(from.count);
      this.#rates = [];
    }
    if (more && keep) {
      if (isSpare && to.rate < from.rate * (1 + NOISE)) this.#best = Math.max(from.rate, to.rate);
      this.#trials.onMoreKept(now);
    } else if (more) {
      this.#best = Math.max(from.rate, to.rate);
      this.#trials.onMoreDropped(now);
    } else if (keep) {
      this.#best = to.rate;
      this.#trials.onFewerKept(now);
    } else {
      this.#isUnproven = false;
      this.#trials.onFewerDropped(now);
    }
  }

  #within(count: number): number {
    return Math.min(this.#most, Math.max(this.#least, count));
  }
}
