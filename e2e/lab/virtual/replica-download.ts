/**
 * One download of a replicated file in virtual time, by the project's scheduler or by the paper's
 * exact algorithms (LOCI 3.2), over the same simulated servers.
 */

import { seededRandom } from '@millrace/shared/base/clock';
import type { RedundancyMode } from '@millrace/shared/download/request/request';
import { Scheduler } from '@millrace/shared/download/scheduler/scheduler';
import { CodedRows } from '@millrace/shared/testing/coded-rows';
import { LociBlocks } from '@millrace/shared/testing/loci-blocks';
import {
  type Chooser,
  type Milestone,
  SimulatedDownload,
} from '@millrace/shared/testing/simulated-download';
import { SimulatedSource } from '@millrace/shared/testing/simulated-source';
import { VaryingLink } from '@millrace/shared/testing/varying-link';
import { VirtualClock } from '@millrace/shared/testing/virtual-clock';
import { REPLICAS, type Server } from './servers.ts';

/** One megabit per second, in bytes. */
export const MBIT = 125_000;
/** LOCI 4: a file of 50 MB. */
export const FILE_BYTES = 50 * 1024 * 1024;
/** Seconds of data that an application holds before it begins to play (LOCI 4.2). */
export const PREBUFFER_S = 5;
/** TCP window of that time, without scaling: makes a second connection worthwhile. */
const WINDOW_BYTES = 64 * 1024;
/** Variation of servers' rates, and share of time in which they hardly send (WORLDS 4.1). */
const SPREAD = 0.3;
const SLOWDOWNS = 0.02;
/** Longest download, two days: the paper's basic algorithm can take very long. */
const LIMIT_MS = 172_800_000;

/** Algorithm that chooses the next block. */
export type Algorithm =
  | { readonly by: 'paper'; readonly copies: number; readonly progress: number; blockBytes: number }
  | { readonly by: 'millrace'; readonly mode: RedundancyMode }
  /** Each server has one shard of a code with `data` data shards. */
  | { readonly by: 'code'; readonly data: number; unitBytes: number; progress: number };

export interface Setting {
  readonly servers: readonly Server[];
  readonly algorithm: Algorithm;
  /** Connections to each server, T in LOCI 3.2. */
  readonly threads: number;
  readonly seed: number;
  /** True: constant rates of the servers. */
  readonly steady?: boolean;
  /** Rate of a viewer who plays the file meanwhile; our scheduler only fetches ahead of it. */
  readonly playMegabits?: number;
}

export interface Outcome {
  readonly megabits: number;
  readonly seconds: number;
  readonly requests: number;
  /** Bytes received more than once, as a share of the file. */
  readonly redundant: number;
  readonly milestones: readonly Milestone[];
}

export function download(setting: Setting): Outcome {
  const { servers, threads, seed, playMegabits, steady = false } = setting;
  const clock = new VirtualClock();
  const scheduler = schedulerFor(setting);
  const sources = servers.map(({ id, megabits, rttMs }, i) => {
    const random = seededRandom(seed * 101 + i);
    const options = {
      bytesPerSecond: megabits * MBIT,
      random,
      spread: steady ? 0 : SPREAD,
      slowdowns: steady ? 0 : SLOWDOWNS,
    };
    return new SimulatedSource(clock, {
      id,
      rttMs,
      links: [new VaryingLink(options)],
      windowBytes: WINDOW_BYTES,
    });
  });
  const run = new SimulatedDownload({
    clock,
    sources,
    chooser: scheduler ?? paperChooser(setting.algorithm),
    connectionsPerSource: threads,
    seed,
    onProgress: ({ milestones }) => {
      if (playMegabits === undefined || scheduler === undefined) return;
      const played = (clock.now / 1000 - PREBUFFER_S) * playMegabits * MBIT;
      const there = milestones.at(-1)?.position ?? 0;
      scheduler.prefer(Math.max(0, Math.min(Math.floor(played), there)));
    },
  });
  if (playMegabits !== undefined) scheduler?.prefer(0);
  const seconds = run.run(LIMIT_MS) / 1000;
  return {
    megabits: FILE_BYTES / MBIT / seconds,
    seconds,
    requests: run.requests,
    redundant: run.receivedBytes / FILE_BYTES - 1,
    milestones: run.milestones,
  };
}

/**
 * Downloads from the first server alone, from the first two, and so on.
 *
 * @param runs runs of each number of replicas, with consecutive seeds
 * @returns outcomes of all runs, for each number of replicas in `REPLICAS`
 */
export function byReplicas(setting: Setting, runs: number): Outcome[][] {
  return REPLICAS.map((replicas) =>
    Array.from({ length: runs }, (_, run) =>
      download({
        ...setting,
        servers: setting.servers.slice(0, replicas),
        seed: setting.seed + run,
      }),
    ),
  );
}

/** Returns the project's scheduler if the algorithm is `millrace`. */
function schedulerFor({ algorithm, servers, threads }: Setting): Scheduler | undefined {
  if (algorithm.by !== 'millrace') return undefined;
  const { mode } = algorithm;
  const redundantBytes = mode === 'basic' ? 0 : FILE_BYTES * 0.02;
  const connections = servers.length * threads;
  const scheduler = new Scheduler({ length: FILE_BYTES, mode, redundantBytes, connections }, 0);
  for (const { id } of servers) scheduler.addSource(id);
  return scheduler;
}

function paperChooser(algorithm: Algorithm): Chooser {
  if (algorithm.by === 'code') {
    const { data, unitBytes, progress } = algorithm;
    return new CodedRows(FILE_BYTES, data, unitBytes, progress);
  }
  if (algorithm.by !== 'paper') throw new Error('not one of the paper');
  const { blockBytes, copies, progress } = algorithm;
  return new LociBlocks(FILE_BYTES, blockBytes, { copies, progress });
}

/**
 * Returns the seconds that an application waits if it starts to play after the prebuffer and needs
 * `megabits` per second (LOCI 4.2).
 */
export function playingDelay(milestones: readonly Milestone[], megabits: number): number {
  let seconds = 0;
  let before = 0;
  for (const { at, position } of milestones) {
    seconds = Math.max(seconds, at / 1000 - PREBUFFER_S - before / (megabits * MBIT));
    before = position;
  }
  return seconds;
}
