/**
 * Several processes behind one port (`--workers`): the supervisor starts them, hands them the
 * clients' connections in turn, tells them of each other, and restarts those that have died. To
 * each other they are ordinary nodes: a chunk is kept by one of them.
 */

import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import type { Log } from '@millrace/shared/base/log';
import { mergeRefusals, type RefusalReport } from '@millrace/shared/cdn/admission/refusal-log';
import { SharedAnswer } from '@millrace/shared/cdn/figures/shared-answer';
import { Registry } from 'prom-client';
import type { AnycastState } from '../anycast/announcer.ts';
import type { Command, Outcome } from '../cache/commands.ts';
import type { Config } from '../config/config.ts';
import type { DashboardPart } from '../figures/dashboard-figures.ts';
import { DownloadCounter, WRITE_INTERVAL_MS } from '../figures/download-counter.ts';
import { downloadsMetric } from '../figures/metrics.ts';
import { metricsText } from '../figures/metrics-text.ts';
import { Collection } from './collection.ts';
import { mergeDashboard } from './merge-dashboard.ts';
import { mergeStatus } from './merge-status.ts';
import {
  type Addresses,
  type FromSupervisor,
  type FromWorker,
  type What,
  WORKER_PART_OF_AGE,
} from './messages.ts';
import { StandingCommands } from './standing-commands.ts';

/** Environment variable by which a process knows which worker it is. */
export const WORKER_INDEX = 'MILLRACE_WORKER_INDEX';
/** Environment variable with the key by which the processes of one edge know each other. */
export const WORKER_KEY = 'MILLRACE_WORKER_KEY';
const KEY_BYTES = 32;
/** Pause before a dead worker is started again: it might die at once, without end. */
const RESTART_PAUSE_MS = 1000;
/** Longest wait for figures: those of busy processes are left out. */
const FIGURES_TIMEOUT_MS = 2000;
/** Longest wait for a command: it is written to the disk first, which can be busy for seconds. */
const COMMAND_TIMEOUT_MS = 15_000;

type Question = Extract<FromWorker, { type: 'collect' }>;

export class Supervisor {
  readonly #config: Config;
  readonly #log: Log;
  readonly #inside = new Map<Worker, string>();
  readonly #collections = new Map<number, Collection<Worker>>();
  /** Commands that a worker must be told when it is started again. */
  readonly #standing = new StandingCommands();
  readonly #shared = new Map<What, SharedAnswer<string>>();
  readonly #key = randomBytes(KEY_BYTES).toString('base64url');
  #questions = 0;
  #stopping = false;
  #draining = false;
  #anycast: AnycastState | undefined;
  readonly #onDrain: (draining: boolean) => void;
  /** Figures that only this process has. */
  readonly #registry = new Registry();
  /** Undefined without a token: nobody could read the counts. */
  readonly #downloads: DownloadCounter | undefined;
  readonly #writing: NodeJS.Timeout;

  /** @param onDrain called when the edge begins to drain, or takes clients again */
  constructor(config: Config, log: Log, onDrain: (draining: boolean) => void) {
    this.#config = config;
    this.#log = log;
    this.#onDrain = onDrain;
    const metric = downloadsMetric(this.#registry);
    this.#downloads =
      config.adminTokenFile === undefined
        ? undefined
        : new DownloadCounter({
            dir: config.cacheDir,
            log,
            wallClock: () => Date.now(),
            onEvent: (state, country) => metric.inc({ state, country }),
          });
    const write = () => void this.#downloads?.write();
    this.#writing = setInterval(write, WRITE_INTERVAL_MS).unref();
  }

  /** Tells the workers the state of the anycast routes, which they show. */
  setAnycast(state: AnycastState): void {
    this.#anycast = state;
    this.#broadcast({ type: 'anycast', state });
  }

  /** Starts the workers. @returns the edge's addresses, once all workers listen */
  async start(): Promise<Addresses> {
    cluster.schedulingPolicy = cluster.SCHED_RR;
    const addresses = await Promise.all(
      Array.from({ length: this.#config.workers }, (_, index) => this.#fork(index)),
    );
    return addresses[0] as Addresses;
  }

  /** Stops the workers, each of which lets its transfers finish. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const workers = this.#workers();
    await Promise.all(
      workers.map(
        (worker) =>
          new Promise((resolve) => {
            worker.once('exit', resolve);
            worker.process.kill('SIGTERM');
          }),
      ),
    );
    clearInterval(this.#writing);
    await this.#downloads?.write();
  }

  /** Makes all workers read their files again. */
  reload(): void {
    for (const worker of this.#workers()) worker.process.kill('SIGHUP');
  }

  /** @throws Error if the first start of a worker fails */
  #fork(index: number): Promise<Addresses> {
    const worker = cluster.fork({ [WORKER_INDEX]: String(index), [WORKER_KEY]: this.#key });
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.type === 'listening') resolve(message.addresses);
        this.#onMessage(worker, message);
      });
      worker.once('exit', (code, signal) => {
        reject(new Error(`worker ${index} ended with ${signal ?? code}`));
        this.#inside.delete(worker);
        for (const collection of this.#collections.values()) collection.onEnded(worker);
        if (this.#stopping) return;
        this.#log.error({ worker: index, code, signal }, 'a worker has died: starting it again');
        setTimeout(() => {
          if (!this.#stopping) this.#fork(index).catch(() => {});
        }, RESTART_PAUSE_MS);
      });
    });
  }

  #onMessage(worker: Worker, message: FromWorker): void {
    switch (message.type) {
      case 'listening':
        this.#inside.set(worker, message.inside);
        // A worker that has been started again must not take clients that the others send away.
        if (this.#draining) this.#send(worker, { type: 'drain', draining: true });
        if (this.#anycast !== undefined) {
          this.#send(worker, { type: 'anycast', state: this.#anycast });
        }
        for (const command of this.#standing.at(Date.now())) {
          this.#send(worker, { type: 'report', what: 'command', id: this.#questions++, command });
        }
        return this.#broadcast({ type: 'nodes', urls: [...this.#inside.values()] });
      case 'collect':
        void this.#collect(worker, message);
        return;
      case 'report': {
        this.#collections.get(message.id)?.onPart(worker, message.part);
        return;
      }
      case 'taken':
        for (const taken of message.taken) this.#downloads?.record(taken);
        return;
      case 'downloads': {
        const text = JSON.stringify(this.#downloads?.read(message.days) ?? []);
        return this.#send(worker, { type: 'collected', id: message.id, text });
      }
      case 'drain':
        this.#draining = message.draining;
        this.#onDrain(message.draining);
        return this.#broadcast(message);
    }
  }

  async #collect(worker: Worker, { what, id, command }: Question): Promise<void> {
    const text =
      what === 'command'
        ? await this.#command(command as Command)
        : await this.#figures(what).get();
    this.#send(worker, { type: 'collected', id, text });
  }

  async #command(command: Command): Promise<string> {
    this.#standing.add(command, Date.now());
    return this.#together('command', await this.#ask('command', command));
  }

  /** Figures of all workers, collected once for all callers within some time. */
  #figures(what: What): SharedAnswer<string> {
    let figures = this.#shared.get(what);
    if (figures === undefined) {
      const age = this.#config.statusAge * (1 - WORKER_PART_OF_AGE);
      const make = async () => this.#together(what, await this.#ask(what, undefined));
      figures = new SharedAnswer(make, age, () => performance.now());
      this.#shared.set(what, figures);
    }
    return figures;
  }

  async #together(what: What, parts: unknown[]): Promise<string> {
    const { name } = this.#config;
    switch (what) {
      case 'metrics':
      case 'openMetrics':
        return metricsText([...parts, await this.#registry.getMetricsAsJSON()], what);
      case 'status':
        return JSON.stringify(mergeStatus(name, parts as Record<string, unknown>[]));
      case 'dashboard':
        return JSON.stringify(mergeDashboard(name, parts as DashboardPart[]));
      case 'refusals':
        return JSON.stringify(mergeRefusals(parts as RefusalReport[]));
      case 'command': {
        const silent = Math.max(0, this.#workers().length - parts.length);
        const detail = 'a process of the edge does not answer';
        const failed: Outcome = { ok: false, code: 'internal', detail };
        return JSON.stringify([...parts, ...Array.from({ length: silent }, () => failed)]);
      }
    }
  }

  /** Asks all workers. @returns the answers of those that answer in time */
  async #ask(what: What, command: Command | undefined): Promise<unknown[]> {
    const id = this.#questions++;
    const ms = what === 'command' ? COMMAND_TIMEOUT_MS : FIGURES_TIMEOUT_MS;
    const collection = new Collection(this.#workers(), ms);
    this.#collections.set(id, collection);
    this.#broadcast({ type: 'report', what, id, ...(command === undefined ? {} : { command }) });
    const parts = await collection.complete();
    this.#collections.delete(id);
    return parts;
  }

  #workers(): Worker[] {
    return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  }

  #broadcast(message: FromSupervisor): void {
    for (const worker of this.#workers()) this.#send(worker, message);
  }

  #send(worker: Worker, message: FromSupervisor): void {
    // A dying worker does not need the message.
    if (worker.isConnected()) worker.send(message, () => {});
  }
}
