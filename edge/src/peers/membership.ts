/**
 * The shell around peer table and peer set: takes the answers to heartbeats, gives its own, and
 * names the nodes that can be used now.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Millis, Random } from '@millrace/shared/base/clock';
import type { DepotRoom } from '@millrace/shared/cdn/depot/depot-room';
import type { NetworkRtts } from '@millrace/shared/cdn/near/network-rtts';
import { toldNodes } from '@millrace/shared/cdn/routing/heartbeat-turns';
import { hashText } from '@millrace/shared/cdn/routing/hrw';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import type { Peer, PeerPolicy } from '@millrace/shared/cdn/routing/peer';
import { selectPeers } from '@millrace/shared/cdn/routing/peer-set';
import { type Outcome, PeerTable } from '@millrace/shared/cdn/routing/peer-table';
import type { Hearsay, RouteNode, Rumours } from '@millrace/shared/cdn/routing/route';
import { hearMates, type Mate, matesOf } from '@millrace/shared/cdn/routing/site';
import { askingNode, type HeartbeatAnswer, MAX_HEARD_S, wantedAddress } from './heartbeat.ts';
import { type HeartbeatSettings, Heartbeats } from './heartbeats.ts';
import { describePeers, publicEdges } from './peer-view.ts';
import { textDigest } from './text-digest.ts';
import type { Digests } from './version-message.ts';

/** State of a node by which clients are sent to it or elsewhere. */
export interface OwnService {
  /** Part of what it can take that is free, 0 to 1. */
  readonly room: number;
  /** Digest of what its policy serves. */
  readonly serves: string;
  /** Name of its depot, if it has one. */
  readonly depot?: string | undefined;
  /** Room that its depot still has; undefined: it takes nothing. */
  readonly depotRoom?: DepotRoom | undefined;
  /** Names of other depots of whose exNodes it keeps copies. */
  readonly keepsOf?: readonly string[] | undefined;
}

export interface MembershipOptions extends HeartbeatSettings {
  readonly name: string;
  readonly weight: number;
  readonly policy: PeerPolicy;
  readonly org: string | undefined;
  readonly publicUrl: string | undefined;
  /** IP addresses at which clients reach this node; default: those of `publicUrl`. */
  readonly publicAddresses?: readonly string[];
  /** Address for other nodes, if they cannot find it out themselves. */
  readonly peerUrl: string | undefined;
  readonly random: Random;
  /** This node's load and whether it is shutting down. */
  readonly own: () => { readonly load: number; readonly draining: boolean };
  /** This node's room and policy, for the choice of clients' edges. */
  readonly service?: () => OwnService;
  /** Round trips of clients' networks, which nodes tell each other. */
  readonly rtts?: NetworkRtts;
  /** State that all nodes share: this node's digests of it, and a handler for another node's. */
  readonly shared?: {
    readonly digests: Digests;
    readonly heard: (node: { name: string; url: string }, digests: Digests) => Promise<void>;
  };
}

/** A node that requests can be forwarded to. */
export interface ForwardTarget extends RouteNode {
  readonly url: string;
}

/** Time after the first round in which nodes tell of others, and these answer. */
const LEARNING_MS: Millis = 5000;

export class Membership {
  readonly table: PeerTable;
  readonly #options: MembershipOptions;
  readonly #heartbeats: Heartbeats;
  readonly #self: ForwardTarget & { load: number };
  readonly #instance = randomUUID();
  /** Addresses at which another node has this one's name. */
  readonly #twins = new Set<string>();
  #members: Peer[] = [];
  /** Computed again whenever their inputs may have changed. */
  #hearsay: readonly Hearsay<Peer>[] | undefined;
  #rumours: Rumours<Peer> | undefined;
  #port = 0;
  /** When the first round over all seeds had ended. */
  #metAt: Millis | undefined;
  #isShared = false;

  constructor(options: MembershipOptions) {
    const { name, org, weight } = options;
    this.#options = options;
    this.#heartbeats = new Heartbeats({
      ...options,
      introduce: () => this.#introduction(),
      onAnswer: (url, answer, rtt) => this.#told(url, answer, rtt),
      onMiss: (url, sentAt) => this.#missed(url, sentAt),
      onAsked: () => this.#select(),
      peers: () => this.#members.map(({ url }) => url),
    });
    this.table = new PeerTable({ name, org });
    this.#self = { name, weight, seed: hashText(name), load: 0, url: '' };
  }

  /**
   * Starts looking for peers.
   *
   * @param port that this node alone listens on
   * @param shared true if the port that others know is shared with other processes
   */
  async start(port: number, shared = false): Promise<void> {
    this.#port = port;
    this.#isShared = shared;
    await this.#heartbeats.start();
    void this.met().then(() => {
      this.#metAt = this.#options.now();
    });
  }

  /** True while there may be nodes that this one will know in a moment: it has just started. */
  get isLearning(): boolean {
    const sinceMs = this.#options.now() - (this.#metAt ?? Number.POSITIVE_INFINITY);
    return !(sinceMs >= LEARNING_MS) || this.#heartbeats.hasNew;
  }

  /** Resolves once all seeds have been asked after the start, and their answers are known. */
  async met(): Promise<void> {
    await this.#heartbeats.firstRound();
  }

  async stop(): Promise<void> {
    await this.#heartbeats.stop();
  }

  /** Adds addresses of nodes that the supervisor of several processes knows. */
  addSeeds(urls: readonly string[]): void {
    this.#heartbeats.addSeeds(urls);
  }

  /** This node, as routing sees it. */
  get self(): ForwardTarget {
    this.#self.load = this.#options.own().load;
    return this.#self;
  }

  /** Returns the nodes that can be used now, this one first. */
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

  /** Nodes near and far that only others can reach at the moment. */
  rumours(): Rumours<Peer> {
    this.#rumours ??= this.table.rumours(this.#options.now());
    return this.#rumours;
  }

  /** Answers a heartbeat, and learns of the node that asks. */
  answer(req: IncomingMessage): { body: string; headers: Record<string, string> } {
    const { name, weight, policy, publicUrl, peerUrl, own, auth, random } = this.#options;
    const { publicAddresses = [], rtts, service, org, site, now } = this.#options;
    const asking = askingNode(req);
    if (asking !== undefined) this.#heartbeats.hearOf(asking);
    const alive = [...this.table.peers].filter((p) => this.table.isAlive(p)).map((p) => p.url);
    const { load, draining } = own();
    const at = now();
    const usable = this.#members.filter((peer) => this.table.isUsable(peer, at));
    const heard = usable.map((peer) => Math.ceil(this.table.heardAgo(peer, at) / 1000));
    const answer = {
      name,
      instance: this.#instance,
      load,
      weight,
      policy,
      publicUrl,
      ...(publicAddresses.length > 0 ? { publicAddresses } : {}),
      draining,
      ...service?.(),
      org,
      ...(site === undefined ? {} : { site, mates: matesOf(site, this.table.peers) }),
      near: rtts?.toTell(at, random),
      sees: usable.map((peer) => [peer.name, peer.weight]),
      heard: heard.map((seconds) => Math.min(seconds, MAX_HEARD_S)),
      peerUrl,
      ...this.#options.shared?.digests,
      ...(this.#isShared ? { insidePort: this.#port } : {}),
      // A sample: if all told of the nodes that they met first, no node would learn of the others.
      ...toldNodes(
        usable.map(({ url }) => url),
        alive,
        random,
      ),
    };
    const body = JSON.stringify(answer);
    return { body, headers: auth.signAnswer(req, [textDigest(body)]) };
  }

  /** Answers a node that does not know this one's name yet, and learns nothing of it. */
  introduce(req: IncomingMessage): { body: string; headers: Record<string, string> } {
    const { name, peerUrl, auth } = this.#options;
    const insidePort = this.#isShared ? this.#port : undefined;
    const body = JSON.stringify({ name, peerUrl, insidePort });
    return { body, headers: auth.signAnswer(req, [textDigest(body)]) };
  }

  /**
   * Leaves a node alone until its next heartbeat, because a forwarded request has failed or the node
   * is silent. The heartbeat is sent at once: in a large network the node's turn may be far.
   */
  onForwardFailed(name: string): void {
    const peer = this.table.get(name);
    if (peer?.trusted !== true) return;
    this.table.onForwardFailed(name, this.#options.now());
    this.#forgetHearsay();
    this.#heartbeats.ping(peer.url);
  }

  /** Sends no requests to a node for a while, because it has sent damaged bytes. */
  isolate(name: string, now: Millis): void {
    this.#options.log.error(
      { peer: name },
      'a peer sent a damaged chunk: it gets no requests for a while',
    );
    this.table.onDamaged(name, now);
    this.#forgetHearsay();
  }

  #forgetHearsay(): void {
    this.#hearsay = undefined;
    this.#rumours = undefined;
  }

  /** Header fields of heartbeats that name this node. */
  #introduction(): Record<string, string> {
    const { name, peerUrl } = this.#options;
    return {
      [INSIDE.via]: name,
      ...(peerUrl === undefined
        ? { [INSIDE.nodePort]: String(this.#port) }
        : { [INSIDE.nodeUrl]: peerUrl }),
    };
  }

  /** Takes a node's answer. */
  async #told(url: string, answer: HeartbeatAnswer, rtt: Millis): Promise<Outcome> {
    const { name } = this.#options;
    const { nodes: _nodes, nearNodes: _near, insidePort: _port, peerUrl: _url, ...said } = answer;
    const { instance, purges, pins, near, mates, ...info } = said;
    // This comes first, so that the node's purges are known here before the node can be used.
    if (info.name !== name)
      await this.#options.shared?.heard({ name: info.name, url }, { purges, pins });
    if (info.name === name && instance !== this.#instance) this.#warnOfTwin(url);
    // Several processes share the address, or it is not the one that the node wants to be asked at.
    if (wantedAddress(url, answer) !== url) return 'other';
    const policy = info.policy as PeerPolicy;
    this.#options.rtts?.onTold(info.name, near ?? [], this.#options.now());
    const heard = info.heard?.map((seconds) => seconds * 1000);
    const told = { ...info, heard, policy, publicUrl: info.publicUrl };
    const outcome = this.#answered(url, told, rtt);
    if (outcome === 'peer' && mates !== undefined) this.#hearMates(info.name, mates);
    return outcome;
  }

  /** Takes what a node says of the others at its site; this node asks those at its own itself. */
  #hearMates(speaker: string, mates: readonly Mate[]): void {
    const peer = this.table.get(speaker);
    if (peer === undefined || peer.site === this.#options.site) return;
    for (const { url } of hearMates(peer, mates, this.table.peers)) this.#heartbeats.doubt(url);
  }

  /** Warns of a node with this one's name: neither can use the other, which is hard to notice. */
  #warnOfTwin(url: string): void {
    if (this.#twins.has(url)) return;
    this.#twins.add(url);
    this.#options.log.warn(
      { url },
      'another node has the same name: give each a --name of its own',
    );
  }

  #answered(url: string, info: Parameters<PeerTable['onAnswer']>[1], rtt: Millis): Outcome {
    const before = this.table.get(info.name);
    const now = this.#options.now();
    const outcome = this.table.onAnswer(url, info, rtt, now);
    if (outcome !== 'peer') return outcome;
    this.table.onHeard(info.name, now);
    if (before === undefined) this.#options.log.info({ peer: info.name, url }, 'a new peer');
    return outcome;
  }

  #missed(url: string, sentAt: Millis | undefined): void {
    this.table.onMiss(url, this.#options.now(), sentAt);
    this.#forgetHearsay();
  }

  #select(): void {
    this.#forgetHearsay();
    const now = this.#options.now();
    const usable = [...this.table.peers].filter(
      (p) => p.rtts.length > 0 && this.table.isUsable(p, now),
    );
    const current = new Set(this.#members.map((p) => p.name));
    this.#members = selectPeers(current, usable, (peer) => this.table.isOpen(peer));
  }

  /** Part of what this node can take that is free, 0 to 1; undefined: not known. */
  get room(): number | undefined {
    return this.#options.service?.().room;
  }

  /** Digest of what this node's policy serves; undefined: it takes no clients. */
  get serves(): string | undefined {
    return this.#options.service?.().serves;
  }

  /** Nodes that clients can reach, this one among them, for /-/edges. */
  publicEdges() {
    const { publicUrl, own, org, service } = this.#options;
    const { name, weight, load } = this.self;
    const healthy = !own().draining;
    const { room, depotRoom: depot } = service?.() ?? {};
    const self = { name, url: publicUrl, healthy, load, weight, room, depot, org };
    return publicEdges(self, this.describe());
  }

  /** All nodes known, and whether each can be used now. */
  reachable(): { peer: Peer; usable: boolean }[] {
    const now = this.#options.now();
    return [...this.table.peers].map((peer) => ({ peer, usable: this.table.isUsable(peer, now) }));
  }

  /** Nodes that clients can be sent to: usable ones whose policy serves what this one's does. */
  alike(): Peer[] {
    const { serves } = this;
    const now = this.#options.now();
    return [...this.table.peers].filter(
      (peer) =>
        peer.publicUrl !== undefined && peer.serves === serves && this.table.isUsable(peer, now),
    );
  }

  /** Describes the peers for /-/status. */
  describe() {
    return describePeers(this.table, this.#members, this.#options.now());
  }
}
