/**
 * Fetches a chunk through other nodes (NSDI 5.1; LOGIN). Each request asks a node that has not been
 * asked yet. A failed request is replaced at once, and a late one gets a competitor. When no other
 * node is left, this node fetches the chunk itself.
 *
 * A request that is sent because others are late often ends at a node that does not have the chunk,
 * and would fetch it from the origin once more. Before that it asks one node that probably has it,
 * and waits for the answer for a short time only.
 */

import type { Millis } from '../../base/clock.ts';
import { retrySalt } from '../chunks/chunk-name.ts';
import type { Route } from '../routing/route.ts';
import { type AttemptObserver, CompetingFetch, type Loan } from './competing-fetch.ts';
import { PATIENCE_WITH_RECEIVERS } from './hedge.ts';
import { PeerFailure } from './peer-failure.ts';
import { SLOW_CHUNK_MS } from './peer-speeds.ts';

/** Longest wait for a first sign that a node has a chunk, where the origin could be asked. */
export const HOLDER_PATIENCE_MS = 1000;

/** Time between two checks of a fetch. */
const WATCH_INTERVAL_MS = 200;

/** The other nodes, as one fetch of one chunk sees them. */
export interface ForwardNetwork<N extends { readonly name: string }, T extends Loan> {
  /**
   * Chooses a peer or the origin to serve the chunk.
   *
   * @param attempt 0 for the first request of this node for the chunk
   * @param tried names of nodes that this fetch has asked already
   * @param askHolder true if a node that probably has the chunk may be asked instead of the origin
   */
  route(attempt: number, tried: ReadonlySet<string>, askHolder: boolean): Route<N>;
  /**
   * Asks a node.
   *
   * @param not names of nodes that the asked node should not go to either
   * @param ifHeld true if the node is to fail at once if it neither has the chunk nor fetches it
   *   from the origin
   * @throws PeerFailure if another node may help
   */
  ask(
    peer: N,
    attempt: number,
    not: readonly string[],
    signal: AbortSignal,
    observer: AttemptObserver,
    ifHeld: boolean,
  ): Promise<T>;
  /**
   * Calls a function once `ms` have passed, and what has arrived meanwhile has been read.
   *
   * @returns a function that prevents it
   */
  after(ms: Millis, run: () => void): () => void;
  /** This node's own fetch, with its own competitors. */
  own(signal: AbortSignal): Promise<T>;
  /**
   * Returns how long the chunk may take before another peer is asked.
   *
   * @param peer the node asked for it; undefined: none yet
   */
  lateAfterMs(peer: string | undefined): Millis;
  /** Returns when a node last sent anything in answer to any request. */
  heardAt(peer: string): Millis | undefined;
  /** Returns true if a node sends so slowly that others are asked instead (`peer-speeds.ts`). */
  isSlow(peer: string): boolean;
  /** Called when a node has not given one sign of life for long. */
  onSilent(peer: string): void;
}

export interface ForwardFetchOptions<N extends { readonly name: string }, T extends Loan> {
  readonly network: ForwardNetwork<N, T>;
  /** Size of the chunk in bytes. */
  readonly bytes: number;
  readonly onRaced?: ((winner: number) => void) | undefined;
  /** As `PATIENCE_WITH_RECEIVERS`, which is the default. */
  readonly patienceWithReceivers?: number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

export class ForwardFetch<N extends { readonly name: string }, T extends Loan> {
  readonly fetch: CompetingFetch<T>;
  readonly #network: ForwardNetwork<N, T>;
  /** Names of nodes asked, in that order. */
  readonly #tried = new Set<string>();
  /** Names of nodes that failed. Nodes that are merely late may still have the chunk. */
  readonly #failed = new Set<string>();
  /** The node that an attempt is waiting for. */
  readonly #asked = new Map<number, string>();

  constructor(options: ForwardFetchOptions<N, T>) {
    const { network, bytes, onRaced, now } = options;
    const { patienceWithReceivers = PATIENCE_WITH_RECEIVERS } = options;
    this.#network = network;
    this.fetch = new CompetingFetch<T>({
      start: (attempt, signal, observer) => this.#attempt(attempt, signal, observer),
      // Each byte counts twice: when it reaches the other node, and when it arrives here.
      bytes: 2 * bytes,
      patience: (receivedBytes) => {
        // The rest is not worth the wait if another node sends all of it sooner.
        if (this.#waitsForSlow()) return 0;
        return receivedBytes < bytes ? patienceWithReceivers : 1;
      },
      lateAfterMs: (attempt) => network.lateAfterMs(this.#asked.get(attempt)),
      now,
      heardAt: (attempt) => {
        const peer = this.#asked.get(attempt);
        // Without a peer it is this node's own fetch, with its own competitors.
        return peer === undefined ? now() : network.heardAt(peer);
      },
      onSilent: (attempt) => {
        const peer = this.#asked.get(attempt);
        if (peer !== undefined) network.onSilent(peer);
      },
      ...(onRaced === undefined ? {} : { onRaced }),
    });
  }

  /**
   * Checks the fetch repeatedly, so that a node that hangs is found in time, and not only when some
   * client's timer runs: from the time on when a chunk is late, and if it waits for a slow node,
   * from `SLOW_CHUNK_MS` on.
   *
   * @returns a function that ends the checks
   */
  watch(): () => void {
    const { after, lateAfterMs } = this.#network;
    const lateMs = lateAfterMs(undefined);
    const early = Math.max(0, Math.floor((lateMs - SLOW_CHUNK_MS) / WATCH_INTERVAL_MS));
    // The early checks add to the others and do not move them, or all networks would be affected.
    const check = (early: number) => {
      if (early <= 0 || this.#waitsForSlow()) this.fetch.hedge();
      end = after(WATCH_INTERVAL_MS, () => check(early - 1));
    };
    let end = after(lateMs - early * WATCH_INTERVAL_MS, () => check(early));
    return () => end();
  }

  #waitsForSlow(): boolean {
    const peer = this.#asked.get(this.fetch.begun - 1);
    return peer !== undefined && this.#network.isSlow(peer);
  }

  async #attempt(attempt: number, signal: AbortSignal, observer: AttemptObserver): Promise<T> {
    const network = this.#network;
    let askHolder = true;
    for (;;) {
      const route = network.route(attempt, this.#tried, askHolder);
      if (route.to === 'origin') {
        this.#asked.delete(attempt);
        observer.onSent();
        return network.own(signal);
      }
      const { name } = route.peer;
      this.#tried.add(name);
      this.#asked.set(attempt, name);
      try {
        const not = this.#notTo(attempt, name);
        if (route.ifHeld) return await this.#askHolder(route.peer, attempt, not, signal, observer);
        return await network.ask(route.peer, attempt, not, signal, observer, false);
      } catch (error) {
        if (signal.aborted) throw error;
        if (route.ifHeld) {
          askHolder = false;
          continue;
        }
        if (!(error instanceof PeerFailure)) throw error;
        this.#failed.add(name);
      }
    }
  }

  /** Asks a node for the chunk if it has it. @throws any error if it does not, or is silent */
  async #askHolder(
    peer: N,
    attempt: number,
    not: readonly string[],
    signal: AbortSignal,
    { onSent, onBytes }: AttemptObserver,
  ): Promise<T> {
    const controller = new AbortController();
    const leave = () => controller.abort(signal.reason ?? new Error('silent'));
    signal.addEventListener('abort', leave, { once: true });
    const heard = this.#network.after(HOLDER_PATIENCE_MS, leave);
    const observer = {
      onSent,
      onBytes(count: number) {
        heard();
        onBytes(count);
      },
    };
    try {
      return await this.#network.ask(peer, attempt, not, controller.signal, observer, true);
    } finally {
      heard();
      signal.removeEventListener('abort', leave);
    }
  }

  /**
   * Names the nodes that the asked one should not go to: those that have failed, and once the
   * request has a salt, the late ones as well, since it is sent because they are late.
   */
  #notTo(attempt: number, asked: string): string[] {
    const nodes = retrySalt(attempt) === '' ? this.#failed : this.#tried;
    return [...nodes].filter((name) => name !== asked);
  }
}
