/**
 * Fetches a chunk through other nodes (NSDI 5.1; LOGIN). Each request asks a node that has not been
 * asked yet. A failed request is replaced at once, and a late one gets a competitor. When no other
 * node is left, this node fetches the chunk itself.
 */

import type { Millis } from '../../base/clock.ts';
import { retrySalt } from '../chunks/chunk-name.ts';
import type { Route } from '../routing/route.ts';
import { type AttemptObserver, CompetingFetch, type Loan } from './competing-fetch.ts';
import { PATIENCE_WITH_RECEIVERS } from './hedge.ts';
import { PeerFailure } from './peer-failure.ts';

/** The other nodes, as one fetch of one chunk sees them. */
export interface ForwardNetwork<N extends { readonly name: string }, T extends Loan> {
  /**
   * Chooses a peer or the origin to serve the chunk.
   *
   * @param attempt 0 for the first request of this node for the chunk
   * @param tried names of nodes that this fetch has asked already
   */
  route(attempt: number, tried: ReadonlySet<string>): Route<N>;
  /**
   * Asks a node.
   *
   * @param not names of nodes that the asked node should not go to either
   * @throws PeerFailure if another node may help
   */
  ask(
    peer: N,
    attempt: number,
    not: readonly string[],
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<T>;
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
      patience: (receivedBytes) => (receivedBytes < bytes ? patienceWithReceivers : 1),
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

  async #attempt(attempt: number, signal: AbortSignal, observer: AttemptObserver): Promise<T> {
    const network = this.#network;
    for (;;) {
      const route = network.route(attempt, this.#tried);
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
        return await network.ask(route.peer, attempt, not, signal, observer);
      } catch (error) {
        if (signal.aborted || !(error instanceof PeerFailure)) throw error;
        this.#failed.add(name);
      }
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
