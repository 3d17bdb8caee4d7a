/**
 * Carries out administrators' commands in this process, in all processes of the edge and, if asked
 * to, at all nodes of the network.
 */

import { randomBytes } from 'node:crypto';
import { asMillraceError, isErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { RevocationsSnapshot } from '@millrace/shared/cdn/admission/revocations';
import type { PurgeTarget } from '@millrace/shared/cdn/upkeep/purge-target';
import type { FileResolver } from '../agent/file-resolver.ts';
import type { Command, Outcome } from '../cache/commands.ts';
import type { Pins } from '../cache/pins.ts';
import { newPurge, type Purges } from '../cache/purges.ts';
import { proofOf } from '../policy/proofs.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import type { EndedSessions } from './ended-sessions.ts';
import type { NodeResult, PeerCommands } from './peer-commands.ts';
import type { PrefetchOrder } from './prefetch-run.ts';
import type { Prefetcher, PrefetchView } from './prefetcher.ts';

export interface AdministrationOptions {
  readonly purges: Purges;
  readonly pins: Pins;
  readonly prefetcher: Prefetcher;
  readonly resolver: FileResolver;
  readonly endedSessions: EndedSessions;
  /** Set if this is one of several processes. */
  readonly link: WorkerLink | undefined;
  /** Other nodes, if there are any. */
  readonly peers: PeerCommands | undefined;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => number;
}

/** Results of other nodes, where they were asked. */
export interface Passed {
  readonly nodes?: readonly NodeResult[];
}

/** A pin as administrators see it. */
export interface PinView {
  readonly id: string;
  readonly url: string;
  readonly bytes: number;
  readonly length: number;
  readonly version: string;
  readonly expiresAt: number;
  /** True for a pin of the network: all nodes extend and release it together. */
  readonly network: boolean;
  /** False if this node has no room for it. */
  readonly held: boolean;
}

export class Administration {
  readonly #options: AdministrationOptions;

  constructor(options: AdministrationOptions) {
    this.#options = options;
  }

  async purge(
    target: PurgeTarget,
    network: boolean,
  ): Promise<{ readonly id: string; readonly purged: PurgeTarget } & Passed> {
    const purge = newPurge(target, this.#options.wallClock());
    const nodes = await this.#do({ do: 'purge', purge, network }, network);
    return { id: purge.id, purged: target, ...nodes };
  }

  prefetch(order: PrefetchOrder): Promise<PrefetchView> {
    return this.#options.prefetcher.start(order);
  }

  /** Prefetches of all processes. */
  async prefetches(): Promise<PrefetchView[]> {
    const outcomes = await this.#everyProcess({ do: 'prefetches' });
    return outcomes.flatMap((outcome) => (outcome.ok ? (outcome.value as PrefetchView[]) : []));
  }

  /** @throws MillraceError `no-such-entry` */
  async stopPrefetch(id: string): Promise<PrefetchView> {
    const outcomes = await this.#everyProcess({ do: 'stop', id });
    const stopped = outcomes.find((outcome) => outcome.ok && outcome.value !== null);
    if (stopped?.ok) return stopped.value as PrefetchView;
    throw new MillraceError('no-such-entry', `no prefetch ${id}`);
  }

  /**
   * Pins the current version of a file.
   *
   * @param bytes most that the file may have, now and after changes; by default its length
   * @returns the pin and its capability, which is told only here
   * @throws MillraceError `pin-refused`, `not-cacheable`, and the origin's errors
   */
  async pin(
    url: URL,
    forMs: number,
    bytes: number | undefined,
    network: boolean,
  ): Promise<{ readonly pin: PinView; readonly capability: string } & Passed> {
    const demands = { revalidate: false, maxAgeMs: undefined, onlyIfCached: false };
    const { signal } = new AbortController();
    const resolution = await this.#options.resolver.resolve(url, 'public', demands, signal);
    if (resolution.kind === 'tunnel') throw new MillraceError('not-cacheable', resolution.reason);
    const { tag, length } = resolution.pointer.version;
    const capability = randomBytes(24).toString('base64url');
    const pin = {
      id: randomBytes(8).toString('hex'),
      url: url.href,
      bytes: bytes ?? length,
      tag,
      length,
      proof: proofOf(capability),
    };
    try {
      const at = this.#stamp(pin.id, network);
      const nodes = await this.#do({ do: 'pin', pin, forMs, ...at }, network);
      return { pin: this.#pinOf(pin.id), capability, ...nodes };
    } catch (error) {
      // Some processes may have taken the pin already, and told other nodes.
      await this.#everyProcess({ do: 'release', id: pin.id, ...this.#stamp(pin.id, network) });
      throw error;
    }
  }

  /**
   * Changes the end of a pin.
   *
   * @param network whether at all nodes; a pin of the network is always extended at all of them
   * @throws MillraceError `no-such-entry`, `pin-refused`
   */
  async extend(id: string, forMs: number, network: boolean): Promise<{ pin: PinView } & Passed> {
    const everywhere = network || this.#options.pins.isOfNetwork(id);
    const at = this.#stamp(id, everywhere);
    const nodes = await this.#do({ do: 'extend', id, forMs, ...at }, everywhere);
    return { pin: this.#pinOf(id), ...nodes };
  }

  /**
   * Ends a pin.
   *
   * @param network as in `extend`
   * @throws MillraceError `no-such-entry`
   */
  async release(id: string, network: boolean): Promise<{ pin: PinView } & Passed> {
    const pin = this.#pinOf(id);
    const everywhere = network || pin.network;
    const at = this.#stamp(id, everywhere);
    return { pin, ...(await this.#do({ do: 'release', id, ...at }, everywhere)) };
  }

  /** @returns all pins, and the quota in bytes */
  pins(): { quotaBytes: number; usedBytes: number; pins: PinView[] } {
    const { ledger } = this.#options.pins;
    const { quotaBytes, usedBytes } = ledger;
    return { quotaBytes, usedBytes, pins: this.#options.pins.all.map(({ id }) => this.#pinOf(id)) };
  }

  /** Figures of this process. */
  counts() {
    const { purges, prefetcher, pins } = this.#options;
    const { count, usedBytes, quotaBytes } = pins.ledger;
    return {
      purges: purges.count,
      prefetches: prefetcher.active,
      pins: count,
      pinnedBytes: usedBytes,
      pinQuotaBytes: quotaBytes,
    };
  }

  /** Ends sessions of the dashboard in all processes. @throws MillraceError if one has failed */
  async logOut(ending: RevocationsSnapshot): Promise<void> {
    const { until, sessions } = ending;
    const copy = { until, sessions: sessions.map(([id, ends]): [string, number] => [id, ends]) };
    await this.#do({ do: 'log-out', ending: copy }, false);
  }

  /** Returns true if a capability is that of the pin. */
  holds(id: string, capability: string): boolean {
    return this.#options.pins.holds(id, capability);
  }

  /** Carries out a command in this process; never rejects. */
  readonly carryOut = async (command: Command): Promise<Outcome> => {
    try {
      return { ok: true, value: (await this.#carryOut(command)) ?? null };
    } catch (thrown) {
      const { code, detail, cause } = asMillraceError(thrown);
      if (code === 'internal') this.#options.log.error({ err: cause ?? thrown }, 'internal error');
      return { ok: false, code, detail };
    }
  };

  async #carryOut(command: Command): Promise<unknown> {
    const { purges, pins, prefetcher, endedSessions, log } = this.#options;
    switch (command.do) {
      case 'purge': {
        const { purge, network } = command;
        await purges.purge(purge, network);
        log.info({ ...purge.target, id: purge.id }, 'purged');
        return undefined;
      }
      case 'pin':
        await pins.allocate(command.pin, command.forMs, command.at);
        return undefined;
      case 'extend':
        await pins.extend(command.id, command.forMs, command.at);
        return undefined;
      case 'release':
        await pins.release(command.id, command.at);
        return undefined;
      case 'prefetches':
        return prefetcher.views();
      case 'stop':
        return prefetcher.stop(command.id);
      case 'log-out':
        await endedSessions.revoke(command.ending);
        return undefined;
    }
  }

  /**
   * Carries out a command here and then, if asked to, at the other nodes.
   *
   * @throws MillraceError if a process of this edge has failed
   */
  async #do(command: Command, network: boolean): Promise<Passed> {
    const outcomes = await this.#everyProcess(command);
    const failed = outcomes.find((outcome) => !outcome.ok);
    // A purge is passed to other nodes even if a process here has failed.
    const isPassed = network && (failed === undefined || command.do === 'purge');
    const nodes = isPassed ? ((await this.#options.peers?.pass(command)) ?? []) : [];
    if (failed !== undefined) {
      const { code, detail } = failed;
      throw new MillraceError(isErrorCode(code) ? code : 'internal', detail);
    }
    return network ? { nodes } : {};
  }

  #everyProcess(command: Command): Promise<Outcome[]> {
    const { link } = this.#options;
    return link === undefined
      ? this.carryOut(command).then((outcome) => [outcome])
      : link.command(command);
  }

  #pinOf(id: string): PinView {
    const { pins } = this.#options;
    const { url, bytes, length, tag, expiresAt } = pins.find(id);
    const network = pins.isOfNetwork(id);
    const held = pins.ledger.get(id) !== undefined;
    return { id, url, bytes, length, version: tag, expiresAt, network, held };
  }

  /** Stamps a change that all nodes are to carry out. */
  #stamp(id: string, network: boolean): { readonly at?: number } {
    return network ? { at: this.#options.pins.stamp(id) } : {};
  }
}
