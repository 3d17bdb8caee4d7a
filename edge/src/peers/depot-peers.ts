/**
 * The depots of other nodes. The id of a file names its depot, heartbeats tell which node has that
 * depot, and this node asks it over the inside protocol: for what may be told of a file to a client
 * with a capability, and for chunks.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { depotFileId, depotQuestion, depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import type { Peer } from '@millrace/shared/cdn/routing/peer';
import type { Metrics } from '../figures/metrics.ts';
import type { ChunkBuffer } from '../files/chunk-memory.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import type { StoredFile } from './depot-message.ts';
import type { Membership } from './membership.ts';
import type { PeerClient } from './peer-client.ts';

export interface DepotPeersOptions {
  readonly membership: Membership;
  readonly client: PeerClient;
  readonly metrics: Pick<Metrics, 'peerFailures'>;
}

/** Most nodes that are asked for one file: two depots have the same name by chance or by copying. */
const MAX_ASKED = 3;
const RETRY_AFTER_MS: Millis = 2000;

export class DepotPeers {
  readonly #options: DepotPeersOptions;

  constructor(options: DepotPeersOptions) {
    this.#options = options;
  }

  /** Returns true if a node is known that has the depot of an id. */
  knows(id: string): boolean {
    return this.#nodes(id).length > 0;
  }

  /** Returns true if such a node answers at the moment. */
  answers(id: string): boolean {
    return this.#nodes(id).some((peer) => this.#isThere(peer));
  }

  /** Returns true if the origin of a URL is where clients reach the depot of an id. */
  isAt(id: string, origin: string): boolean {
    return this.#nodes(id).some(
      ({ publicUrl }) => publicUrl !== undefined && new URL(publicUrl).origin === origin,
    );
  }

  /** Makes the error for an id whose depot is not known: it may not be known yet. */
  unknown(): MillraceError {
    const { isLearning } = this.#options.membership;
    if (!isLearning) return new MillraceError('no-such-allocation');
    return new MillraceError('depot-unreachable', 'this edge has just started', {
      retryAfterMs: RETRY_AFTER_MS,
    });
  }

  /**
   * Asks about a file.
   *
   * @param proof SHA-256 of the secret that a client has shown, hexadecimal
   * @throws MillraceError those of the depot; `depot-unreachable`; the signal's reason
   */
  ask(id: string, proof: string, signal: AbortSignal): Promise<StoredFile> {
    const question = depotQuestion(id, proof);
    return this.#tryAll(id, signal, (peer) =>
      this.#options.client.askDepot(peer, question, signal),
    );
  }

  /**
   * Fetches a chunk of a file.
   *
   * @throws as `ask`
   */
  async fetch(
    request: ChunkRequest,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const id = depotFileId(request.version.url) ?? '';
    const { buffer } = await this.#tryAll(id, signal, (peer) =>
      this.#options.client.fetchFromDepot(peer, request, signal, observer),
    );
    return buffer;
  }

  async #tryAll<T>(id: string, signal: AbortSignal, ask: (peer: Peer) => Promise<T>): Promise<T> {
    const nodes = this.#nodes(id).slice(0, MAX_ASKED);
    let failure: MillraceError | undefined;
    for (const peer of nodes) {
      try {
        return await ask(peer);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (error instanceof PeerFailure) {
          const cause = error.reason;
          this.#options.metrics.peerFailures.inc({ kind: cause.code });
          this.#options.membership.onForwardFailed(peer.name);
          failure = new MillraceError('depot-unreachable', cause.message, {
            cause,
            retryAfterMs: RETRY_AFTER_MS,
          });
        } else if (!isMillraceError(error, 'no-such-allocation')) throw error;
      }
    }
    throw (
      failure ?? (nodes.length === 0 ? this.unknown() : new MillraceError('no-such-allocation'))
    );
  }

  /** Nodes with the depot of an id, those that answer first. */
  #nodes(id: string): Peer[] {
    const nodes = this.#options.membership.table.withDepot(depotTagOf(id));
    if (nodes.length < 2) return nodes;
    return nodes.toSorted((a, b) => Number(this.#isThere(b)) - Number(this.#isThere(a)));
  }

  #isThere(peer: Peer): boolean {
    return this.#options.membership.table.isAlive(peer) && peer.trusted;
  }
}
