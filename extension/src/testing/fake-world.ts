/**
 * Fake browser, taker and disk for tests. A test can hold them up at any point: each call waits
 * until the test lets it happen, and its result waits until the test lets the caller know it.
 */

import type { Random } from '@millrace/shared/base/clock';
import { type Offer, type OfferState, type Taker, TakerError } from '../contract/taker.ts';
import type { BrowserDownload, HandOff } from '../hand-off/hand-off.ts';
import { HandOffs } from '../hand-off/hand-offs.ts';
import type { Ports } from '../hand-off/ports.ts';

/** A pending call of the background. */
interface Call {
  /**
   * Number of the background that made the call: calls of an ended background are never answered.
   */
  readonly life: number;
  /** Effect of the call; undefined once it has happened. */
  happen: (() => unknown) | undefined;
  /** Whether the call is to a taker, and breaks with the connection. */
  readonly remote: boolean;
  answer: { readonly value: unknown } | { readonly error: unknown } | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export const DOWNLOAD = { id: 7, begunAt: 1000 };

/** Whether proofs succeed, and how they fail if not. */
export type ProofOutcome = 'proven' | 'different' | 'failed' | 'refused' | 'absent' | 'never';

export class FakeWorld {
  now = 100_000;
  /** The browser's download; undefined: removed from the list. */
  download: (BrowserDownload & { readonly ours?: boolean }) | undefined = {
    state: 'in_progress',
    paused: false,
    cancelled: false,
  };
  handOffs: HandOffs | undefined;
  over: { readonly taken: boolean }[] = [];
  takerIsThere = true;
  /** Whether the taker has the complete file as soon as it has committed. */
  takerCompletes = false;
  readonly pauses: boolean;
  readonly #outcome: ProofOutcome;
  readonly #random: Random;
  #life = 0;
  #calls: Call[] = [];
  #offers = new Map<string, 'proving' | 'proven'>();
  readonly #committed = new Map<string, string>();
  readonly #discarded = new Set<string>();
  readonly #saved = new Map<string, HandOff>();
  readonly #session = new Map<string, Offer>();

  constructor(random: Random, outcome: ProofOutcome, pauses: boolean) {
    this.#random = random;
    this.#outcome = outcome;
    this.pauses = pauses;
  }

  /**
   * Number of copies that are or will be complete: the taker completes its committed downloads by
   * itself.
   */
  get copies(): number {
    const browser = this.download?.state === 'complete' ? 1 : 0;
    return browser + [...this.#committed.values()].filter((id) => !this.#discarded.has(id)).length;
  }

  get saved(): readonly HandOff[] {
    return [...this.#saved.values()];
  }

  get calls(): number {
    return this.#calls.length;
  }

  /** Starts a background, as any event does. */
  async start(): Promise<void> {
    this.#life++;
    this.handOffs = new HandOffs(this.#ports(this.#life));
    void this.handOffs.restart();
    await rest();
  }

  /**
   * Ends the background at any point. Some of its messages to the browser have arrived, in order;
   * those to the taker may still arrive later. The background gets no more answers.
   */
  kill(): void {
    const told = this.#calls.filter(isFirst);
    const arrived = Math.floor(this.#random() * (told.length + 1));
    for (const call of told.slice(0, arrived)) call.happen?.();
    this.#calls = this.#calls.filter(({ remote }) => remote);
    this.#life++;
    this.handOffs = undefined;
  }

  /** Restarts the browser: nothing runs, and data in memory are lost. */
  restartBrowser(): void {
    this.kill();
    this.#session.clear();
    if (this.download?.state === 'in_progress') {
      this.download = { state: 'interrupted', paused: false, cancelled: false };
    }
  }

  /** Ends the taker's process. Work under way may have happened or not; its result is lost. */
  killTaker(): void {
    this.takerIsThere = false;
    this.#offers.clear();
    for (const call of this.#calls.filter(({ remote }) => remote)) {
      call.happen = undefined;
      call.answer = { error: new TakerError('lost', 'it has ended') };
    }
  }

  /** Lets any one pending call proceed. @returns false if there is none */
  async proceed(): Promise<boolean> {
    const any = this.#calls[Math.floor(this.#random() * this.#calls.length)];
    if (any === undefined) return false;
    // The browser carries out orders in sequence.
    const waits = !any.remote && any.happen !== undefined;
    const call = waits ? (this.#calls.find(isFirst) ?? any) : any;
    if (call.happen !== undefined) {
      try {
        const value = call.happen();
        if (value === NEVER) return true;
        call.answer = { value };
      } catch (error) {
        call.answer = { error };
      }
      call.happen = undefined;
      return true;
    }
    this.#calls = this.#calls.filter((other) => other !== call);
    if (call.life !== this.#life || call.answer === undefined) return true;
    if ('error' in call.answer) call.reject(call.answer.error);
    else call.resolve(call.answer.value);
    await rest();
    return true;
  }

  change(download: BrowserDownload | undefined): void {
    this.download = download;
    void this.handOffs?.changed(DOWNLOAD.id);
  }

  #call<T>(life: number, happen: () => T | typeof NEVER, remote = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = resolve as (value: unknown) => void;
      this.#calls.push({ life, happen, remote, answer: undefined, resolve: settle, reject });
    });
  }

  #ports(life: number): Ports {
    return {
      browser: {
        pause: () =>
          this.#call(life, () => {
            if (this.download?.state === 'in_progress') {
              this.download = { ...this.download, paused: true };
            }
          }),
        look: () => this.#call(life, () => this.download),
        resume: () =>
          this.#call(life, () => {
            if (this.download?.cancelled || this.download?.state === 'complete') return;
            if (this.download !== undefined) {
              this.download = { state: 'in_progress', paused: false, cancelled: false };
            }
          }),
        end: () =>
          this.#call(life, () => {
            if (this.download?.state !== 'complete') this.download = undefined;
          }),
        remove: () =>
          this.#call(life, () => {
            this.download = undefined;
          }),
      },
      takers: {
        get: () => this.#taker(life),
        discard: (_, takenAs) =>
          this.#ask(life, () => {
            if (this.takerCompletes) return 'complete' as const;
            this.#discarded.add(takenAs);
            return 'removed' as const;
          }),
      },
      store: {
        load: () => this.#call(life, () => this.saved),
        put: (handOff) => this.#call(life, () => void this.#saved.set(handOff.id, handOff)),
        remove: (id) => this.#call(life, () => void this.#saved.delete(id)),
        putOffer: (offer) => this.#call(life, () => void this.#session.set(offer.handOff, offer)),
        offer: (id) => this.#call(life, () => this.#session.get(id)),
      },
      clock: { now: () => this.now, wakeAt: () => {} },
      onOver: (_, taken) => this.over.push({ taken }),
    };
  }

  #ask<T>(life: number, happen: () => T | typeof NEVER): Promise<T> {
    return this.#call(
      life,
      () => {
        if (!this.takerIsThere) throw new TakerError('lost', 'it has ended');
        return happen();
      },
      true,
    );
  }

  #taker(life: number): Taker {
    return {
      kind: 'desktop',
      offer: async (offer) => {
        await this.#ask(life, () => this.#offers.set(offer.handOff, 'proving'));
        await this.#ask(life, () => {
          if (this.#outcome === 'never') return NEVER;
          if (this.#outcome === 'proven' && this.#offers.has(offer.handOff)) {
            return this.#offers.set(offer.handOff, 'proven');
          }
          this.#offers.delete(offer.handOff);
          const problem = this.#outcome === 'proven' ? 'refused' : this.#outcome;
          throw new TakerError(problem, 'no');
        });
      },
      commit: (id) =>
        this.#ask(life, () => {
          const before = this.#committed.get(id);
          if (before !== undefined) return before;
          if (this.#offers.get(id) !== 'proven') throw new TakerError('refused', 'not proven');
          this.#offers.delete(id);
          this.#committed.set(id, `taken-${id}`);
          return `taken-${id}`;
        }),
      withdraw: (id) => this.#ask(life, () => void this.#offers.delete(id)).catch(() => undefined),
      stateOf: (id) =>
        this.#ask(life, (): OfferState => {
          const committed = this.#committed.get(id);
          if (committed !== undefined) return { state: 'committed', id: committed };
          return { state: this.#offers.get(id) ?? 'unknown' };
        }),
    };
  }
}

function isFirst({ remote, happen }: Call): boolean {
  return !remote && happen !== undefined;
}

/** Waits until all pending promises have settled, which takes no more turns than these. */
async function rest(): Promise<void> {
  for (let i = 0; i < 50; i++) await undefined;
}

const NEVER = Symbol('it is never answered');
