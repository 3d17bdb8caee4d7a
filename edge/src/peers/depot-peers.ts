/**
 * The depots of other nodes. The id of a file names its depot, heartbeats tell which node has that
 * depot, and this node asks it over the inside protocol: for what may be told of a file to a client
 * with a capability, and for chunks. While the depot does not answer, the nodes that keep copies of its
 * exNodes are asked.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import {
  depotFileId,
  depotQuestion,
  depotTagOf,
  keepQuestion,
} from '@millrace/shared/cdn/depot/depot-file';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import { KEEPERS, keepersOf, MAX_KEEPERS_ASKED } from '@millrace/shared/cdn/routing/keepers';
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

/** ExNodes of other depots of which this node keeps a copy. */
export interface OwnCopies {
  /** Names of these depots. */
  readonly depots: readonly string[];
  /** @throws MillraceError `no-such-allocation` if it has none that may be used */
  findFor(id: string, proof: string): Promise<StoredFile>;
}

/** Nodes that may answer: the one with the depot of a file alone, or also those with a copy of it. */
export type Askable = 'depot' | 'anyone';

/** Most nodes that are asked for one file: two depots have the same name by chance or by copying. */
const MAX_ASKED = 3;
const RETRY_AFTER_MS: Millis = 2000;

export class DepotPeers {
  readonly #options: DepotPeersOptions;
  /** Copies that this node keeps itself, if it has a depot. */
  copies: OwnCopies | undefined;

  constructor(options: DepotPeersOptions) {
    this.#options = options;
  }

  /** Returns true if a node is known that has the depot of an id. */
  knows(id: string): boolean {
    return this.#nodes(id).length > 0;
  }

  /**
   * Returns true if some node is known that has the depot of an id, or copies of exNodes of that depot.
   * Nobody is asked about other ids: they may be made up.
   */
  mayFind(id: string): boolean {
    if (this.knows(id)) return true;
    const tag = depotTagOf(id);
    const { table } = this.#options.membership;
    return this.copies?.depots.includes(tag) === true || table.keepsOf(tag).length > 0;
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

  /** Lists the nodes that are to keep a copy of an exNode, of those that answer. */
  keepers(id: string, count = KEEPERS): Peer[] {
    const { table } = this.#options.membership;
    // A node that has failed once may well have a copy.
    return keepersOf(
      id,
      [...table.peers].filter((peer) => table.isAlive(peer)),
      count,
    );
  }

  /**
   * Asks about a file.
   *
   * @param proof SHA-256 of the secret that a client has shown, hexadecimal
   * @throws MillraceError those of the depot; `depot-unreachable`; the signal's reason
   */
  ask(
    id: string,
    proof: string,
    signal: AbortSignal,
    whom: Askable = 'anyone',
  ): Promise<StoredFile> {
    const question = depotQuestion(id, proof);
    return this.#find(
      id,
      whom,
      signal,
      (peer) => this.#options.client.askDepot(peer, question, signal),
      () => this.copies?.findFor(id, proof),
    );
  }

  /**
   * Asks a node to keep a copy of an exNode of this node's depot.
   *
   * @param proof SHA-256 of the secret of its links, hexadecimal
   * @returns the edition that it has now
   * @throws PeerFailure; MillraceError; the signal's reason
   */
  askToKeep(peer: Peer, id: string, proof: string, signal: AbortSignal): Promise<StoredFile> {
    return this.#options.client.askToKeep(peer, keepQuestion(id, proof), signal);
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
    whom: Askable = 'anyone',
  ): Promise<ChunkBuffer> {
    const id = depotFileId(request.version.url) ?? '';
    const { buffer } = await this.#find(id, whom, signal, (peer) =>
      this.#options.client.fetchFromDepot(peer, request, signal, observer),
    );
    return buffer;
  }

  /**
   * Asks the depot of an id. A copy is asked for only if the depot gives no answer: what it says counts,
   * because a copy may not know yet that its exNode has ended.
   */
  async #find<T>(
    id: string,
    whom: Askable,
    signal: AbortSignal,
    ask: (peer: Peer) => Promise<T>,
    own: () => Promise<T> | undefined = () => undefined,
  ): Promise<T> {
    const nodes = this.#nodes(id).slice(0, MAX_ASKED);
    const fromCopies = () =>
      whom === 'depot' ? undefined : this.#fromCopies(id, signal, ask, own);
    // A node that answers no heartbeat may take long to fail.
    const isDown = !this.answers(id);
    const early = isDown ? await fromCopies() : undefined;
    if (early !== undefined) return early.found;
    let failure: MillraceError | undefined;
    for (const peer of nodes) {
      try {
        return await ask(peer);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (error instanceof PeerFailure) failure = this.#failed(peer, error);
        else if (!isMillraceError(error, 'no-such-allocation')) throw error;
      }
    }
    if (nodes.length > 0 && failure === undefined) throw new MillraceError('no-such-allocation');
    const late = isDown ? undefined : await fromCopies();
    if (late !== undefined) return late.found;
    throw failure ?? this.unknown();
  }

  /** Asks nodes that may have a copy. @returns undefined if none has one that may be used */
  async #fromCopies<T>(
    id: string,
    signal: AbortSignal,
    ask: (peer: Peer) => Promise<T>,
    own: () => Promise<T> | undefined,
  ): Promise<{ readonly found: T } | undefined> {
    for (const peer of [undefined, ...this.#withCopies(id)]) {
      try {
        const found = await (peer === undefined ? own() : ask(peer));
        if (found !== undefined) return { found };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        // After any other error of a copy, the next one may be right.
        if (peer !== undefined && error instanceof PeerFailure) this.#failed(peer, error);
        else if (!(error instanceof MillraceError)) throw error;
      }
    }
    return undefined;
  }

  /**
   * Nodes that may have a copy of an exNode. A copy that is new may not have come to heartbeats yet, but
   * its depot is still known then.
   */
  #withCopies(id: string): Peer[] {
    const { table } = this.#options.membership;
    if (this.knows(id)) return this.keepers(id, MAX_KEEPERS_ASKED);
    const there = table.keepsOf(depotTagOf(id)).filter((peer) => table.isAlive(peer));
    return keepersOf(id, there, MAX_KEEPERS_ASKED);
  }

  #failed(peer: Peer, { reason: cause }: PeerFailure): MillraceError {
    this.#options.metrics.peerFailures.inc({ kind: cause.code });
    this.#options.membership.onForwardFailed(peer.name);
    return new MillraceError('depot-unreachable', cause.message, {
      cause,
      retryAfterMs: RETRY_AFTER_MS,
    });
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
