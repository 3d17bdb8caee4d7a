/**
 * A chunk by way of other nodes: each request asks a node that has not been asked yet, one that
 * fails is replaced at once, one that is late gets a competitor, and where nobody is left the node
 * fetches the chunk itself (NSDI 5.1; LOGIN).
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Network } from '../peers/network.ts';
import type { Path } from '../peers/path.ts';
import { PeerFailure } from '../peers/peer-failure.ts';
import { Chunk } from './chunk.ts';
import type { ChunkRequest, Tier } from './chunk-store.ts';
import { type AttemptObserver, CompetingFetch, type Loan } from './competing-fetch.ts';

/** A chunk and where it came from; belongs to whoever gets it. */
export interface Brought extends Loan {
  readonly chunk: Chunk;
  readonly tier: Tier;
}

export interface ForwardFetchOptions {
  readonly key: string;
  readonly request: ChunkRequest;
  readonly path: Path;
  readonly network: Network;
  /** In which the fetch begins. */
  readonly generation?: number;
  /** Fetches from the origin; the caller is a user of the chunk. */
  readonly fallback: (signal: AbortSignal) => Promise<{ chunk: Chunk; tier: Tier }>;
  readonly onRaced: ((winner: number) => void) | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

export class ForwardFetch {
  readonly fetch: CompetingFetch<Brought>;
  readonly #o: ForwardFetchOptions;
  /** Names of nodes asked, in that order. */
  readonly #tried = new Set<string>();
  /** Of these, the ones that failed. Those that are merely late may have the chunk all the same. */
  readonly #failed = new Set<string>();
  /** The node that an attempt is waiting for. */
  readonly #asked = new Map<number, string>();

  constructor(options: ForwardFetchOptions) {
    const { request, network, now, onRaced } = options;
    this.#o = options;
    this.fetch = new CompetingFetch<Brought>({
      start: (attempt, signal, observer) => this.#attempt(attempt, signal, observer),
      // Each byte counts twice: when it reaches the other node, and when it arrives here.
      bytes: 2 * (request.range.end - request.range.start),
      lateAfterMs: () => network.lateAfterMs(request),
      now,
      heardAt: (attempt) => {
        const peer = this.#asked.get(attempt);
        // Without a peer it is this node's own fetch, which has competitors of its own.
        return peer === undefined ? now() : network.heardAt(peer);
      },
      onSilent: (attempt) => {
        const peer = this.#asked.get(attempt);
        if (peer !== undefined) network.onSilent(peer);
      },
      ...(onRaced === undefined ? {} : { onRaced }),
    });
  }

  async #attempt(
    attempt: number,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<Brought> {
    const { network, request, path, key, fallback, generation } = this.#o;
    for (;;) {
      const route = network.route(request, path, attempt, this.#tried);
      if (route.to === 'origin') {
        this.#asked.delete(attempt);
        observer.onSent();
        const { chunk, tier } = await fallback(signal);
        return { chunk, tier, release: () => chunk.release() };
      }
      // The others should not go to those that have failed either.
      const avoid = [...path.avoid, ...this.#failed];
      const { name } = route.peer;
      this.#tried.add(name);
      this.#asked.set(attempt, name);
      try {
        const { buffer, digest } = await network.fetch(
          route.peer,
          request,
          attempt,
          { ...path, avoid },
          signal,
          observer,
        );
        const chunk = new Chunk(key, buffer, request.version, digest, generation);
        return { chunk, tier: 'peer', release: () => chunk.release() };
      } catch (error) {
        if (signal.aborted || !(error instanceof PeerFailure)) throw error;
        this.#failed.add(name);
      }
    }
  }
}
