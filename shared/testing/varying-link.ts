/**
 * Simulates a link of a wide-area network, whose rate wanders and sometimes drops to a small part
 * (WORLDS 4.1: chunks that take 10 to 20 times as long as others, at otherwise fast nodes).
 */

import type { Millis, Random } from '../src/base/clock.ts';
import type { Link } from './simulated-source.ts';

export interface VaryingLinkOptions {
  /** Mean rate outside slowdowns. */
  readonly bytesPerSecond: number;
  readonly random: Random;
  /** Standard deviation of the logarithm of the rate; 0: it never changes. */
  readonly spread: number;
  /** Chance that a spell of the link is a slowdown, 0 to 1. */
  readonly slowdowns: number;
}

/** Mean length of a spell, in which the rate stays the same; lengths are exponential. */
const SPELL_MS = 2000;
/** Smallest and largest share of the rate during a slowdown. */
const SLOWEST = 1 / 20;
const LEAST_SLOW = 1 / 10;

export class VaryingLink implements Link {
  readonly #options: VaryingLinkOptions;
  #freeAt: Millis = 0;
  #rate = 0;
  #spellEnd: Millis = 0;

  constructor(options: VaryingLinkOptions) {
    this.#options = options;
  }

  send(bytes: number, at: Millis): Millis {
    let now = Math.max(at, this.#freeAt);
    let left = bytes;
    for (;;) {
      while (now >= this.#spellEnd) this.#newSpell();
      const room = (this.#rate * (this.#spellEnd - now)) / 1000;
      if (left <= room) break;
      left -= room;
      now = this.#spellEnd;
    }
    this.#freeAt = now + (left * 1000) / this.#rate;
    return this.#freeAt;
  }

  #newSpell(): void {
    const { bytesPerSecond, random, spread, slowdowns } = this.#options;
    const slow = random() < slowdowns ? SLOWEST + random() * (LEAST_SLOW - SLOWEST) : 1;
    // Subtract half the variance, so that the mean is the given rate.
    const wander = Math.exp(spread * normal(random) - spread ** 2 / 2);
    this.#rate = bytesPerSecond * slow * wander;
    this.#spellEnd -= SPELL_MS * Math.log(1 - random());
  }
}

/** Draws from the standard normal distribution (Box and Muller). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
