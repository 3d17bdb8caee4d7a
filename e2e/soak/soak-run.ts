/** Runs a soak: starts everything, has it struck by faults, and ends it. */

import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Random, seededRandom } from '@millrace/shared/base/clock';
import { descriptorsOf, residentOf } from '../fixtures/programs/process-figures.ts';
import { type FaultKind, planFaults } from './account/fault-plan.ts';
import { Ledger, now } from './account/ledger.ts';
import type { PageFacts } from './account/soak-page.ts';
import { ChangingFiles } from './stage/changing-files.ts';
import { Edges } from './stage/edges.ts';
import { SmallDisk } from './stage/small-disk.ts';
import { strike } from './striking.ts';
import { type Browsers, startBrowsers } from './work/browsers.ts';
import { RunningCommands } from './work/commands.ts';
import { daemonOn, SoakDaemon } from './work/daemon.ts';
import { getOn } from './work/gets.ts';
import { readOn } from './work/readers.ts';
import { uploadOn } from './work/uploads.ts';
import type { World } from './work/world.ts';

/** Parts of a soak that can be left out. */
export const PARTS = ['disks', 'depots', 'daemon', 'browsers'] as const;
export type Part = (typeof PARTS)[number];

export interface SoakOptions {
  readonly folder: string;
  readonly seed: number;
  readonly minutes: number;
  readonly edges: number;
  /** Entries of the daemon's history. */
  readonly entries: number;
  readonly without: ReadonlySet<Part>;
  /** Faults that do not happen. */
  readonly withoutFaults: ReadonlySet<FaultKind>;
  /** True: kinds of faults come in the order of their table. */
  readonly inOrder: boolean;
  readonly hangMs: number;
  /** Ends the soak before its time. */
  readonly signal: AbortSignal;
  readonly onEvent: (line: string) => void;
}

const KiB = 1024;
const MiB = 1024 * KiB;
const FILE_BYTES = [1, 70_000, 256 * KiB, MiB + 1, 3_000_000, 5 * MiB - 1, 8 * MiB, 12_345_678];
const READERS = 4;
const GETS = 2;
const UPLOADS = 1;
const DAEMON_SEATS = 3;
const SAMPLE_MS = 2000;
/** Sizes of the small disks, MiB; their names are those of their folders. */
const DISKS_MIB = { gets: 64, cache: 24, depot: 48, downloads: 96 };
/** Numbers of these disks. */
const DISK = { gets: 0, depot: 2, downloads: 3 };
/** Numbers of the edges with a cache on a small disk, and with depots. */
const CACHE_EDGE = 1;
const DEPOT_EDGES = [0, 2];

/** Runs a soak to its end. @returns its account and further figures */
export async function runSoak(options: SoakOptions): Promise<{ ledger: Ledger; facts: PageFacts }> {
  const { folder, seed, signal, hangMs, without } = options;
  await using stack = new AsyncDisposableStack();
  const ledger = new Ledger(options.onEvent);
  const leftOut: string[] = [...without, ...options.withoutFaults];
  const randoms = sources(seed);
  const files = await ChangingFiles.start(FILE_BYTES);
  stack.defer(() => files.stop());
  const disks = await Promise.all(
    Object.entries(DISKS_MIB).map(([name, mebibytes]) =>
      without.has('disks')
        ? SmallDisk.folder(join(folder, name), name)
        : SmallDisk.mount(join(folder, name), name, mebibytes),
    ),
  );
  stack.defer(async () => {
    for (const disk of disks) disk.unmount();
  });
  const canFill = disks.every((disk) => disk.canBeFull);
  if (!canFill && !without.has('disks')) leftOut.push('full disks: nothing can be mounted');
  const [gets, cache, depot] = disks as [SmallDisk, SmallDisk, SmallDisk, SmallDisk];
  const depots = new Map(
    without.has('depots')
      ? []
      : DEPOT_EDGES.filter((edge) => edge < options.edges).map((edge, i) => [
          edge,
          i === 0 ? join(folder, 'depot-0') : depot.path,
        ]),
  );
  const edges = await Edges.start({
    folder,
    count: options.edges,
    caches: new Map([[CACHE_EDGE, cache.path]]),
    depots,
    onDeath: (what) => ledger.die(what),
  });
  stack.defer(() => edges.stop());
  const daemon = without.has('daemon')
    ? undefined
    : await SoakDaemon.start(folder, options.entries);
  stack.defer(async () => void (await daemon?.stop()));
  const browsers: Browsers =
    daemon === undefined || without.has('browsers')
      ? { all: [], leftOut: [], stop: async () => {} }
      : await startBrowsers(folder, daemon.cli);
  stack.defer(() => browsers.stop());
  leftOut.push(...browsers.leftOut);

  const durationMs = options.minutes * 60_000;
  const ended = AbortSignal.any([signal, AbortSignal.timeout(durationMs)]);
  // Each operation listens for the end.
  setMaxListeners(0, ended);
  const commands = new RunningCommands();
  const world: World = { folder, files, edges, commands, ledger, ended, hangMs };
  const seats = GETS + (depots.size > 0 ? UPLOADS : 0);
  const mortal = browsers.all.filter((one) => one.killBackground !== undefined);
  const faults = planFaults(
    randoms(),
    {
      edges: edges.count,
      files: files.count,
      disks: canFill ? disks.length : 0,
      commands: seats,
      daemons: daemon === undefined ? 0 : 1,
      browsers: mortal.length,
    },
    durationMs,
    { inOrder: options.inOrder, without: options.withoutFaults },
  );
  const begunAt = now();
  const sampling = sampleOn(world, daemon);
  await Promise.all([
    ...times(READERS, () => readOn(world, randoms())),
    ...times(GETS, (seat) => getOn(world, randoms(), seat, DISK.gets, gets.path)),
    ...times(depots.size > 0 ? UPLOADS : 0, (i) =>
      uploadOn(world, randoms(), GETS + i, new Map([[DEPOT_EDGES[1] as number, DISK.depot]])),
    ),
    ...(daemon === undefined
      ? []
      : times(DAEMON_SEATS, (seat) => daemonOn(world, daemon, randoms(), seat, DISK.downloads))),
    ...browsers.all.map((browser) => browser.clickOn(world, DISK.downloads)),
    strike(
      { world, disks, daemon, browsers: mortal as Required<(typeof mortal)[number]>[] },
      faults,
    ),
  ]);
  await sampling;
  const facts = {
    ...{ seed, ms: now() - begunAt, leftOut },
    ...{ originRequests: files.requests, originBytes: files.sentBytes },
  };
  return { ledger, facts };
}

/** Returns a function that gives each operation a random source of its own. */
function sources(seed: number): () => Random {
  let next = 0;
  return () => seededRandom(seed + 7919 * next++);
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Measures the processes until the soak ends. */
async function sampleOn(
  { ledger, edges, ended }: World,
  daemon: SoakDaemon | undefined,
): Promise<void> {
  while (!ended.aborted) {
    const processes = new Map<string, number | undefined>(
      times(edges.count, (edge) => [`edge ${edge}`, edges.pid(edge)] as const),
    );
    processes.set('daemon', await daemon?.cli.pid());
    for (const [name, pid] of processes) {
      if (pid === undefined) continue;
      const [residentBytes, descriptors] = [residentOf(pid), descriptorsOf(pid)];
      if (residentBytes > 0)
        ledger.samples.push({ at: now(), name, pid, residentBytes, descriptors });
    }
    await sleep(SAMPLE_MS, undefined, { signal: ended }).catch(() => {});
  }
}
