/** Slows down guessing for each client by itself, so that nobody's guesses delay anybody else. */

import type { Millis } from '../base/clock.ts';
import { GuessLimit } from '../base/guess-limit.ts';

/** Most clients that are remembered; the one whose last guess is longest ago is forgotten first. */
const MAX_CLIENTS = 4096;

export class GuessTable {
  /** Limits by client, the longest idle one first. Clients without a wrong guess have none. */
  readonly #limits = new Map<string, GuessLimit>();

  /** Returns the milliseconds until the client may guess again; 0: now. */
  waitMs(client: string, now: Millis): Millis {
    return this.#limits.get(client)?.waitMs(now) ?? 0;
  }

  onWrong(client: string, now: Millis): void {
    const limit = this.#limits.get(client) ?? new GuessLimit();
    limit.onWrong(now);
    this.#limits.delete(client);
    this.#limits.set(client, limit);
    if (this.#limits.size <= MAX_CLIENTS) return;
    const [oldest] = this.#limits.keys();
    this.#limits.delete(oldest as string);
  }

  onRight(client: string): void {
    this.#limits.delete(client);
  }

  get size(): number {
    return this.#limits.size;
  }
}
