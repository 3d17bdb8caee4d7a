/** A daemon with a long history whose downloads run all the time, and which is killed. */

import type { Random } from '@millrace/shared/base/clock';
import { fillHistory } from '../../bench/fill-history.ts';
import { DaemonCli } from '../../fixtures/programs/daemon-cli.ts';
import type { Strike } from '../account/causes.ts';
import { now } from '../account/ledger.ts';
import { Progress } from './progress.ts';
import { judgeSaved } from './saved-file.ts';
import { below, pause, type World } from './world.ts';

/** Time between two looks at a download, ms. */
const LOOK_MS = 500;
const REST_MS = 300;
const [SLOWEST, FASTEST] = [1_000_000, 8_000_000];
/** Longest wait for an answer of the daemon, ms: it answers at once, or is away. */
const ANSWER_MS = 60_000;
/** Attempts to start the daemon after a kill. */
const STARTS = 5;

export class SoakDaemon {
  readonly cli: DaemonCli;
  #killing: Promise<void> | undefined;

  private constructor(cli: DaemonCli) {
    this.cli = cli;
  }

  /** Starts a daemon whose history has a number of entries. */
  static async start(folder: string, entries: number): Promise<SoakDaemon> {
    const daemon = new SoakDaemon(new DaemonCli(folder));
    await daemon.#begin();
    await fillHistory((list) => daemon.cli.call('import', list), entries);
    return daemon;
  }

  /** Kills the daemon, and starts it again after a time. */
  async strike(downMs: number, world: Pick<World, 'ended'>): Promise<void> {
    this.#killing ??= (async () => {
      await this.cli.kill();
      await pause(world, downMs);
      // A native host may start the daemon just now, in which case this start is refused.
      for (let starts = 1; ; starts++) {
        try {
          return await this.#begin();
        } catch (error) {
          if (starts === STARTS || world.ended.aborted) throw error;
        }
      }
    })().finally(() => {
      this.#killing = undefined;
    });
    await this.#killing;
  }

  async stop(): Promise<void> {
    await this.#killing?.catch(() => {});
    await this.cli.kill();
  }

  /** Starts the daemon, unless a browser's native host has already done so. */
  #begin(): Promise<void> {
    return this.cli.ensureDaemon('--dir', this.cli.downloads);
  }
}

/**
 * Downloads until the soak ends.
 *
 * @param seat number that tells its files from those of others
 * @param disk number of the small disk that has the daemon's folder for downloads
 */
export async function daemonOn(
  world: World,
  daemon: SoakDaemon,
  random: Random,
  seat: number,
  disk: number,
): Promise<void> {
  for (let number = 0; !world.ended.aborted; number++) {
    await downloadOnce(world, daemon, random, `soak-${seat}-${number}.bin`, disk);
    await pause(world, REST_MS);
  }
}

async function downloadOnce(
  world: World,
  daemon: SoakDaemon,
  random: Random,
  name: string,
  disk: number,
): Promise<void> {
  const { files, edges, ledger } = world;
  const from = now();
  const file = below(random, files.count);
  const named = Array.from({ length: edges.count }, (_, i) => i).filter(() => random() < 0.5);
  const strikes: Strike[] = [
    { kind: 'change-file', target: file },
    { kind: 'fill-disk', target: disk },
    { kind: 'kill-daemon' },
  ];
  const what = `${name}, file ${file} by edges ${named.join(', ') || 'none'}`;
  const request = {
    urls: [files.url(file)],
    edges: named.map((edge) => edges.url(edge)),
    file: name,
    limit: Math.round(SLOWEST + random() * (FASTEST - SLOWEST)),
  };
  const gid = await asked(world, strikes, `add of ${what}`, async () => {
    return (await daemon.cli.call('add', request)).gid;
  });
  // An addition without an answer may have been made: nobody looks at it again.
  if (gid === undefined) return;
  let hung = false;
  const progress = new Progress(world.hangMs, () => {
    hung = true;
  });
  try {
    while (!world.ended.aborted) {
      const view = await asked(world, strikes, `status of ${what}`, () =>
        daemon.cli.call('status', { gid }),
      );
      if (view === 'gone') return ledger.lose(`daemon: ${what}: it knows no ${gid} any more`);
      if (view !== undefined)
        progress.tell(view.storedBytes + (view.status === 'active' ? 0.5 : 0));
      if (hung) return ledger.hang(`daemon: ${what}: ${JSON.stringify(view)?.slice(0, 300)}`);
      if (view?.status === 'error') {
        const { code = 'error' } = view.error ?? {};
        ledger.fail('daemon', code, from, strikes, `${what}: ${JSON.stringify(view.error)}`);
        break;
      }
      if (view?.status === 'complete') {
        const path = view.path as string;
        await judgeSaved(world, { work: 'daemon', file, path, from, strikes, what });
        break;
      }
      await pause(world, LOOK_MS);
    }
  } finally {
    progress.end();
  }
  const removal = { gids: [gid], deleteFile: true, forget: true, now: true };
  await asked(world, strikes, `removal of ${what}`, () => daemon.cli.call('remove', removal));
}

/**
 * Asks the daemon.
 *
 * @returns undefined if it does not answer, as while it is down; `gone` if it knows no such download
 */
async function asked<T>(
  { ledger, ended }: World,
  strikes: readonly Strike[],
  what: string,
  question: () => Promise<T>,
): Promise<T | 'gone' | undefined> {
  const from = now();
  let timer: NodeJS.Timeout | undefined;
  const silent = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('silent')), ANSWER_MS);
  });
  try {
    return await Promise.race([question(), silent]);
  } catch (error) {
    const { message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
    if (ended.aborted) return undefined;
    if (/no such download|does not (?:exist|know)|no download/i.test(message)) return 'gone';
    const code =
      message === 'silent'
        ? 'daemon-silent'
        : cause?.code === 'ECONNREFUSED'
          ? 'refused'
          : 'broken-off';
    ledger.fail('daemon', code, from, strikes, `${what}: ${message} ${cause?.message ?? ''}`);
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
