/** A worker's side of the channel to its supervisor. */

import { join } from 'node:path';
import type { AnycastState } from '../anycast/announcer.ts';
import type { Command, Outcome } from '../cache/commands.ts';
import type { Config } from '../config/config.ts';
import type { TakenBytes } from '../figures/download-counter.ts';
import type { Addresses, FromSupervisor, FromWorker, What } from './messages.ts';

/** Duties that a worker carries out for its supervisor. */
export interface WorkerDuties {
  /** Its own status. */
  readonly status: () => Promise<unknown>;
  /** Collects the dashboard's figures. */
  readonly dashboard: () => Promise<unknown>;
  /** Collects the refusals. */
  readonly refusals: () => Promise<unknown>;
  /** Collects the figures for Prometheus. */
  readonly figures: () => Promise<unknown>;
  /** Called with each kind of question that the supervisor asks. */
  readonly onAsked: (what: What) => void;
  readonly setDraining: (draining: boolean) => void;
  readonly setAnycast: (state: AnycastState) => void;
  readonly carryOut: (command: Command) => Promise<Outcome>;
  readonly meet: (urls: readonly string[]) => void;
}

export class WorkerLink {
  /** Number of this worker, from 0. */
  readonly index: number;
  /** Key of all processes of this edge, which nobody else knows. */
  readonly key: string;
  readonly #waiting = new Map<number, (text: string) => void>();
  #questions = 0;

  constructor(index: number, key: string) {
    this.index = index;
    this.key = key;
  }

  /** Begins to answer the supervisor. */
  serve(duties: WorkerDuties): void {
    process.on('message', (message: FromSupervisor) => {
      switch (message.type) {
        case 'nodes':
          return duties.meet(message.urls);
        case 'drain':
          return duties.setDraining(message.draining);
        case 'anycast':
          return duties.setAnycast(message.state);
        case 'collected':
          this.#waiting.get(message.id)?.(message.text);
          this.#waiting.delete(message.id);
          return;
        case 'report': {
          const { id, what, command } = message;
          duties.onAsked(what);
          const part: Promise<unknown> =
            what === 'command'
              ? duties.carryOut(command as Command)
              : what === 'metrics' || what === 'openMetrics'
                ? duties.figures()
                : duties[what]();
          void part.then((answer) => this.#send({ type: 'report', id, part: answer }));
        }
      }
    });
  }

  /** Tells the supervisor where this worker listens. */
  listening(addresses: Addresses, inside: string): void {
    this.#send({ type: 'listening', addresses, inside });
  }

  /** Makes all workers start or stop draining, this one included. */
  drain(draining: boolean): void {
    this.#send({ type: 'drain', draining });
  }

  /** Makes all workers carry out a command, this one included. @returns the outcome in each */
  async command(command: Command): Promise<Outcome[]> {
    return JSON.parse(await this.collect('command', command)) as Outcome[];
  }

  /** Status or figures of the whole edge, as text. */
  collect(what: What, command?: Command): Promise<string> {
    const id = this.#questions++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ type: 'collect', what, id, ...(command === undefined ? {} : { command }) });
    });
  }

  /** Tells the supervisor what clients have taken of files. */
  taken(taken: readonly TakenBytes[]): void {
    this.#send({ type: 'taken', taken });
  }

  /** Asks for the counts of downloads of the latest days, as JSON. */
  downloads(days: number): Promise<string> {
    const id = this.#questions++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ type: 'downloads', id, days });
    });
  }

  #send(message: FromWorker): void {
    if (process.connected) process.send?.(message);
  }
}

/** Returns the name of the edge as a whole, of which this process may be one of several. */
export function edgeName({ name, workers }: Config): string {
  return workers > 1 ? name.replace(/-\d+$/, '') : name;
}

/** Makes a worker's settings, with its share of the resources of the edge as a whole. */
export function workerConfig(config: Config, index: number): Config {
  const share = (whole: number) =>
    whole === 0 ? 0 : Math.max(1, Math.ceil(whole / config.workers));
  return {
    ...config,
    name: `${config.name}-${index}`,
    cacheMemory: Math.floor(config.cacheMemory / config.workers),
    maxMemory: config.maxMemory && Math.floor(config.maxMemory / config.workers),
    cacheDir: config.cacheDir === undefined ? undefined : join(config.cacheDir, `worker-${index}`),
    cacheDisk: Math.floor(config.cacheDisk / config.workers),
    pinQuota: config.pinQuota && Math.floor(config.pinQuota / config.workers),
    clientTransfers: share(config.clientTransfers),
    clientRequests: share(config.clientRequests),
    clientOrigins: share(config.clientOrigins),
    maxConnections: share(config.maxConnections),
    clientConnections: share(config.clientConnections),
    maxOrigins: Math.max(4, share(config.maxOrigins)),
    // A page comes with several files over one connection, to one worker.
    ownRequests: config.ownRequests && Math.max(4, share(config.ownRequests)),
    offloadAbove: share(config.offloadAbove),
    // A client's connections come to all workers: each keeps to its part of the rate.
    clientRate: share(config.clientRate),
  };
}
