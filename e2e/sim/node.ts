/**
 * A simulated edge. Its decisions come from the modules that edges use: routing, peers, single
 * flight, forwarding, competing requests, timers, window. Cache and network are models, and there
 * is no disk. Versions count as known: real edges learn them with a small request at the beginning.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { onwardSalt } from '@millrace/shared/cdn/chunks/chunk-name';
import { MIN_ORIGIN_TIMEOUT_MS, RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import { ChunkFlights } from '@millrace/shared/cdn/fetch/chunk-flights';
import { type AttemptObserver, CompetingFetch } from '@millrace/shared/cdn/fetch/competing-fetch';
import { ForwardFetch } from '@millrace/shared/cdn/fetch/forward-fetch';
import { PATIENCE_AT_THE_ORIGIN, PATIENCE_WITH_RECEIVERS } from '@millrace/shared/cdn/fetch/hedge';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import { PeerSpeeds } from '@millrace/shared/cdn/fetch/peer-speeds';
import { hashText } from '@millrace/shared/cdn/routing/hrw';
import { MIN_SILENCE_MS } from '@millrace/shared/cdn/routing/peer-table';
import { loadSteps, replicationFactor } from '@millrace/shared/cdn/routing/replicas';
import { decideRoute, type Route, type RouteNode } from '@millrace/shared/cdn/routing/route';
import type { Place } from './places.ts';
import { askOrigin, askPeer } from './requests.ts';
import { GivenView, MeasuredView, type Member, type View } from './views.ts';
import { type Host, Link } from './wire.ts';
import type { World } from './world.ts';

/** Way of a request through the network. */
export interface Path {
  readonly hops: number;
  readonly salt: string;
  readonly via: readonly string[];
  readonly avoid: readonly string[];
}

export const INGRESS: Path = { hops: 0, salt: '', via: [], avoid: [] };

/** A chunk that was found, and its place. */
export interface Held {
  readonly tier: 'memory' | 'peer' | 'origin';
  /** True when the first request of the fetch lost to a later one. */
  readonly overtaken: boolean;
  release(): void;
}

/** The patience of edges. */
export const PATIENCE = { origin: PATIENCE_AT_THE_ORIGIN, receivers: PATIENCE_WITH_RECEIVERS };
const MEMORY: Held = { tier: 'memory', overtaken: false, release() {} };
const NOBODY: ReadonlySet<string> = new Set();

export class SimNode implements Host, Member {
  readonly name: string;
  readonly seed: Member['seed'];
  readonly weight = 1;
  readonly place: Place;
  readonly up: Link;
  readonly down: Link;
  /** `frozen` nodes are silent; the machines of `gone` nodes refuse connections. */
  state: 'up' | 'frozen' | 'gone' = 'up';
  /** When it stopped last. */
  failedAt: Millis = Number.NEGATIVE_INFINITY;
  view: View;
  readonly cache = new Set<number>();
  /** Clients' responses and other nodes' requests in progress. */
  transfers = 0;
  /** Number of chunks sent to clients and nodes. */
  served = 0;
  /** Time of the last sign of life of each other node. */
  readonly heard = new Map<string, Millis>();
  /** Functions that break the node's connections, called when it goes. */
  readonly connections = new Set<() => void>();
  readonly world: World;
  readonly flights = new ChunkFlights<Held>();
  readonly speeds = new PeerSpeeds();
  readonly #peerTimer = new RetryTimer();
  readonly #originTimer = new RetryTimer();

  constructor(world: World, name: string, place: Place, mbit: number) {
    this.world = world;
    this.name = name;
    this.seed = hashText(name);
    this.place = place;
    this.up = new Link(mbit);
    this.down = new Link(mbit);
    this.view = new GivenView([this]);
  }

  get load(): number {
    return loadSteps(this.transfers);
  }

  /** Returns a chunk from the cache, another node or the origin. */
  async get(chunk: number, signal: AbortSignal, path: Path): Promise<Held> {
    if (this.cache.has(chunk)) return MEMORY;
    return this.flights.get(String(chunk), path, signal, {
      route: () => this.route(chunk, path, 0, NOBODY),
      forward: ({ keep }, all) => this.#forward(chunk, path, keep, all),
      own: (all) => this.#own(chunk, all),
    }).result;
  }

  /** Chooses the node that serves a chunk. */
  route(
    chunk: number,
    path: Path,
    attempt: number,
    tried: ReadonlySet<string>,
    askHolder = true,
  ): Route<RouteNode> {
    const { chunkBytes, bufferBytes, maxHops, farHop } = this.world.o;
    const { now, random } = this.world.sim;
    const nodes = this.view.nodes(now);
    const key = this.world.routingKey(chunk, onwardSalt(path.salt, attempt));
    const isRetry = attempt > 0 || path.salt !== '';
    const beyond = {
      far: () => this.view.far(now, key),
      rumours: () => this.view.rumours(now, key),
      plainKey: askHolder ? this.world.routingKey(chunk, '') : undefined,
      lost: () => this.view.lost(now, key),
      isRetry,
    };
    return decideRoute({
      key,
      self: nodes[0] as RouteNode,
      nodes,
      hearsay: this.view.hearsay(now),
      ...(farHop ? beyond : {}),
      hops: path.hops,
      maxHops,
      replicas: replicationFactor(nodes.length, chunkBytes, bufferBytes),
      avoid: new Set([...path.via, ...path.avoid, ...tried, ...this.speeds.slow(now)]),
      random,
    });
  }

  /** Fetches a chunk through other nodes, or from the origin if none of them can help. */
  async #forward(chunk: number, path: Path, keep: boolean, signal: AbortSignal): Promise<Held> {
    const { sim, o } = this.world;
    const lateAfterMs = (peer?: string) => {
      const usual = Math.max(MIN_SILENCE_MS, this.#peerTimer.timeoutMs(0));
      if (peer === undefined || !this.speeds.isSlow(peer, sim.now)) return usual;
      return Math.min(usual, this.speeds.usualMs(o.chunkBytes, sim.now) ?? usual);
    };
    const forward = new ForwardFetch<RouteNode, Held>({
      bytes: o.chunkBytes,
      patienceWithReceivers: o.patience.receivers,
      now: () => sim.now,
      onRaced: (winner) => this.#raced(winner),
      network: {
        route: (attempt, tried, askHolder) => this.route(chunk, path, attempt, tried, askHolder),
        ask: (peer, attempt, not, end, observer, ifHeld) =>
          this.#ask(peer.name, chunk, attempt, path, not, end, observer, ifHeld),
        after: (ms, run) => this.#after(ms, run),
        own: (end) => this.flights.own(String(chunk), end, (all) => this.#own(chunk, all)).result,
        lateAfterMs,
        heardAt: (peer) => this.heard.get(peer),
        isSlow: (peer) => this.speeds.isSlow(peer, sim.now),
        onSilent: (peer) => this.view.onForwardFailed(peer, sim.now),
      },
    });
    const unwatch = forward.watch();
    const fetched = this.flights.run(String(chunk), path, forward.fetch, signal);
    const held = await fetched.finally(unwatch);
    this.world.figures.fetched(path.hops + 1, forward.fetch.begun);
    if (keep) this.cache.add(chunk);
    return { ...held, overtaken: held.overtaken || forward.fetch.overtaken };
  }

  async #ask(
    name: string,
    chunk: number,
    attempt: number,
    path: Path,
    not: readonly string[],
    signal: AbortSignal,
    observer: AttemptObserver,
    ifHeld: boolean,
  ): Promise<Held> {
    const { figures, sim } = this.world;
    const hop = path.hops + 1;
    figures.forwards[hop] = (figures.forwards[hop] ?? 0) + 1;
    const startedAt = sim.now;
    const peer = this.world.byName(name);
    const slow = this.speeds.slow(sim.now).filter((other) => other !== name);
    const onward = {
      hops: hop,
      salt: ifHeld ? '' : onwardSalt(path.salt, attempt),
      via: [...path.via, this.name],
      avoid: [...path.avoid, ...not, ...slow],
    };
    try {
      await askPeer({ from: this, to: peer, chunk, path: onward, ifHeld, signal, observer });
    } catch (error) {
      if (error instanceof PeerFailure) {
        figures.peerFailures++;
        this.view.onForwardFailed(name, sim.now);
      }
      throw error;
    }
    if (attempt === 0) this.#peerTimer.onChunk(sim.now - startedAt);
    return { tier: 'peer', overtaken: false, release() {} };
  }

  /** Fetches a chunk from the origin. */
  async #own(chunk: number, signal: AbortSignal): Promise<Held> {
    if (this.cache.has(chunk)) return MEMORY;
    const { figures, sim, o } = this.world;
    const fetch = new CompetingFetch<Held>({
      start: async (_attempt, end, observer) => {
        const startedAt = sim.now;
        await askOrigin(this, end, observer);
        this.#originTimer.onChunk(sim.now - startedAt);
        return { tier: 'origin', overtaken: false, release() {} };
      },
      bytes: o.chunkBytes,
      patience: () => o.patience.origin,
      lateAfterMs: () => Math.max(MIN_ORIGIN_TIMEOUT_MS, this.#originTimer.timeoutMs(0)),
      now: () => sim.now,
      onRaced: (winner) => this.#raced(winner),
    });
    const held = await this.flights.run(String(chunk), undefined, fetch, signal);
    figures.fetched(0, fetch.begun);
    figures.originFetches[chunk] = (figures.originFetches[chunk] ?? 0) + 1;
    this.cache.add(chunk);
    return { ...held, overtaken: fetch.overtaken };
  }

  #raced(winner: number): void {
    this.world.figures.races++;
    if (winner === 0) this.world.figures.racesWonByFirst++;
  }

  /** Returns true if the chunk is here, or is being fetched from the origin. */
  holds(chunk: number): boolean {
    return this.cache.has(chunk) || this.flights.hasOwn(String(chunk));
  }

  #after(ms: Millis, run: () => void): () => void {
    const { clock } = this.world.sim;
    // The clock keeps its entries until their time; clearing this releases the fetch earlier.
    let wanted: (() => void) | undefined = run;
    clock.in(ms, () => {
      if (wanted === undefined || this.state !== 'up') return this.world.sim.quiet();
      wanted();
    });
    return () => {
      wanted = undefined;
    };
  }

  /** Brings the node back with an empty cache, and without knowledge of others. */
  rise(): void {
    for (const breakOff of [...this.connections]) breakOff();
    this.cache.clear();
    this.view = new MeasuredView(this, 'near', this.world.use);
    this.state = 'up';
  }

  /**
   * Stops the node: its connections break, or fall silent. A crash loses the contents of memory.
   */
  fail(how: 'frozen' | 'gone'): void {
    this.state = how;
    this.failedAt = this.world.sim.now;
    if (how === 'frozen') return;
    this.cache.clear();
    for (const breakOff of [...this.connections]) breakOff();
  }
}
