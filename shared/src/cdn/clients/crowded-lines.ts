/**
 * Learns how long live clients of one network are silent. If a thousand clients share a line that is
 * full, each has a packet or two under way, loses them again and again, and is silent for many
 * timeouts in a row although it is there. How many follows from the timeouts after which clients of
 * that line have answered: each further one goes unanswered with the same probability, because it
 * meets the same full queue. A line that is cut shows itself too: nobody on it answers any more.
 */

import type { Millis } from '../../base/clock.ts';

/** Time after which an answer counts half. */
const HALF_LIFE_MS = 10_000;
/**
 * Share of clients that may be taken for vanished within the time for which answers count. A quarter
 * of ANYCAST's 0.16% (table 1), as downloads last longer.
 */
const SPURIOUS_SHARE = 0.0004;
/** Fewest late answers from which something follows. */
const LEAST_LATE = 3;
/** Timeouts that are assumed to be followed by another, and as many that are not. */
const ASSUMED = 3;
/** Silence of a whole line after which it is cut, and fewest clients from which that follows. */
const CUT_MS = 1200;
const CUT_CLIENTS = 10;

interface Line {
  clients: number;
  /** Recent late answers, and the timeouts before them. */
  late: number;
  timeouts: number;
  at: Millis;
  lastAckAt: Millis;
  isCut: boolean;
}

/** The lines of all watched clients, by network. */
export class CrowdedLines {
  readonly #lines = new Map<string, Line>();

  /** A client is watched from now on. @param line the network that it is in */
  enter(line: string): void {
    const known = this.#lines.get(line);
    if (known !== undefined) known.clients++;
    else this.#lines.set(line, newLine());
  }

  /** A client is watched no more. */
  leave(line: string): void {
    const known = this.#lines.get(line);
    if (known !== undefined && --known.clients === 0) this.#lines.delete(line);
  }

  /** A client acknowledged something at a time. */
  onAck(line: string, at: Millis): void {
    const known = this.#lines.get(line);
    if (known !== undefined) known.lastAckAt = Math.max(known.lastAckAt, at);
  }

  /**
   * Records that a client has answered after timeouts.
   *
   * @param inARow timeouts before that, at least 1
   */
  onLate(line: string, inARow: number, now: Millis): void {
    const known = this.#lines.get(line);
    if (known === undefined) return;
    const left = leftOf(known, now);
    known.late = known.late * left + 1;
    known.timeouts = known.timeouts * left + inARow;
    known.at = now;
  }

  /**
   * Returns true if nobody on the line has answered for some time, so that it is cut.
   *
   * @param now monotonic
   */
  isCut(line: string, now: Millis): boolean {
    const known = this.#lines.get(line);
    if (known === undefined) return false;
    const isSilent = now - known.lastAckAt >= CUT_MS;
    // The last clients of a line that was cut are as silent as all were.
    known.isCut = isSilent && (known.isCut || known.clients >= CUT_CLIENTS);
    return known.isCut;
  }

  /**
   * Returns how many timeouts in a row hardly any live client on the line leaves unanswered; 0: too
   * little is known.
   *
   * @param now monotonic
   */
  needed(line: string, now: Millis): number {
    const known = this.#lines.get(line);
    if (known === undefined) return 0;
    const left = leftOf(known, now);
    const [late, timeouts] = [known.late * left, known.timeouts * left];
    if (late < LEAST_LATE) return 0;
    // Probability that a timeout is followed by another. Silences that still go on are not counted
    // yet: a few are assumed, which matter as long as there are few answers.
    const further = (timeouts - late + ASSUMED) / (timeouts + 2 * ASSUMED);
    const spurious = Math.min(1, (SPURIOUS_SHARE * known.clients) / late);
    return 1 + Math.ceil(Math.log(spurious) / Math.log(further));
  }
}

function newLine(): Line {
  const lastAckAt = Number.NEGATIVE_INFINITY;
  return { clients: 1, late: 0, timeouts: 0, at: 0, lastAckAt, isCut: false };
}

function leftOf({ at }: Line, now: Millis): number {
  return 0.5 ** (Math.max(0, now - at) / HALF_LIFE_MS);
}
