/**
 * Sends heartbeats to all known addresses in turn, and learns of new ones from seeds and from the
 * nodes themselves. The membership decides what follows from the answers.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import {
  HEARTBEAT_INTERVAL_MS,
  HeartbeatTurns,
} from '@millrace/shared/cdn/routing/heartbeat-turns';
import type { Outcome } from '@millrace/shared/cdn/routing/peer-table';
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
  /** This node's site, if it has one. */
  readonly site?: string | undefined;
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
   * @returns what became of the node; `other` if it is not to be asked at this address
   */
  readonly onAnswer: (url: string, answer: HeartbeatAnswer, rtt: Millis) => Promise<Outcome>;
  /** @param sentAt time when the heartbeat was sent; undefined: its answer was not a good one */
  readonly onMiss: (url: string, sentAt: Millis | undefined) => void;
  /** Addresses of the present peers. */
  readonly peers: () => readonly string[];
  /** Called after each answer and each miss. */
  readonly onAsked: () => void;
}

const RESOLVE_INTERVAL_MS = 30_000;

export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  readonly #client: HeartbeatClient;
  readonly #turns: HeartbeatTurns;
  #timers: NodeJS.Timeout[] = [];
  #firstRound: Promise<unknown> = Promise.resolve();

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
    this.#client = new HeartbeatClient(options.auth, options.now);
    this.#turns = new HeartbeatTurns({
      now: options.now,
      site: options.site,
      peers: options.peers,
      ask: (url) => void this.ask(url),
      mayAsk: (url) => this.#mayAsk(url),
    });
  }

  /** Resolves once the seeds are looked up; asking them continues. */
  async start(): Promise<void> {
    const { heartbeatIntervalMs = HEARTBEAT_INTERVAL_MS, resolveIntervalMs = RESOLVE_INTERVAL_MS } =
      this.#options;
    await this.#resolve();
    // Without seeds as well: other nodes may ask this one, and are asked from then on.
    this.#timers = [
      setInterval(() => void this.#resolve(), resolveIntervalMs),
      setInterval(() => this.#turns.beat(), heartbeatIntervalMs),
    ];
    for (const timer of this.#timers) timer.unref();
    // All seeds at once, so that a node that has just started need not work alone for long.
    this.#firstRound = Promise.all(this.#turns.addresses.urls.map((url) => this.ask(url)));
  }

  /** True while addresses are known that have never been asked. */
  get hasNew(): boolean {
    return this.#turns.addresses.nextNew() !== undefined;
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
    for (const url of urls) if (this.#turns.addresses.addSeed(url)) void this.ask(url);
  }

  /** Takes an address that another node has named, or has asked from. */
  hearOf(url: string): void {
    this.#turns.hearOf(url);
  }

  /** Asks a node after a failure: at once, or soon if that has just been done. */
  ping(url: string): void {
    this.#turns.ping(url);
  }

  /** Asks a node soon that another one of its site does not speak for. */
  doubt(url: string): void {
    this.#turns.addresses.doubt(url);
  }

  /** Sends a heartbeat to a node. Resolves when it is answered, or is late; never rejects. */
  ask(url: string): Promise<void> {
    const { now, log, onAsked } = this.#options;
    const sentAt = now();
    this.#turns.onSent(url);
    return new Promise((resolve) => {
      let open = true;
      const close = (onFirst: () => void) => {
        if (open) {
          open = false;
          timer.stop();
          this.#turns.onClosed();
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
    this.#turns.addresses.setSeeds(found);
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

  /** @throws any error that prevents a good answer */
  async #heartbeat(url: string): Promise<void> {
    const { introduce, onAnswer } = this.#options;
    const found = await this.#client.find(url);
    if (found.elsewhere !== undefined) {
      this.#turns.onAnswer(url, true);
      if (this.#turns.isNew(found.elsewhere)) await this.ask(found.elsewhere);
      return;
    }
    const { answer, rtt } = await this.#client.heartbeat(url, found.name, introduce());
    const outcome = await onAnswer(url, answer, rtt);
    const isOther = outcome === 'self' || outcome === 'other';
    this.#turns.onAnswer(url, isOther, answer.site, outcome !== 'full');
    const wanted = wantedAddress(url, answer);
    if (wanted !== url) this.hearOf(wanted);
    const nodes = answer.nodes.map((other) => new URL(other).origin);
    this.#turns.hearTold(url, { nodes, nearNodes: answer.nearNodes ?? 0 });
  }

  #missed(url: string, sentAt: Millis | undefined): void {
    this.#turns.onMiss(url);
    this.#options.onMiss(url, sentAt);
    this.#client.forget(url);
  }
}
