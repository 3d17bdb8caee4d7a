/**
 * LOCI figures 7 to 9: waiting time of a viewer who starts to play a replicated file after five
 * seconds. Virtual time, as in `replicas`.
 */

import type { Experiment, ExperimentOptions } from '../experiment.ts';
import { type Findings, median, type Plot, type Table } from '../report.ts';
import { type NamedAlgorithm, OURS, PAPERS, THREADS } from '../virtual/algorithms.ts';
import { byReplicas, FILE_BYTES, PREBUFFER_S, playingDelay } from '../virtual/replica-download.ts';
import { CLIENTS, REPLICAS } from '../virtual/servers.ts';

/** Rates of uncompressed sound, of video, and of a camera's raw video (LOCI 4.2). */
const PLAY_MEGABITS = [1.3, 15, 50] as const;
const SERVERS = CLIENTS.Tennessee;

interface Series {
  readonly playMegabits: number;
  readonly threads: number;
  readonly name: string;
  /** Seconds of waiting with 1 to 6 replicas: median and longest of the runs. */
  readonly delays: readonly number[];
  readonly longest: readonly number[];
}

export const streaming: Experiment = {
  name: 'streaming',
  title: 'Delay of a player that reads along (LOCI figures 7 to 9)',
  runs: 7,
  needsLab: false,
  run,
};

async function run(options: ExperimentOptions): Promise<Findings> {
  const { say } = options;
  const series: Series[] = [];
  for (const playMegabits of PLAY_MEGABITS) {
    for (const threads of THREADS) {
      say(`played at ${playMegabits} Mbit/s, ${threads} connection(s) to each server`);
      for (const named of [...PAPERS, ...OURS]) {
        series.push(measure(playMegabits, threads, named, options));
      }
    }
  }
  return {
    conditions: {
      file: `${FILE_BYTES / 1024 / 1024} MiB`,
      time: 'virtual',
      client: 'Tennessee',
      prebuffer: `${PREBUFFER_S} s`,
    },
    tables: PLAY_MEGABITS.flatMap((rate) => THREADS.map((threads) => table(rate, threads, series))),
    plots: [plot(series)],
    notes: [
      'Total seconds of waiting with 1 to 6 replicas: the median of the runs, then a slash and the longest.',
      'The paper computes delays from downloads that know nothing of the player; so do its algorithms here. Millrace is told which bytes are being read, as by `millrace stream`.',
    ],
    raw: series,
  };
}

function measure(
  playMegabits: number,
  threads: number,
  { name, algorithm }: NamedAlgorithm,
  { runs, seed }: ExperimentOptions,
): Series {
  const setting = { servers: SERVERS, algorithm, threads, seed, playMegabits };
  const all = byReplicas(setting, runs).map((outcomes) =>
    outcomes.map(({ milestones }) => playingDelay(milestones, playMegabits)),
  );
  const longest = all.map((delays) => Math.max(...delays));
  return { playMegabits, threads, name, delays: all.map(median), longest };
}

function table(playMegabits: number, threads: number, series: readonly Series[]): Table {
  return {
    title: `Played at ${playMegabits} Mbit/s, ${threads} connection${threads > 1 ? 's' : ''} to each server`,
    columns: ['seconds with replicas:', ...REPLICAS.map(String)],
    rows: series
      .filter((s) => s.playMegabits === playMegabits && s.threads === threads)
      .map(({ name, delays, longest }) => [
        name,
        ...delays.map((delay, i) => `${delay.toFixed(1)} / ${(longest[i] as number).toFixed(1)}`),
      ]),
  };
}

/** Plots the paper's figure 8 on a linear scale; longer times are cut off. */
function plot(series: readonly Series[]): Plot {
  const shown = series.filter(
    (s) =>
      s.playMegabits === 15 &&
      s.threads === 2 &&
      (/(aggressive|progress-driven), 2 MiB$/.test(s.name) || s.name === 'Millrace progress'),
  );
  return {
    title: 'Played at 15 Mbit/s, two connections to each server',
    x: 'replicas',
    y: 'seconds of waiting',
    series: shown.map(({ name, delays }) => ({
      name,
      points: delays.map((delay, i) => [i + 1, delay] as [number, number]),
    })),
  };
}
