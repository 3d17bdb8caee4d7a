/** Offers that are not committed yet: in memory only, few, and for a short time. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { Offer } from '../../contract/taker.ts';
import type { Proof } from '../sources/proof.ts';

/** A proof, and the earlier download that the offer continues. */
export interface ProvenOffer extends Proof {
  readonly continues?: string | undefined;
}

const MAX_OFFERS = 64;
const OFFER_MS = 60_000;

interface Pending {
  readonly offer: Offer;
  readonly abort: AbortController;
  readonly proving: Promise<ProvenOffer>;
  readonly expiresAt: number;
  proof: ProvenOffer | undefined;
}

export class Offers {
  readonly #pending = new Map<string, Pending>();
  readonly #now: () => number;

  /** @param now monotonic milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    this.#expire();
    return this.#pending.size;
  }

  /**
   * Starts the proof of an offer, or joins the one under way.
   *
   * @throws MillraceError `queue-full`; the error of the proof, after which nothing is left of the
   * offer
   */
  async prove(offer: Offer, prove: (signal: AbortSignal) => Promise<ProvenOffer>): Promise<void> {
    this.#expire();
    let pending = this.#pending.get(offer.handOff);
    if (pending === undefined) {
      if (this.#pending.size >= MAX_OFFERS) throw new MillraceError('queue-full');
      const abort = new AbortController();
      const expiresAt = this.#now() + OFFER_MS;
      pending = { offer, abort, proving: prove(abort.signal), expiresAt, proof: undefined };
      this.#pending.set(offer.handOff, pending);
    }
    try {
      pending.proof = await pending.proving;
    } catch (error) {
      if (this.#pending.get(offer.handOff) === pending) this.#pending.delete(offer.handOff);
      throw error;
    }
  }

  /** Offers that have not expired. */
  get all(): readonly Offer[] {
    this.#expire();
    return [...this.#pending.values()].map(({ offer }) => offer);
  }

  state(handOff: string): 'unknown' | 'proving' | 'proven' {
    this.#expire();
    const pending = this.#pending.get(handOff);
    if (pending === undefined) return 'unknown';
    return pending.proof === undefined ? 'proving' : 'proven';
  }

  /** Returns an offer with its proof; undefined if no offer of this name has been proven. */
  proven(handOff: string): { readonly offer: Offer; readonly proof: ProvenOffer } | undefined {
    this.#expire();
    const pending = this.#pending.get(handOff);
    const proof = pending?.proof;
    return pending === undefined || proof === undefined
      ? undefined
      : { offer: pending.offer, proof };
  }

  /** Removes an offer, and ends its proof if that is under way. */
  drop(handOff: string): void {
    const pending = this.#pending.get(handOff);
    this.#pending.delete(handOff);
    pending?.abort.abort(new MillraceError('interrupted'));
  }

  #expire(): void {
    const now = this.#now();
    for (const [handOff, { expiresAt }] of this.#pending) if (expiresAt <= now) this.drop(handOff);
  }
}
