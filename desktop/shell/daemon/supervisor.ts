/** Finds or starts the daemon, stays connected to it, and starts it again after a crash. */

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
  /** undefined: no daemon can be started here; only a running one can be used. */
  readonly program: DaemonProgram | undefined;
}

export interface Connected {
  readonly daemon: FoundDaemon;
  readonly link: DaemonLink;
  /** True if the daemon was started here. */
  readonly started: boolean;
}

/**
 * Connects to the running daemon, or to one that it starts.
 *
 * @param before URL of the daemon that ran until now: a new one is tried at the same address first,
 * so that open pages find it
 * @throws Error if no daemon runs and none can be started
 */
export async function findOrStart(
  { state, dir, program }: DaemonPlace,
  before?: string,
): Promise<Connected> {
  const found = await runningDaemon(state);
  if (found !== undefined) {
    // A killed daemon may have left its address behind, and another process may have its number.
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
  /** A `findOrStart` that has begun already, so that window and daemon start side by side. */
  readonly first: Promise<Connected>;
  /** Process of a daemon that an earlier run of the app has started, and that ends with the app. */
  readonly earlierPid: number | undefined;
  onState(state: DaemonState): void;
  /** Called when a daemon can be used. @param restarted true if it replaces one that has ended */
  onReady(link: DaemonLink, daemon: FoundDaemon, restarted: boolean): Promise<void>;
  /** Called with the process of a daemon of our own; with undefined when it has been ended. */
  onOwned(pid: number | undefined): void;
  /** Called when no daemon stays up; another try follows when the promise resolves. */
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

  /** Connection to the running daemon; undefined while none runs. */
  get link(): DaemonLink | undefined {
    return this.#link;
  }

  /** Origin of the daemon's page, such as `http://127.0.0.1:6800`. */
  get origin(): string | undefined {
    return this.#daemon === undefined ? undefined : new URL(this.#daemon.url).origin;
  }

  /** Returns true if the daemon ends with the app. */
  get endsDaemon(): boolean {
    return this.#daemon !== undefined && this.#daemon.pid === this.#ownedPid;
  }

  /** Keeps a daemon running and connected until `stop`. */
  async run(): Promise<void> {
    while (!this.#stopping) {
      let reason = '';
      this.#options.onState('starting');
      try {
        await this.#once();
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      // `stop` still has to reach the daemon.
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
   * Leaves the daemon, and ends it if it is our own. Waits for a daemon that is just being started.
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

  /** Uses one daemon for as long as it answers. */
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
