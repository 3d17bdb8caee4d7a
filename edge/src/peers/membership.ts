/**
 * The shell around peer table and peer set: asks all known nodes in turn how they are, learns of
 * new ones from seeds and from the nodes themselves, and says which can be used now.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { AddressBook } from '@millrace/shared/cdn/routing/address-book';
import { hashText } from '@millrace/shared/cdn/routing/hrw';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import { selectPeers } from '@millrace/shared/cdn/routing/peer-set';
import { type Peer, type PeerPolicy, PeerTable } from '@millrace/shared/cdn/routing/peer-table';
import type { Hearsay, RouteNode } from '@millrace/shared/cdn/routing/route';
import { SilenceTimer } from '@millrace/shared/node/silence-timer';
import { resolveSeeds, type Seed } from '../config/seeds.ts';
import { type ClusterAuth, isLoopback } from './cluster-auth.ts';
import { askingNode, type HeartbeatAnswer, MAX_TOLD, wantedAddress } from './heartbeat.ts';
import { HEARTBEAT_LATE_MS, HeartbeatClient } from './heartbeat-client.ts';
import { describePeers, publicEdges } from './peer-view.ts';
import { textDigest } from './text-digest.ts';
import type { Digests } from './version-message.ts';

export interface MembershipOptions {
  readonly name: string;
  readonly weight: number;
  readonly policy: PeerPolicy;
  readonly org: string | undefined;
  readonly publicUrl: string | undefined;
  /** Address for other nodes, where they cannot work it out themselves. */
  readonly peerUrl: string | undefined;
  readonly seeds: readonly Seed[];
  readonly auth: ClusterAuth;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** This node's load and whether it is shutting down. */
  readonly own: () => { readonly load: number; readonly draining: boolean };
  /** What all nodes are to know: digests of it now, and what another node says of its own. */
  readonly shared?: {
    readonly digests: Digests;
    readonly heard: (node: { name: string; url: string }, digests: Digests) => Promise<void>;
  };
  /** For tests: how names are looked up, and how often what is done. */
  readonly resolve?: typeof resolveSeeds;
  readonly heartbeatIntervalMs?: Millis;
  readonly resolveIntervalMs?: Millis;
}

/** A node that requests can be forwarded to. */
export interface ForwardTarget extends RouteNode {
  readonly url: string;
}

/** Heartbeats per second over all known nodes (NSDI 4.2). */
const HEARTBEAT_INTERVAL_MS = 500;
/** Heartbeats under way at a time, when many nodes are heard of at once. */
const MAX_ASKING = 16;
const RESOLVE_INTERVAL_MS = 30_000;

export class Membership {
  readonly table: PeerTable;
  readonly #options: MembershipOptions;
  readonly #client: HeartbeatClient;
  readonly #addresses = new AddressBook();
  readonly #self: ForwardTarget & { load: number };
  readonly #instance = randomUUID();
  /** Addresses at which another node has this one's name. */
  readonly #twins = new Set<string>();
  #members: Peer[] = [];
  /** Worked out anew whenever what it is made of may have changed. */
  #hearsay: readonly Hearsay<Peer>[] | undefined;
  #timers: NodeJS.Timeout[] = [];
  #port = 0;
  #firstRound: Promise<unknown> = Promise.resolve();
  #isShared = false;
  /** Heartbeats under way. */
  #asking = 0;

  constructor(options: MembershipOptions) {
    const { name, org, weight } = options;
    this.#options = options;
    this.#client = new HeartbeatClient(options.auth, options.now);
    this.table = new PeerTable({ name, org });
    this.#self = { name, weight, seed: hashText(name), load: 0, url: '' };
  }

  /**
   * Starts looking for peers.
   *
   * @param port that this node alone listens on
   * @param shared true where the port that others know is shared with other processes
   */
  async start(port: number, shared = false): Promise<void> {
    this.#port = port;
    this.#isShared = shared;
    await this.#resolve();
    // Without seeds as well: others may ask this node, and are asked from then on.
    this.#timers = [
      setInterval(
        () => void this.#resolve(),
        this.#options.resolveIntervalMs ?? RESOLVE_INTERVAL_MS,
      ),
      this.#beats(),
    ];
    for (const timer of this.#timers) timer.unref();
    // All seeds at once, so that a node that has just started need not work alone for long.
    this.#firstRound = Promise.all(this.#addresses.urls.map((url) => this.#ping(url)));
  }

  /** Resolves once all seeds have been asked after the start, and what they told is known. */
  async met(): Promise<void> {
    await this.#firstRound;
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#client.close();
  }

  /** Adds addresses of nodes, as a supervisor of several processes knows them. */
  addSeeds(urls: readonly string[]): void {
    for (const url of urls) if (this.#addresses.addSeed(url)) void this.#ping(url);
  }

  /** This node, as routing sees it. */
  get self(): ForwardTarget {
    this.#self.load = this.#options.own().load;
    return this.#self;
  }

  /** The nodes that can be used now, this one first. */
  nodes(): ForwardTarget[] {
    const now = this.#options.now();
    return [this.self, ...this.#members.filter((peer) => this.table.isUsable(peer, now))];
  }

  /** Nodes that could be used but are too far to be peers. */
  far(): ForwardTarget[] {
    const now = this.#options.now();
    const members = new Set(this.#members);
    return [...this.table.peers].filter((p) => !members.has(p) && this.table.isUsable(p, now));
  }

  /** Nodes that only others can reach at the moment. */
  hearsay(): readonly Hearsay<Peer>[] {
    if (this.#hearsay === undefined) {
      const now = this.#options.now();
      const usable = this.#members.filter((peer) => this.table.isUsable(peer, now));
      this.#hearsay = this.table.hearsay(usable, now);
    }
    return this.#hearsay;
  }

  /** Answers a heartbeat, and learns of the node that asks. */
  answer(req: IncomingMessage): { body: string; headers: Record<string, string> } {
    const { name, weight, policy, publicUrl, peerUrl, own, auth } = this.#options;
    const asking = askingNode(req);
    if (asking !== undefined) this.#hearOf(asking);
    const nodes = [...this.table.peers].filter((p) => this.table.isAlive(p)).map((p) => p.url);
    const { load, draining } = own();
    const [, ...usable] = this.nodes();
    const answer = {
      name,
      instance: this.#instance,
      load,
      weight,
      policy,
      publicUrl,
      draining,
      sees: usable.map((peer) => [peer.name, peer.weight]),
      peerUrl,
      ...this.#options.shared?.digests,
      ...(this.#isShared ? { insidePort: this.#port } : {}),
      nodes: nodes.slice(0, MAX_TOLD),
    };
    const body = JSON.stringify(answer);
    return { body, headers: auth.signAnswer(req, [textDigest(body)]) };
  }

  /** Answers a node that does not know this one's name yet. Nothing is learnt of who asks. */
  introduce(req: IncomingMessage): { body: string; headers: Record<string, string> } {
    const { name, peerUrl, auth } = this.#options;
    const insidePort = this.#isShared ? this.#port : undefined;
    const body = JSON.stringify({ name, peerUrl, insidePort });
    return { body, headers: auth.signAnswer(req, [textDigest(body)]) };
  }

  /** A forwarded request failed: the node is not asked before its next heartbeat. */
  onForwardFailed(name: string): void {
    this.table.onForwardFailed(name);
    this.#hearsay = undefined;
  }

  /** A node has not said anything for long: as after a failed forward, but it is asked at once. */
  onSilent(name: string): void {
    const peer = this.table.get(name);
    if (peer?.trusted !== true) return;
    this.onForwardFailed(name);
    void this.#ping(peer.url);
  }

  /** A node has sent damaged bytes: it is not asked for a while. */
  isolate(name: string, now: Millis): void {
    this.#options.log.error(
      { peer: name },
      'a peer sent a damaged chunk: it is left alone for a while',
    );
    this.table.onDamaged(name, now);
    this.#hearsay = undefined;
  }

  async #resolve(): Promise<void> {
    const { seeds, log, resolve = resolveSeeds } = this.#options;
    const found = (await resolve(seeds, log)).filter((url) => {
      if (this.#mayAsk(url)) return true;
      log.warn({ url }, 'not asked: without --secret-file peers must be on loopback');
      return false;
    });
    this.#addresses.setSeeds(found);
  }

  /** Takes an address down. @returns false if it is known, or may not be asked */
  #isNew(url: string): boolean {
    return !this.#addresses.has(url) && this.#mayAsk(url) && this.#addresses.hear(url);
  }

  #hearOf(url: string): void {
    if (!this.#isNew(url)) return;
    // At once, so that nodes that have just started find each other soon; but no storm of questions.
    if (this.#asking < MAX_ASKING) void this.#ping(url);
  }

  /** Without a secret, nobody but this machine's own processes is to be believed. */
  #mayAsk(url: string): boolean {
    return (
      this.#options.auth.hasSecret || isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''))
    );
  }

  #beats(): NodeJS.Timeout {
    return setInterval(
      () => this.#beat(),
      this.#options.heartbeatIntervalMs ?? HEARTBEAT_INTERVAL_MS,
    );
  }

  /** The next node in turn. */
  #beat(): void {
    const url = this.#addresses.next();
    if (url !== undefined) void this.#ping(url);
  }

  /** Asks a node how it is. Resolves when that is known, or the answer is late; never rejects. */
  #ping(url: string): Promise<void> {
    const sentAt = this.#options.now();
    this.#asking++;
    return new Promise((resolve) => {
      let open = true;
      const close = (onFirst: () => void) => {
        if (open) {
          open = false;
          timer.stop();
          this.#asking--;
          onFirst();
        }
        this.#select();
        resolve();
      };
      const late = () => close(() => this.#missed(url, sentAt));
      const timer = new SilenceTimer(HEARTBEAT_LATE_MS, late);
      this.#ask(url).then(
        () => close(() => {}),
        (error: unknown) => {
          this.#options.log.debug({ err: error, url }, 'a heartbeat had no good answer');
          close(() => this.#missed(url));
        },
      );
    });
  }

  /** @throws whatever keeps a good answer from coming */
  async #ask(url: string): Promise<void> {
    const { name, peerUrl } = this.#options;
    const found = await this.#client.find(url);
    if (found.elsewhere !== undefined) {
      this.#addresses.onAnswer(url, true);
      if (this.#isNew(found.elsewhere)) await this.#ping(found.elsewhere);
      return;
    }
    const { answer, rtt } = await this.#client.heartbeat(url, found.name, {
      [INSIDE.via]: name,
      ...(peerUrl === undefined
        ? { [INSIDE.nodePort]: String(this.#port) }
        : { [INSIDE.nodeUrl]: peerUrl }),
    });
    await this.#told(url, answer, rtt);
  }

  /** What a node says of itself, and of others. */
  async #told(url: string, answer: HeartbeatAnswer, rtt: Millis): Promise<void> {
    const { name } = this.#options;
    const { nodes, insidePort: _port, peerUrl: _url, instance, purges, pins, ...info } = answer;
    // Before the node can be used: what it does not have to tell is what we know already.
    if (info.name !== name)
      await this.#options.shared?.heard({ name: info.name, url }, { purges, pins });
    if (info.name === name && instance !== this.#instance) this.#warnOfTwin(url);
    const wanted = wantedAddress(url, answer);
    if (wanted === url) {
      const policy = info.policy as PeerPolicy;
      this.#answered(url, { ...info, policy, publicUrl: info.publicUrl }, rtt);
    } else {
      // An address that several processes share, or not the one that it wants to be reached at.
      this.#addresses.onAnswer(url, true);
      this.#hearOf(wanted);
    }
    for (const other of nodes) this.#hearOf(new URL(other).origin);
  }

  /** Neither of them can use the other, which nobody would notice otherwise. */
  #warnOfTwin(url: string): void {
    if (this.#twins.has(url)) return;
    this.#twins.add(url);
    this.#options.log.warn(
      { url },
      'another node has the same name: give each a --name of its own',
    );
  }

  #answered(url: string, info: Parameters<PeerTable['onAnswer']>[1], rtt: Millis): void {
    const before = this.table.get(info.name);
    const outcome = this.table.onAnswer(url, info, rtt);
    this.#addresses.onAnswer(url, outcome === 'self' || outcome === 'other');
    if (outcome !== 'peer') return;
    this.table.onHeard(info.name, this.#options.now());
    if (before === undefined) this.#options.log.info({ peer: info.name, url }, 'a new peer');
  }

  #missed(url: string, sentAt?: Millis): void {
    this.table.onMiss(url, sentAt);
    this.#hearsay = undefined;
    this.#addresses.onMiss(url);
    this.#client.forget(url);
  }

  #select(): void {
    this.#hearsay = undefined;
    const now = this.#options.now();
    const usable = [...this.table.peers].filter(
      (p) => p.rtts.length > 0 && this.table.isUsable(p, now),
    );
    const current = new Set(this.#members.map((p) => p.name));
    this.#members = selectPeers(current, usable, (peer) => this.table.isOpen(peer));
  }

  /** Nodes that clients can reach, this one among them: what /-/edges says. */
  publicEdges() {
    const { publicUrl, own } = this.#options;
    const { name, weight, load } = this.self;
    const self = { name, url: publicUrl, healthy: !own().draining, load, weight };
    return publicEdges(self, this.describe());
  }

  /** What /-/status says of the peers. */
  describe() {
    return describePeers(this.table, this.#members, this.#options.now());
  }
}
