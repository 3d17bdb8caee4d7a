/**
 * The network as the caches see it: which node should serve a chunk that this one does not have,
 * and how to ask it. Chunk store and resolver know nothing else of other nodes.
 */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import { BUFFER_BYTES_PER_CLIENT } from '@millrace/shared/base/limits';
import { onwardSalt, routingKey } from '@millrace/shared/cdn/chunks/chunk-name';
import { isStreamTag } from '@millrace/shared/cdn/chunks/version-tag';
import { RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import { depotFileId, depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import type { PeerSpeeds } from '@millrace/shared/cdn/fetch/peer-speeds';
import { PolicyRefusals } from '@millrace/shared/cdn/routing/policy-refusals';
import { replicationFactor } from '@millrace/shared/cdn/routing/replicas';
import { decideRoute, type Route, type RouteQuestion } from '@millrace/shared/cdn/routing/route';
import type { RequestDemands } from '@millrace/shared/http/answers/freshness';
import { LRUCache } from 'lru-cache';
import type { PointerCache } from '../cache/pointer-cache.ts';
import { OUTDATED } from '../egress/origin-source.ts';
import type { Metrics } from '../figures/metrics.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import { pointerName } from '../files/file-version.ts';
import { avoiding, type Path } from '../files/path.ts';
import type { ForwardTarget, Membership } from './membership.ts';
import type { PeerChunk, PeerClient } from './peer-client.ts';
import type { PieceRequest, StreamPiece } from './stream-pieces.ts';
import type { RemoteVersion } from './version-message.ts';

export interface NetworkOptions {
  readonly membership: Membership;
  readonly client: PeerClient;
  readonly speeds: PeerSpeeds;
  readonly pointers: PointerCache;
  readonly chunkBytes: number;
  readonly maxHops: number;
  readonly metrics: Metrics;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly random: Random;
}

/** How a chunk is asked for. */
export interface Onward {
  readonly path: Path;
  /** As in `route`. */
  readonly attempt: number;
  /** True if the node is to send the chunk only if it has it, or fetches it from the origin. */
  readonly ifHeld: boolean;
}

const MAX_TIMERS = 10_000;
/** Most slow nodes that a request names. */
const MAX_TOLD_SLOW = 8;

export class Network {
  readonly #options: NetworkOptions;
  /** Times of chunks by way of peers, by the origin's host: cold chunks wait for the origin. */
  readonly #timers = new LRUCache<string, RetryTimer>({ max: MAX_TIMERS });

  readonly #refusals = new PolicyRefusals();

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /**
   * Chooses the peer that serves a chunk, or the origin.
   *
   * @param attempt 0 for the first request of this node for the chunk
   * @param tried names of nodes that this node has asked already
   * @param askHolder true if a node that probably has the chunk may be asked before the origin
   */
  route(
    { version: { url, tag }, range: asked }: ChunkRequest,
    path: Path,
    attempt: number,
    tried: ReadonlySet<string>,
    askHolder = true,
  ): Route<ForwardTarget> {
    // A file that came in one stream is at the node that asked for it, from the first chunk on.
    const range = isStreamTag(tag) ? { start: 0, end: 1 } : asked;
    const salt = onwardSalt(path.salt, attempt);
    const key = routingKey({ url, range, salt });
    const isRetry = attempt > 0 || path.salt !== '';
    // This runs several times for a chunk: most keys have no salt.
    const plain = salt === '' ? key : routingKey({ url, range, salt: '' });
    const plainKey = askHolder ? plain : undefined;
    const { chunkBytes, membership } = this.#options;
    const nodes = membership.nodes();
    const replicas = replicationFactor(nodes.length, chunkBytes, BUFFER_BYTES_PER_CLIENT);
    const { speeds, now } = this.#options;
    const slow = speeds.slow(now());
    const avoid = slow.length === 0 ? tried : [...tried, ...slow];
    return this.#decide(url, { key, plainKey, isRetry, replicas }, path, nodes, avoid);
  }

  /** Chooses the node that knows a file's current version: the owner of its first chunk. */
  routeVersion(url: string, path: Path, tried: ReadonlySet<string>): Route<ForwardTarget> {
    const key = routingKey({ url, range: { start: 0, end: 1 }, salt: '' });
    return this.#decide(url, { key, replicas: 1 }, path, this.#options.membership.nodes(), tried);
  }

  /**
   * Time that a chunk may take by way of peers before another one is asked.
   *
   * @param peer that was asked for it; undefined: none yet
   */
  lateAfterMs(request: ChunkRequest, peer?: string): Millis {
    // A shorter time would take busy nodes for dead ones, each time at the origin's expense.
    const { membership, speeds, now } = this.#options;
    const usual = Math.max(membership.table.silenceMs(peer), this.#timer(request).timeoutMs(0));
    if (peer === undefined || !speeds.isSlow(peer, now())) return usual;
    const bytes = request.range.end - request.range.start;
    return Math.min(usual, speeds.usualMs(bytes, now()) ?? usual);
  }

  /** Returns true if a node sends too slowly to be asked for chunks. */
  isSlow(peer: string): boolean {
    const { speeds, now } = this.#options;
    return speeds.isSlow(peer, now());
  }

  /**
   * Asks a peer for a chunk.
   *
   * @throws PeerFailure if another node may help; MillraceError if not
   */
  async fetch(
    peer: ForwardTarget,
    request: ChunkRequest,
    { path, attempt, ifHeld }: Onward,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<PeerChunk> {
    const { client, metrics, speeds, now } = this.#options;
    metrics.forwards.inc({ hop: String(path.hops + 1) });
    const startedAt = now();
    // The next node may not know yet which nodes are slow, and would wait for them.
    const slow = speeds.slow(startedAt).filter((name) => name !== peer.name);
    const onward = avoiding(path, slow.slice(0, MAX_TOLD_SLOW));
    try {
      // A node that has the chunk keeps it under the name without salt, and asks no other for it.
      const salt = ifHeld ? '' : onwardSalt(path.salt, attempt);
      const wanted = { ...request, salt, ifHeld };
      const chunk = await client.fetchChunk(peer, wanted, onward, signal, observer);
      if (attempt === 0 && path.salt === '') this.#timer(request).onChunk(now() - startedAt);
      return chunk;
    } catch (error) {
      this.#failed(error, request.version.url);
      if (OUTDATED.some((code) => isMillraceError(error, code))) {
        // The next request must find out at once which version is current.
        const { version } = request;
        this.#options.pointers.drop(pointerName(version), version.scope, version.tag);
      }
      throw error;
    }
  }

  /**
   * Asks other nodes which version of a file is current, one after the other.
   *
   * @returns undefined if this node is to ask the origin itself
   * @throws MillraceError of the origin; the signal's reason
   */
  async findVersion(
    url: string,
    demands: RequestDemands,
    path: Path,
    signal: AbortSignal,
  ): Promise<(RemoteVersion & { readonly peer: ForwardTarget }) | undefined> {
    const { client, metrics, chunkBytes } = this.#options;
    const range = { start: 0, end: chunkBytes };
    const failed = new Set<string>();
    for (;;) {
      const route = this.routeVersion(url, path, failed);
      if (route.to === 'origin') return undefined;
      const onward = avoiding(path, [...failed]);
      failed.add(route.peer.name);
      metrics.versionForwards.inc();
      try {
        const first = { url, range };
        const version = await client.askVersion(route.peer, first, demands, onward, signal);
        return { ...version, peer: route.peer };
      } catch (error) {
        this.#failed(error, url);
        if (signal.aborted || !(error instanceof PeerFailure)) throw error;
      }
    }
  }

  /** This node's name. */
  get name(): string {
    return this.#options.membership.self.name;
  }

  /**
   * Asks a node for what follows in a file that comes to it in one stream.
   *
   * @throws as `fetch`
   */
  async fetchPiece(
    peer: ForwardTarget,
    wanted: PieceRequest,
    path: Path,
    signal: AbortSignal,
  ): Promise<StreamPiece> {
    try {
      return await this.#options.client.fetchPiece(peer, wanted, path, signal);
    } catch (error) {
      if (!signal.aborted) this.#failed(error, wanted.url);
      throw error;
    }
  }

  /** Returns the names of nodes that refuse a file or its origin by their policy. */
  refusing(url: string): readonly string[] {
    return this.#refusals.nodes(url, this.#options.now());
  }

  /** Time of a node's last answer to any request. */
  heardAt(peer: string): Millis | undefined {
    return this.#options.membership.table.get(peer)?.heardAt;
  }

  /** Sends no requests to a silent peer until its next heartbeat. */
  onSilent(peer: string): void {
    this.#options.metrics.peerFailures.inc({ kind: 'silent' });
    this.#options.membership.onForwardFailed(peer);
  }

  #decide(
    url: string,
    what: Pick<RouteQuestion<ForwardTarget>, 'key' | 'plainKey' | 'isRetry' | 'replicas'>,
    path: Path,
    nodes: readonly ForwardTarget[],
    tried: Iterable<string>,
  ): Route<ForwardTarget> {
    const { membership, maxHops, random, now } = this.#options;
    const self = nodes[0] as ForwardTarget;
    // This runs several times for a chunk: no list is put together first.
    const avoid = new Set(tried);
    for (const name of path.via) avoid.add(name);
    for (const name of path.avoid) avoid.add(name);
    for (const name of this.#refusals.nodes(url, now())) avoid.add(name);
    for (const name of this.#keepers(url)) avoid.add(name);
    const hearsay = membership.hearsay();
    const far = () => membership.far();
    const rumours = () => membership.rumours();
    const lost = () => membership.table.lost(now());
    const { hops } = path;
    const others = { self, nodes, hearsay, far, rumours, lost, avoid };
    return decideRoute({ ...what, ...others, hops, maxHops, random });
  }

  /**
   * Names of the nodes whose depot keeps a file. They own none of its chunks: copies on other nodes
   * take load off the depot, and are there while it is down.
   */
  #keepers(url: string): string[] {
    const id = depotFileId(url);
    if (id === undefined) return [];
    return this.#options.membership.table.withDepot(depotTagOf(id)).map(({ name }) => name);
  }

  #failed(error: unknown, url: string): void {
    if (!(error instanceof PeerFailure)) return;
    const { code } = error.reason;
    const { membership, metrics, now } = this.#options;
    metrics.peerFailures.inc({ kind: code });
    if (!this.#refusals.onError(error.peer, url, error.reason, now())) {
      membership.onForwardFailed(error.peer);
    }
  }

  #timer({ version }: ChunkRequest): RetryTimer {
    // The URL is canonical, and this runs several times for a chunk: no parser is needed.
    const [, , host = ''] = version.url.split('/', 3);
    let timer = this.#timers.get(host);
    if (timer === undefined) {
      timer = new RetryTimer();
      this.#timers.set(host, timer);
    }
    return timer;
  }
}
