/**
 * The part that all shells of a `DeliveryMachine` have in common: carries out its actions, knows
 * which requests are wanted, and calls the machine at its deadlines. Sockets, stores and clocks
 * belong to the shell: those of an edge in service, models in simulations.
 */

import type { Millis } from '../../base/clock.ts';
import { asMillraceError, type MillraceError } from '../../base/errors.ts';
import { type DeliveryAction, DeliveryMachine, type DeliveryMachineOptions } from './delivery.ts';

/** Carries out a delivery's actions. Its functions must not throw. */
export interface DeliveryShell {
  /** Monotonic milliseconds. */
  now(): Millis;
  /** Calls `run` once, at that time or later. @returns a function that calls it off */
  at(time: Millis, run: () => void): () => void;
  /**
   * Requests a slice. Ends in `fetched` or `failed`, which may be called before this returns.
   *
   * @returns a function that gives the request up; called at most once, and not after its end
   */
  fetch(slice: number, attempt: number): () => void;
  /** Hands a fetched slice to the client, behind those handed over before; ends in `sent`. */
  send(slice: number): void;
  /**
   * Everything has been sent (`undefined`), or cannot be. Requests still under way are given up
   * after this. Called at most once.
   */
  ended(error: MillraceError | undefined): void;
}

export class DeliveryDriver {
  readonly #transfer: DeliveryMachine;
  readonly #shell: DeliveryShell;
  /** Functions that give up the requests under way, by slice and attempt. */
  readonly #requests = new Map<string, () => void>();
  #wakeAt = Number.POSITIVE_INFINITY;
  #callOff: () => void = () => {};
  #advancing = false;
  #over = false;

  constructor(options: DeliveryMachineOptions, shell: DeliveryShell) {
    this.#transfer = new DeliveryMachine(options);
    this.#shell = shell;
  }

  /** True once the delivery has ended, by itself or by `end`. */
  get over(): boolean {
    return this.#over;
  }

  /** Carries out all actions that are due. Call it to begin; reports call it by themselves. */
  advance(): void {
    if (this.#advancing || this.#over) return;
    this.#advancing = true;
    // Slices that are there at once are reported from within, which may make more actions due.
    while (!this.#over) {
      const actions = this.#transfer.step(this.#shell.now());
      if (actions.length === 0) break;
      for (const action of actions) this.#carryOut(action);
    }
    this.#advancing = false;
    this.#schedule();
  }

  /** False if the request is not wanted any more: its result is to be discarded. */
  wants(slice: number, attempt: number): boolean {
    return this.#requests.has(keyOf(slice, attempt));
  }

  /** Slices with requests under way. */
  fetching(): Set<number> {
    return new Set([...this.#requests.keys()].map((key) => Number.parseInt(key, 10)));
  }

  /**
   * A request brought its slice.
   *
   * @param local true when it was in memory already
   * @param overtaken as in `DeliveryMachine.onFetched`
   */
  fetched(slice: number, attempt: number, local: boolean, overtaken = false): void {
    if (!this.#requests.delete(keyOf(slice, attempt))) return;
    const now = this.#shell.now();
    const actions = this.#transfer.onFetched(slice, attempt, now, local, overtaken);
    for (const action of actions) this.#carryOut(action);
    this.advance();
  }

  /** A request failed. */
  failed(slice: number, attempt: number, error: unknown): void {
    if (!this.#requests.delete(keyOf(slice, attempt))) return;
    this.#transfer.onFailed(slice, attempt, asMillraceError(error), this.#shell.now());
    this.advance();
  }

  /** The client has taken a slice. */
  sent(slice: number): void {
    if (this.#over) return;
    this.#transfer.onSent(slice, this.#shell.now());
    this.advance();
  }

  /**
   * Gives up all requests under way, without a call of the shell's `ended`.
   *
   * @returns false if the delivery was over before
   */
  end(): boolean {
    return this.#end(() => {});
  }

  #carryOut(action: DeliveryAction): void {
    if (this.#over) return;
    switch (action.kind) {
      case 'fetch':
        return this.#fetch(action.slice, action.attempt);
      case 'cancel': {
        const key = keyOf(action.slice, action.attempt);
        const giveUp = this.#requests.get(key);
        this.#requests.delete(key);
        return giveUp?.();
      }
      case 'send':
        return this.#shell.send(action.slice);
      case 'done':
        this.#end(() => this.#shell.ended(undefined));
        return;
      case 'fail':
        this.#end(() => this.#shell.ended(action.error));
        return;
    }
  }

  #fetch(slice: number, attempt: number): void {
    const key = keyOf(slice, attempt);
    let givenUp = false;
    this.#requests.set(key, () => {
      givenUp = true;
    });
    const giveUp = this.#shell.fetch(slice, attempt);
    if (this.#requests.has(key)) this.#requests.set(key, giveUp);
    else if (givenUp) giveUp();
  }

  #end(tell: () => void): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#callOff();
    tell();
    const requests = [...this.#requests.values()];
    this.#requests.clear();
    for (const giveUp of requests) giveUp();
    return true;
  }

  /** Schedules a step at the machine's next deadline, unless an earlier one is scheduled. */
  #schedule(): void {
    const at = this.#transfer.nextDeadline();
    if (at === undefined || this.#over || this.#wakeAt <= at) return;
    this.#callOff();
    this.#wakeAt = at;
    this.#callOff = this.#shell.at(at, () => {
      if (this.#wakeAt !== at) return;
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.advance();
    });
  }
}

const keyOf = (slice: number, attempt: number) => `${slice}.${attempt}`;
