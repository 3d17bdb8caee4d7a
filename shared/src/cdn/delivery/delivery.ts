/**
 * The agent: turns one response into fetches of chunks, in parallel, with a window and retries, and
 * decides what may be sent when (NSDI 3.3, 5.5; LOGIN). A state machine without I/O: the shell
 * reports events, asks `step` for orders, and calls again at `nextDeadline`.
 *
 * Calling order: `step` first; every fetch it orders ends in exactly one `onFetched` or `onFailed`
 * unless a `cancel` for it came before; every send ends in `onSent`.
 */

import type { Millis, Random } from '../../base/clock.ts';
import { isPassing, MillraceError } from '../../base/errors.ts';
import { MAX_RETRY_AFTER_WAIT_MS } from '../../base/limits.ts';
import { JustInTime } from './just-in-time.ts';
import { MAX_BACKOFFS, type RetryTimer } from './retry-timer.ts';
import type { CongestionWindow } from './window.ts';

export type DeliveryAction =
  | { readonly kind: 'fetch'; readonly slice: number; readonly attempt: number }
  | { readonly kind: 'cancel'; readonly slice: number; readonly attempt: number }
  | { readonly kind: 'send'; readonly slice: number }
  | { readonly kind: 'done' }
  | { readonly kind: 'fail'; readonly error: MillraceError };

export interface DeliveryMachineOptions {
  /** Number of slices, at least 1. */
  readonly slices: number;
  /** False when slices may be sent as they come. */
  readonly inOrder: boolean;
  readonly window: CongestionWindow;
  readonly timer: RetryTimer;
  readonly random: Random;
  /** Asks the shell when bytes of the slice last came in, if any have. */
  readonly progressAt: (slice: number) => Millis | undefined;
  /** False while memory is short: then one slice at a time is begun. */
  readonly spare?: () => boolean;
  /**
   * True if the response waits when there is no memory for a chunk; absent: true. Otherwise it
   * fails, which frees its memory for others.
   */
  readonly waitsForMemory?: () => boolean;
  /** True once the client has got a part of the response; absent: true. */
  readonly hasBegun?: () => boolean;
}

/**
 * Most slices handed to the client's socket at a time: the one being sent, and the next ones, which
 * go to the system in one call if the client is fast.
 */
const MAX_SENDING = 4;
/** Most requests for one chunk at a time (NSDI 3.3; LOGIN): the first to finish wins. */
const MAX_COMPETING = 2;
/**
 * Attempts at a depot that does not answer while the client has got nothing yet: it can be told now,
 * and go elsewhere. One attempt may fail because the depot has restarted.
 */
const FIRST_ATTEMPTS = 2;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 10_000;

interface Active {
  state: 'fetching' | 'waiting' | 'ready' | 'sending';
  /** Attempts under way and when each began, oldest first. */
  readonly attempts: Map<number, Millis>;
  /** When the first attempt began. */
  readonly since: Millis;
  /** Number of attempts begun. */
  begun: number;
  /** When a further attempt is due. */
  deadline: Millis;
  /** True once the window has shrunk for this slice: it does so once. */
  firstKilled: boolean;
}

export class DeliveryMachine {
  readonly #options: DeliveryMachineOptions;
  /** Slices begun and not yet sent, in order of their start. */
  readonly #active = new Map<number, Active>();
  #nextToStart = 0;
  #nextToSend = 0;
  #sending = 0;
  #ended = false;
  #failure: MillraceError | undefined;
  /** Out of order only: slices ready to be sent, oldest first. */
  readonly #ready: number[] = [];
  readonly #justInTime = new JustInTime();

  constructor(options: DeliveryMachineOptions) {
    this.#options = options;
  }

  /** Attempts under way, over all slices. */
  get inFlight(): number {
    let count = 0;
    for (const a of this.#active.values()) count += a.attempts.size;
    return count;
  }

  /** Actions to take now. After `done` or `fail` there are none. */
  step(now: Millis): DeliveryAction[] {
    if (this.#ended) return [];
    const actions: DeliveryAction[] = [];
    this.#sendReady(actions);
    this.#retryLate(now, actions);
    this.#startNew(now, actions);
    if (this.#failure !== undefined) return this.#end({ kind: 'fail', error: this.#failure });
    if (this.#nextToStart === this.#options.slices && this.#active.size === 0) {
      return this.#end({ kind: 'done' });
    }
    return actions;
  }

  /** Returns when `step` must be called next even without an event; undefined: no such time. */
  nextDeadline(): Millis | undefined {
    let earliest: Millis | undefined;
    if (this.#ended) return undefined;
    for (const a of this.#active.values()) {
      if (a.state !== 'fetching' && a.state !== 'waiting') continue;
      if (earliest === undefined || a.deadline < earliest) earliest = a.deadline;
    }
    return earliest;
  }

  /**
   * An attempt brought its chunk.
   *
   * @param local true when it was in memory already: such times say nothing about the network
   * @param overtaken true when attempts share one fetch, and its first request lost to a later one:
   *   whichever attempt reports the chunk, the first one was killed (NSDI 5.5)
   */
  onFetched(
    slice: number,
    attempt: number,
    now: Millis,
    local: boolean,
    overtaken = false,
  ): DeliveryAction[] {
    const a = this.#active.get(slice);
    if (a === undefined || a.state === 'ready' || a.state === 'sending') return [];
    const startedAt = a.attempts.get(attempt);
    a.attempts.delete(attempt);
    if (local) this.#options.window.onLocalChunk(MAX_SENDING);
    else if (startedAt !== undefined) {
      this.#justInTime.onCame(now - a.since);
      const fast = this.#options.timer.onChunk(now - startedAt);
      if (fast && a.begun === 1 && !overtaken) this.#options.window.onFastChunk();
    }
    const losers = [...a.attempts.keys()];
    if (losers.includes(0) || overtaken) this.#firstKilled(a);
    a.attempts.clear();
    a.state = 'ready';
    if (!this.#options.inOrder) this.#ready.push(slice);
    return losers.map((loser) => ({ kind: 'cancel', slice, attempt: loser }));
  }

  /** An attempt failed. */
  onFailed(slice: number, attempt: number, error: MillraceError, now: Millis): void {
    const a = this.#active.get(slice);
    if (a?.attempts.delete(attempt) !== true || a.attempts.size > 0) return;
    const pause = Math.max(error.retryAfterMs ?? 0, this.#backoffMs(a.begun));
    const { waitsForMemory, hasBegun } = this.#options;
    const fails =
      !isPassing(error.row) ||
      (error.code === 'out-of-memory' && waitsForMemory?.() === false) ||
      (error.code === 'depot-unreachable' && a.begun >= FIRST_ATTEMPTS && hasBegun?.() === false);
    if (fails || a.begun > MAX_BACKOFFS || pause > MAX_RETRY_AFTER_WAIT_MS) {
      this.#failure ??= error;
      return;
    }
    a.state = 'waiting';
    a.deadline = now + pause;
  }

  /** The client's socket has taken the slice. */
  onSent(slice: number, now: Millis): void {
    if (!this.#active.delete(slice)) return;
    this.#sending--;
    this.#justInTime.onTaken(now);
    if (this.#sending === 0 && this.#nextReady() === undefined) this.#justInTime.onStarved();
  }

  #sendReady(actions: DeliveryAction[]): void {
    while (this.#sending < MAX_SENDING) {
      const slice = this.#nextReady();
      if (slice === undefined) return;
      if (this.#options.inOrder) this.#nextToSend++;
      else this.#ready.shift();
      (this.#active.get(slice) as Active).state = 'sending';
      this.#sending++;
      actions.push({ kind: 'send', slice });
    }
  }

  /** Returns the slice that may be sent next; undefined while it has not come. */
  #nextReady(): number | undefined {
    if (!this.#options.inOrder) return this.#ready[0];
    return this.#active.get(this.#nextToSend)?.state === 'ready' ? this.#nextToSend : undefined;
  }

  #retryLate(now: Millis, actions: DeliveryAction[]): void {
    let oldest = true;
    for (const [slice, a] of this.#active) {
      if (a.state !== 'fetching' && a.state !== 'waiting') continue;
      const isOldest = oldest;
      oldest = false;
      if (a.deadline > now) continue;
      // NSDI 5.5: over the window nothing new starts, retries included. The oldest chunk is
      // exempt: all others may be waiting for it.
      if (a.state === 'waiting') this.#begin(slice, a, now, actions);
      else if (isOldest || this.inFlight < this.#options.window.limit) {
        this.#compete(slice, a, now, actions);
      } else a.deadline = now + this.#options.timer.timeoutMs(0);
    }
  }

  /** The running attempts are late: start another beside or instead of them. */
  #compete(slice: number, a: Active, now: Millis, actions: DeliveryAction[]): void {
    const patience = this.#options.timer.timeoutMs(a.begun - 1);
    if (a.attempts.size >= MAX_COMPETING) {
      const aliveUntil = (this.#options.progressAt(slice) ?? Number.NEGATIVE_INFINITY) + patience;
      if (aliveUntil > now) {
        // Slow, but alive: killing it would waste the bytes that it has fetched.
        a.deadline = aliveUntil;
        return;
      }
      if (a.begun > MAX_BACKOFFS) {
        this.#failure ??= new MillraceError('origin-timeout', `chunk ${slice} never came`);
        return;
      }
      const oldest = a.attempts.keys().next().value as number;
      a.attempts.delete(oldest);
      if (oldest === 0) this.#firstKilled(a);
      actions.push({ kind: 'cancel', slice, attempt: oldest });
    }
    this.#begin(slice, a, now, actions);
  }

  #firstKilled(a: Active): void {
    if (!a.firstKilled) this.#options.window.onFirstAttemptKilled();
    a.firstKilled = true;
  }

  #startNew(now: Millis, actions: DeliveryAction[]): void {
    // Chunks held for the client count like those under way: the window bounds memory per client,
    // and a slow client slows the fetching.
    const limit = this.#options.spare?.() === false ? 1 : this.#limit();
    while (this.#nextToStart < this.#options.slices && this.#active.size < limit) {
      const slice = this.#nextToStart++;
      const a: Active = {
        state: 'fetching',
        attempts: new Map(),
        since: now,
        begun: 0,
        deadline: 0,
        firstKilled: false,
      };
      this.#active.set(slice, a);
      this.#begin(slice, a, now, actions);
    }
  }

  /** Returns the number of slices that may be under way or in hand. */
  #limit(): number {
    const { window, timer } = this.#options;
    // A slice whose first request is late comes with the second one, and may be the first of a node
    // that has become slow: twice that.
    const lateMs = 2 * (timer.timeoutMs(0) + timer.meanMs);
    return Math.min(window.limit, this.#justInTime.slicesAhead(lateMs, MAX_SENDING));
  }

  #begin(slice: number, a: Active, now: Millis, actions: DeliveryAction[]): void {
    const attempt = a.begun++;
    a.state = 'fetching';
    a.attempts.set(attempt, now);
    a.deadline = now + this.#options.timer.timeoutMs(attempt);
    actions.push({ kind: 'fetch', slice, attempt });
  }

  #backoffMs(begun: number): Millis {
    const backoff = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (begun - 1));
    return backoff * (0.5 + this.#options.random()); // so that clients do not come back at once
  }

  #end(action: DeliveryAction): DeliveryAction[] {
    this.#ended = true;
    this.#active.clear();
    return [action];
  }
}
