/**
 * Heartbeats in virtual time. Which node is asked when, and what the answers change, is decided by
 * the edges' own code: `heartbeat-turns.ts`, `address-book.ts`, `peer-table.ts`, `site.ts`.
 */

import type { Millis } from '@millrace/shared/base/clock';
import {
  HEARTBEAT_INTERVAL_MS,
  HeartbeatTurns,
  type Told,
  toldNodes,
} from '@millrace/shared/cdn/routing/heartbeat-turns';
import { MIN_SILENCE_MS } from '@millrace/shared/cdn/routing/peer-table';
import { hearMates, type Mate, matesOf } from '@millrace/shared/cdn/routing/site';
import type { SimNode } from './node.ts';
import { MeasuredView, type Sees } from './views.ts';
import type { World } from './world.ts';

/** Sizes of a request, of an answer that tells nothing, and of its parts, as edges send them. */
const REQUEST_BYTES = 290;
const ANSWER_BYTES = 471;
const SEEN_BYTES = '["edge-fra-12",1],'.length + '12,'.length;
const TOLD_BYTES = '"http://198.51.100.120:8080",'.length;
const MATE_BYTES = '["edge-fra-12",1],'.length;

/**
 * Edges choose their peers after each heartbeat. In a large simulated network a node does so once in
 * a number of heartbeats that grows with the network; each then changes less of what it knows.
 */
const NODES_PER_CHOICE = 250;
const MOST_PER_CHOICE = 8;
/**
 * Time for which nodes whose heartbeats are not simulated speak for a dead one at their site: the
 * longest round over peers at some twenty sites, and the time until a heartbeat is late.
 */
const MATES_NOTICE_MS = 12_000 + MIN_SILENCE_MS;

/** Counts of one node since the last `forget`. */
export interface HeartbeatFigures {
  /** Heartbeats sent. */
  sent: number;
  /** Bytes of these heartbeats and their answers, heads included. */
  bytes: number;
}

/** Answer of one node to a heartbeat of another. */
interface Said extends Sees {
  readonly told: Told;
  readonly mates: readonly Mate[];
}

/** The heartbeats of a network. */
export class SimHeartbeats {
  readonly world: World;
  readonly #senders = new Map<SimNode, Sender>();
  readonly #until: () => boolean;
  readonly #hasSites: boolean;
  #names: readonly string[] = [];

  /**
   * @param until ends all heartbeats when it returns true
   * @param hasSites true if operators have named the place of each node
   */
  constructor(world: World, until: () => boolean, hasSites = false) {
    this.world = world;
    this.#until = until;
    this.#hasSites = hasSites;
  }

  /** Returns the name of a node's site. */
  siteOf(node: SimNode): string | undefined {
    return this.#hasSites ? `at-${this.world.siteOf(node)[0]?.name}` : undefined;
  }

  /**
   * Starts a node that measures its view; it may know nodes already.
   *
   * @param seeds names of nodes that its operator has given; asked at once, as by edges
   */
  begin(node: SimNode, seeds: readonly string[]): void {
    const { clock, random } = this.world.sim;
    const sender = new Sender(node, this);
    this.#senders.set(node, sender);
    for (const name of seeds) if (sender.turns.addresses.addSeed(name)) sender.ask(name);
    const next = () => {
      this.world.sim.quiet();
      if (this.#until() || node.view !== sender.view || node.state !== 'up') return;
      clock.in(HEARTBEAT_INTERVAL_MS, next);
      sender.turns.beat();
    };
    clock.in(HEARTBEAT_INTERVAL_MS * random(), next);
  }

  /** Returns the counts of a node that has begun. */
  figures(node: SimNode): HeartbeatFigures {
    const sender = this.#senders.get(node);
    if (sender === undefined) throw new Error(`${node.name} sends no heartbeats`);
    return sender.figures;
  }

  /** Resets all counts. */
  forget(): void {
    for (const { figures } of this.#senders.values()) Object.assign(figures, { sent: 0, bytes: 0 });
  }

  /** A node answers: it hears of the asking one, and tells of others. */
  answer(asked: SimNode, asking: SimNode): Said {
    const { now, random } = this.world.sim;
    this.#senders.get(asked)?.turns.hearOf(asking.name);
    const { view } = asked;
    if (view instanceof MeasuredView) {
      const mates = matesOf(this.siteOf(asked), view.table.peers);
      return { ...view.sees(now), told: view.told(random, now), mates };
    }
    // A node whose own heartbeats are not simulated knows all nodes.
    const [, ...used] = view.nodes(now);
    if (this.#names.length === 0) this.#names = this.world.nodes.map(({ name }) => name);
    return {
      sees: used.map(({ name, weight }) => [name, weight]),
      told: toldNodes(
        used.map(({ name }) => name),
        this.#names,
        random,
      ),
      mates: this.#hasSites ? this.#matesOf(asked, now) : [],
    };
  }

  #matesOf(node: SimNode, now: Millis): Mate[] {
    return this.world
      .siteOf(node)
      .filter((mate) => mate.state === 'up' || now - mate.failedAt < MATES_NOTICE_MS)
      .filter((mate) => mate !== node)
      .map(({ name, load }) => [name, load]);
  }
}

/** The heartbeats of one node. */
class Sender {
  readonly view: MeasuredView;
  readonly turns: HeartbeatTurns;
  readonly figures: HeartbeatFigures = { sent: 0, bytes: 0 };
  readonly #node: SimNode;
  readonly #all: SimHeartbeats;
  #closed = 0;

  constructor(node: SimNode, all: SimHeartbeats) {
    if (!(node.view instanceof MeasuredView)) throw new Error(`${node.name} measures no view`);
    this.#node = node;
    this.#all = all;
    this.view = node.view;
    this.turns = new HeartbeatTurns({
      ask: (name) => this.ask(name),
      mayAsk: () => true,
      peers: () => this.view.members.map(({ url }) => url),
      now: () => all.world.sim.now,
      site: all.siteOf(node),
    });
    for (const { url } of this.view.table.peers) this.turns.addresses.hear(url);
    this.view.onUntrusted = (name) => this.turns.ping(name);
  }

  ask(name: string): void {
    const { world } = this.#all;
    const { clock } = world.sim;
    const [node, asked] = [this.#node, world.byName(name)];
    this.turns.onSent(name);
    this.figures.sent++;
    this.figures.bytes += REQUEST_BYTES;
    const isAnswered = world.isConnected(node, asked) && world.reaches(asked, node);
    const roundTrip = 2 * world.delayMs(node, asked);
    // Machines of crashed nodes refuse connections; nothing comes from hanging ones.
    const isRefused = asked.state === 'gone' && world.reaches(node, asked);
    const sentAt = clock.now;
    clock.in(isAnswered || isRefused ? roundTrip : MIN_SILENCE_MS, () => {
      world.sim.quiet();
      if (node.view !== this.view || node.state !== 'up') return;
      this.turns.onClosed();
      if (isAnswered) this.#answered(asked);
      else this.#missed(name, isRefused ? undefined : sentAt);
      this.#select();
    });
  }

  #select(): void {
    const { nodes, sim } = this.#all.world;
    const every = Math.round(nodes.length / NODES_PER_CHOICE);
    if (++this.#closed % Math.max(1, Math.min(MOST_PER_CHOICE, every)) === 0)
      this.view.select(sim.now);
  }

  #answered(asked: SimNode): void {
    const { random, now } = this.#all.world.sim;
    const { told, mates, ...sees } = this.#all.answer(asked, this.#node);
    const site = this.#all.siteOf(asked);
    const { length } = told.nodes;
    this.figures.bytes += ANSWER_BYTES + sees.sees.length * SEEN_BYTES;
    this.figures.bytes += length * TOLD_BYTES + mates.length * MATE_BYTES;
    const outcome = asked === this.#node ? 'self' : this.view.hear(asked, sees, random, now, site);
    this.turns.onAnswer(asked.name, outcome === 'self', site, outcome !== 'full');
    if (outcome === 'peer') this.#hearMates(asked, mates);
    this.turns.hearTold(asked.name, told);
  }

  #hearMates(speaker: SimNode, mates: readonly Mate[]): void {
    const { table } = this.view;
    const peer = table.get(speaker.name);
    if (peer === undefined || peer.site === this.#all.siteOf(this.#node)) return;
    for (const { url } of hearMates(peer, mates, table.peers)) this.turns.addresses.doubt(url);
  }

  #missed(name: string, sentAt: Millis | undefined): void {
    this.turns.onMiss(name);
    this.view.miss(name, this.#all.world.sim.now, sentAt);
  }
}
