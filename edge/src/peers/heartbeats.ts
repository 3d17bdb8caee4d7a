/**
 * Sends heartbeats to all known addresses in turn, and learns of new ones from seeds and from the
 * nodes themselves. The membership decides what follows from the answers.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { AddressBook } from '@millrace/shared/cdn/routing/address-book';
import { SilenceTimer } from '@millrace/shared/node/silence-timer';
import { resolveSeeds, type Seed } from '../config/seeds.ts';
import { type ClusterAuth, isLoopback } from './cluster-auth.ts';
import { type HeartbeatAnswer, wantedAddress } from './heartbeat.ts';
import { HEARTBEAT_LATE_MS, HeartbeatClient } from './heartbeat-client.ts';

/** Sources of addresses, and intervals. */
export interface HeartbeatSettings {
  readonly seeds: readonly Seed[];
  readonly auth: ClusterAuth;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** For tests: the lookup of names, and intervals. */
  readonly resolve?: typeof resolveSeeds;
  readonly heartbeatIntervalMs?: Millis;
  readonly resolveIntervalMs?: Millis;
}

export interface HeartbeatsOptions extends HeartbeatSettings {
  /** Header fields that name this node to the asked one. */
  readonly introduce: () => Readonly<Record<string, string>>;
  /**
   * Called with a good answer.
   *
   * @returns true if no peer is to be asked at the address
   */
  readonly onAnswer: (url: string, answer: HeartbeatAnswer, rtt: Millis) => Promise<boolean>;
  /** @param sentAt time when the heartbeat was sent; undefined: its answer was not a good one */
  readonly onMiss: (url: string, sentAt: Millis | undefined) => void;
  /** Addresses of the present peers. */
  readonly peers: () => readonly string[];
  /** Called after each answer and each miss. */
  readonly onAsked: () => void;
}

/** Interval between heartbeats (NSDI 4.2); `AddressBook.next` says to which node. */
const HEARTBEAT_INTERVAL_MS = 500;
/** Most heartbeats under way at a time, when many nodes are heard of at once. */
const MAX_ASKING = 16;
const RESOLVE_INTERVAL_MS = 30_000;
/** Shortest time between two heartbeats to a node that fails again and again. */
const MIN_PING_PAUSE_MS = 1000;

export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  readonly #client: HeartbeatClient;
  readonly #addresses = new AddressBook();
  #timers: NodeJS.Timeout[] = [];
  #firstRound: Promise<unknown> = Promise.resolve();
  /** Times of the last pings of nodes after failures. */
  readonly #pinged = new Map<string, Millis>();
  /** Heartbeats under way. */
  #asking = 0;

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
    this.#client = new HeartbeatClient(options.auth, options.now);
  }

  /** Resolves once the seeds are looked up; asking them continues. */
  async start(): Promise<void> {
    const { heartbeatIntervalMs = HEARTBEAT_INTERVAL_MS, resolveIntervalMs = RESOLVE_INTERVAL_MS } =
      this.#options;
    await this.#resolve();
    // Without seeds as well: other nodes may ask this one, and are asked from then on.
    this.#timers = [
      setInterval(() => void this.#resolve(), resolveIntervalMs),
      setInterval(() => this.#beat(), heartbeatIntervalMs),
    ];
    for (const timer of this.#timers) timer.unref();
    // All seeds at once, so that a node that has just started need not work alone for long.
    this.#firstRound = Promise.all(this.#addresses.urls.map((url) => this.ask(url)));
  }

  /** Resolves once all seeds have been asked after the start. */
  async firstRound(): Promise<void> {
    await this.#firstRound;
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#client.close();
  }

  /** Adds addresses of nodes, and asks those that are new at once. */
  addSeeds(urls: readonly string[]): void {
    for (const url of urls) if (this.#addresses.addSeed(url)) void this.ask(url);
  }

  /** Takes an address that another node has named, or has asked from. */
  hearOf(url: string): void {
    if (!this.#isNew(url)) return;
    // At once, so that nodes that have just started find each other soon, but without a storm.
    if (this.#asking < MAX_ASKING) void this.ask(url);
  }

  /** Asks a node after a failure: at once, or soon if that has just been done. */
  ping(url: string): void {
    const now = this.#options.now();
    for (const [other, at] of this.#pinged) {
      if (now - at >= MIN_PING_PAUSE_MS) this.#pinged.delete(other);
    }
    if (this.#pinged.has(url)) return this.#addresses.suspect(url, now);
    this.#pinged.set(url, now);
    void this.ask(url);
  }

  /** Sends a heartbeat to a node. Resolves when it is answered, or is late; never rejects. */
  ask(url: string): Promise<void> {
    const { now, log, onAsked } = this.#options;
    const sentAt = now();
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
        onAsked();
        resolve();
      };
      const late = () => close(() => this.#missed(url, sentAt));
      const timer = new SilenceTimer(HEARTBEAT_LATE_MS, late);
      this.#heartbeat(url).then(
        () => close(() => {}),
        (error: unknown) => {
          log.debug({ err: error, url }, 'a heartbeat had no good answer');
          close(() => this.#missed(url, undefined));
        },
      );
    });
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

  /** Records a new address. @returns false if it is known, or may not be asked */
  #isNew(url: string): boolean {
    return !this.#addresses.has(url) && this.#mayAsk(url) && this.#addresses.hear(url);
  }

  /**
   * Returns true if an address may be asked: without a secret, nodes on this machine alone are
   * trusted.
   */
  #mayAsk(url: string): boolean {
    return (
      this.#options.auth.hasSecret || isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''))
    );
  }

  /** Asks the next node in turn. */
  #beat(): void {
    const { now, peers } = this.#options;
    const url = this.#addresses.next(now(), peers);
    if (url !== undefined) void this.ask(url);
  }

  /** @throws any error that prevents a good answer */
  async #heartbeat(url: string): Promise<void> {
    const { introduce, onAnswer } = this.#options;
    const found = await this.#client.find(url);
    if (found.elsewhere !== undefined) {
      this.#addresses.onAnswer(url, true);
      if (this.#isNew(found.elsewhere)) await this.ask(found.elsewhere);
      return;
    }
    const { answer, rtt } = await this.#client.heartbeat(url, found.name, introduce());
    this.#addresses.onAnswer(url, await onAnswer(url, answer, rtt));
    const wanted = wantedAddress(url, answer);
    if (wanted !== url) this.hearOf(wanted);
    for (const other of answer.nodes) this.hearOf(new URL(other).origin);
  }

  #missed(url: string, sentAt: Millis | undefined): void {
    const { now, peers, onMiss } = this.#options;
    // Asked before the miss is counted: after it the node may not be a peer any more.
    if (peers().includes(url)) this.#addresses.suspect(url, now());
    onMiss(url, sentAt);
    this.#addresses.onMiss(url);
    this.#client.forget(url);
  }
}
