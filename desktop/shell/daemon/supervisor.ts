/** Finds the daemon or starts it, stays connected to it, and starts it again when it has crashed. */

import { afterEnd, type Ends } from '@millrace/shared/base/restart-policy';
import { type FoundDaemon, runningDaemon } from '../../local/daemon-address.ts';
import { type DaemonProgram, launchDaemon } from '../../local/daemon-launch.ts';
import type { DaemonState } from '../logic/tray-text.ts';
import { DaemonLink } from './daemon-link.ts';
import { hasGone } from './has-gone.ts';

const STOP_TIMEOUT_MS = 10_000;

export interface DaemonPlace {
  /** State folder. */
  readonly state: string;
  /** Download folder. */
  readonly dir: string;
  /** undefined: none can be started here; a running one is used. */
  readonly program: DaemonProgram | undefined;
}

export interface Connected {
  readonly daemon: FoundDaemon;
  readonly link: DaemonLink;
  /** It was started here. */
  readonly started: boolean;
}

/**
 * @param before URL of the daemon that ran until now: a new one is tried at the same address first, so
 *   that pages which are open find it
 * @throws Error if none runs and none can be started
 */
export async function findOrStart(
  { state, dir, program }: DaemonPlace,
  before?: string,
): Promise<Connected> {
  const found = await runningDaemon(state);
  if (found !== undefined) {
    // Killed, its address may have stayed behind, and another process may have its number.
    const link = await DaemonLink.connect(found).catch(() => undefined);
    if (link !== undefined) return { daemon: found, link, started: false };
  }
  if (program === undefined) {
    throw new Error('Node 24 or newer is needed: put its path into MILLRACE_NODE');
  }
  const start = (options: readonly string[]) => {
    const args = [...program.args, ...options, '--state', state, '--dir', dir];
    return launchDaemon({ ...program, args }, state);
  };
  const { daemon, child } =
    before === undefined
      ? await start([])
      : await start(['--port', new URL(before).port]).catch(() => start([]));
  return { daemon, link: await DaemonLink.connect(daemon), started: daemon.pid === child.pid };
}

export interface SupervisorOptions extends DaemonPlace {
  /** A first `findOrStart` that has begun already, so that windows and daemon start side by side. */
  readonly first: Promise<Connected>;
  /** A daemon that an earlier run of the app has started, and that ends with it. */
  readonly earlierPid: number | undefined;
  onState(state: DaemonState): void;
  /** @param restarted true if the one before has crashed */
  onReady(link: DaemonLink, daemon: FoundDaemon, restarted: boolean): Promise<void>;
  /** A daemon of our own runs now; undefined: not any more. */
  onOwned(pid: number | undefined): void;
  /** It does not stay up; it is tried again when this resolves. */
  onGaveUp(reason: string): Promise<void>;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  #link: DaemonLink | undefined;
  #daemon: FoundDaemon | undefined;
  #ownedPid: number | undefined;
  #first: Promise<Connected> | undefined;
  /** The daemon in use, or being started. */
  #current: Promise<Connected> | undefined;
  #ends: Ends = [];
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#first = options.first;
    this.#ownedPid = options.earlierPid;
  }

  /** The daemon that runs; undefined while none does. */
  get link(): DaemonLink | undefined {
    return this.#link;
  }

  /** Origin of its page, such as `http://127.0.0.1:6800`. */
  get origin(): string | undefined {
    return this.#daemon === undefined ? undefined : new URL(this.#daemon.url).origin;
  }

  /** True if the daemon ends with the app. */
  get endsDaemon(): boolean {
    return this.#daemon !== undefined && this.#daemon.pid === this.#ownedPid;
  }

  /** Runs until `stop`. */
  async run(): Promise<void> {
    while (!this.#stopping) {
      let reason = '';
      this.#options.onState('starting');
      try {
        await this.#once();
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      // The caller that stops it still has to reach it.
      if (this.#stopping) return;
      this.#link = undefined;
      this.#current = undefined;
      this.#options.onState('down');
      const { ends, next } = afterEnd(this.#ends, Date.now());
      this.#ends = ends;
      if (next.kind === 'restart') {
        await new Promise((resolve) => setTimeout(resolve, next.afterMs));
      } else {
        await this.#options.onGaveUp(reason);
        this.#ends = [];
      }
    }
  }

  /**
   * Leaves the daemon, and ends it if it is our own. One that is just being started is waited for.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    const connected = await (this.#current ?? this.#first)?.catch(() => undefined);
    if (connected === undefined) return;
    const { daemon, link, started } = connected;
    if (started || daemon.pid === this.#ownedPid) {
      await link.call('millrace.shutdown').catch(() => {});
      if (!(await hasGone(daemon.pid, STOP_TIMEOUT_MS))) process.kill(daemon.pid, 'SIGTERM');
      this.#options.onOwned(undefined);
    }
    link.close();
  }

  /** One daemon, for as long as it answers. */
  async #once(): Promise<void> {
    const before = this.#daemon;
    this.#current = this.#first ?? findOrStart(this.#options, before?.url);
    this.#first = undefined;
    const { daemon, link, started } = await this.#current;
    if (this.#stopping) return;
    if (started) {
      this.#ownedPid = daemon.pid;
      this.#options.onOwned(daemon.pid);
    }
    this.#daemon = daemon;
    this.#link = link;
    this.#options.onState('running');
    const restarted = before !== undefined && before.pid !== daemon.pid;
    await this.#options.onReady(link, daemon, restarted);
    await link.closed;
  }
}
