/**
 * The places of a stripe, and the depots that take them: those of an earlier upload at first. Depots
 * beyond the number that is needed are spare, and take the place of others.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { NEUTRAL_NAME } from '@millrace/shared/exnode/seal';
import type { Stripe } from '@millrace/shared/exnode/stripe';
import type { FileState } from '../archive/upload-source.ts';
import type { EncryptedFile } from './encrypted-file.ts';
import type { Retry } from './retry.ts';
import { leavesDepot } from './spread/store-documents.ts';
import type { DepotAccess, SpreadOptions } from './spread-upload.ts';
import { StripeSpace } from './stripe-space.ts';

/** Longest wait for the release of space that is of no use. */
const RELEASE_MS: Millis = 5000;

export interface PlacesOptions
  extends Pick<
    SpreadOptions,
    'path' | 'name' | 'depots' | 'forMs' | 'state' | 'signal' | 'observe'
  > {
  readonly fileState: FileState;
  readonly encrypted: EncryptedFile | undefined;
  readonly stripe: Stripe;
  /** Returns how often a depot is asked for space. */
  readonly newRetry: () => Retry;
}

export class StripePlaces {
  readonly #options: PlacesOptions;
  /** Spaces by the depot's place in the stripe. A depot of a tiny file may store nothing. */
  readonly spaces = new Map<number, StripeSpace>();
  /** Depots that have no place. */
  readonly #spare: Set<DepotAccess>;

  constructor(options: PlacesOptions) {
    this.#options = options;
    this.#spare = new Set(options.depots);
  }

  /** Number of depots that have no place. */
  get spare(): number {
    return this.#spare.size;
  }

  /**
   * Takes space for each place: at the depot that an earlier upload has begun at first. Where no spare
   * one is left, the space of such a depot is taken even though it does not answer: the passes ask it
   * again, and give it up as any other, while the other depots go on.
   *
   * @throws MillraceError of a depot without such space, if no spare one is left; `bad-option` if two are one
   */
  async takeAll(): Promise<void> {
    const places = Array.from({ length: this.#options.stripe.depots }, (_, depot) => depot).filter(
      (depot) => this.#options.stripe.streamBytes(depot) > 0,
    );
    const chosen = new Map<number, DepotAccess>();
    for (const depot of places) {
      for (const access of this.#spare) {
        if (!(await this.#space(depot, access).isBegun())) continue;
        chosen.set(depot, access);
        this.#spare.delete(access);
        break;
      }
    }
    const begun = new Set(chosen.keys());
    // The others are taken in order, so that those beyond the number needed stay spare.
    for (const depot of places) {
      const [next] = this.#spare;
      if (chosen.has(depot) || next === undefined) continue;
      chosen.set(depot, next);
      this.#spare.delete(next);
    }
    const taken = await Promise.allSettled(
      places.map((depot) => this.#takeOneOf(depot, chosen.get(depot), begun.has(depot))),
    );
    const failed = taken.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    this.#checkDepots();
  }

  /**
   * Takes space for a place, at one depot after the other.
   *
   * @param first the depot to ask first; undefined: a spare one
   * @param isBegun true if that one has space of an earlier upload
   * @throws MillraceError the last depot's
   */
  async #takeOneOf(depot: number, first?: DepotAccess, isBegun = false): Promise<void> {
    let failure = new MillraceError('too-few-depots', 'no further one is named');
    for (let access = first ?? this.#nextSpare(); access !== undefined; ) {
      const defers = isBegun && access === first && this.#spare.size === 0;
      try {
        return await this.#take(depot, access, defers);
      } catch (error) {
        if (this.#options.signal.aborted || !leavesDepot(error)) throw error;
        failure = error;
        const next = this.#nextSpare();
        if (next !== undefined) this.#options.observe.left(access.edge, error);
        access = next;
      }
    }
    if (isBegun && first !== undefined) return this.#take(depot, first, true);
    throw failure;
  }

  #nextSpare(): DepotAccess | undefined {
    const [next] = this.#spare;
    if (next !== undefined) this.#spare.delete(next);
    return next;
  }

  async #take(depot: number, access: DepotAccess, defers: boolean): Promise<void> {
    const { forMs, signal, observe } = this.#options;
    const name = this.#options.encrypted === undefined ? this.#options.name : NEUTRAL_NAME;
    const space = this.#space(depot, access);
    const bytes = this.#options.stripe.streamBytes(depot);
    const wish = {
      bytes,
      name: `${name}.${depot}`,
      forMs,
      ...{ retry: this.#options.newRetry(), defers },
      signal,
    };
    try {
      await space.take(wish, () => observe.anew());
    } catch (error) {
      await space.unlock();
      throw error;
    }
    this.spaces.set(depot, space);
  }

  #space(depot: number, access: DepotAccess): StripeSpace {
    const { path, state, stripe, fileState, encrypted } = this.#options;
    const part = `stripe ${stripe.data}+${stripe.parity} ${depot}`;
    const keyId = encrypted?.keyId;
    return new StripeSpace({ path, fileState, part, access, state, keyId });
  }

  /** @throws MillraceError `bad-option` if two shards would be lost with one depot */
  #checkDepots(): void {
    const served = [...this.spaces.values()].map(({ allocated }) => new URL(allocated.read).origin);
    const twice = served.find((origin, i) => served.indexOf(origin) !== i);
    if (twice === undefined) return;
    throw new MillraceError('bad-option', `two of the depots are one: ${twice}`);
  }

  /** Takes space for a place at a spare depot. @returns false if none has any */
  async replace(depot: number): Promise<boolean> {
    try {
      await this.#takeOneOf(depot);
      this.#checkDepots();
      return true;
    } catch (error) {
      // A depot of the stripe by another name would lose two shards at once.
      const isTwin = isMillraceError(error, 'bad-option');
      if (this.#options.signal.aborted || !(isTwin || leavesDepot(error))) throw error;
      const twin = this.spaces.get(depot);
      this.spaces.delete(depot);
      if (twin === undefined) return false;
      await released(twin);
      await twin.unlock();
      return this.#spare.size > 0 && this.replace(depot);
    }
  }
}

/** Releases space that is of no use, as far as its depot can be reached. */
export async function released(space: StripeSpace): Promise<void> {
  await space.giveUp(AbortSignal.timeout(RELEASE_MS)).catch((error: unknown) => {
    if (!isMillraceError(error)) throw error;
  });
}
