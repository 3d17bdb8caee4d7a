/**
 * Fetches a chunk by way of other nodes (`@millrace/shared/cdn/forward-fetch`), with the edge's
 * network.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Tier } from '@millrace/shared/cdn/chunks/cache-outcome';
import type { Loan } from '@millrace/shared/cdn/fetch/competing-fetch';
import { ForwardFetch } from '@millrace/shared/cdn/fetch/forward-fetch';
import { Chunk } from '../files/chunk.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import { avoiding, type Path } from '../files/path.ts';
import type { ForwardTarget } from '../peers/membership.ts';
import type { Network } from '../peers/network.ts';

/** A chunk and where it came from; the receiver owns it. */
export interface Brought extends Loan {
  readonly chunk: Chunk;
  readonly tier: Tier;
  /** True when this node's own fetch took the place of the peers', and its first request lost. */
  readonly overtaken: boolean;
}

export interface ForwardFetchOptions {
  readonly key: string;
  readonly request: ChunkRequest;
  readonly path: Path;
  readonly network: Network;
  /** Generation in which the fetch begins. */
  readonly generation?: number;
  /** Fetches from the origin; the caller is a user of the chunk. */
  readonly fallback: (signal: AbortSignal) => Promise<Omit<Brought, 'release'>>;
  readonly onRaced: ((winner: number) => void) | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** Makes a fetch that has not begun yet. */
export function forwardFetch(o: ForwardFetchOptions): ForwardFetch<ForwardTarget, Brought> {
  const { key, request, path, network, generation, fallback, onRaced, now } = o;
  return new ForwardFetch<ForwardTarget, Brought>({
    bytes: request.range.end - request.range.start,
    onRaced,
    now,
    network: {
      route: (attempt, tried, askHolder) => network.route(request, path, attempt, tried, askHolder),
      async ask(peer, attempt, not, signal, observer, ifHeld) {
        const way = { path: avoiding(path, not), attempt, ifHeld };
        const brought = await network.fetch(peer, request, way, signal, observer);
        const chunk = new Chunk(key, brought.buffer, request.version, brought.digest, generation);
        return { chunk, tier: 'peer', overtaken: false, release: () => chunk.release() };
      },
      after,
      async own(signal) {
        const found = await fallback(signal);
        return { ...found, release: () => found.chunk.release() };
      },
      lateAfterMs: (peer) => network.lateAfterMs(request, peer),
      heardAt: (peer) => network.heardAt(peer),
      isSlow: (peer) => network.isSlow(peer),
      onSilent: (peer) => network.onSilent(peer),
    },
  });
}

/** As `ForwardNetwork.after`: a process that was kept from running reads first, and then judges. */
function after(ms: Millis, run: () => void): () => void {
  let reading: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    reading = setImmediate(run);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(reading);
  };
}
