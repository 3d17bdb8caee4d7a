/**
 * Growth of the agent's window by the functions of NSDI figure 9, and its effect on throughput: the
 * real window, retry timer and transfer, in virtual time.
 */

import { type Random, seededRandom } from '@millrace/shared/base/clock';
import type { Experiment } from '../experiment.ts';
import { mean, percentile, type Table } from '../report.ts';
import { type AgentResult, type Peer, runAgent } from '../windows/agent-run.ts';
import { KINDS, PAPER_MAX } from '../windows/growths.ts';

const NODES = 100;
/** Chunks as in the paper's tests: 50 MB in chunks of 60 KB. */
const CHUNK_BYTES = 60_000;
const CHUNKS = 834;
const AFTER = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/** First window, as of the paper's nodes, so that growth is visible from the smallest size. */
const FIRST_WINDOW = 1;

/** Lines of nodes and their peers: medians, and deviations of the logarithms. */
const LINE = { medianMbit: 8, deviation: 1 };
const PEER = { medianMbit: 1, deviation: 1 };
const RTT = { medianMs: 80, deviation: 0.6 };
const BYTES_PER_MS = 1e6 / 8 / 1000;
/** Share and rate of peers that hardly send, as the paper's overloaded ones did. */
const STUCK_SHARE = 0.01;
const STUCK_RATE = 0.5;

interface Measured {
  readonly kind: string;
  readonly run: number;
  readonly mbit: readonly number[];
  readonly retries: number;
  readonly wasted: number;
  readonly failures: number;
}

export const windows: Experiment = {
  name: 'windows',
  title: 'Window growth functions: chunks until a window is open, and throughput (NSDI figure 9)',
  runs: 3,
  needsLab: false,
  async run({ seed, runs, say }) {
    const measured: Measured[] = [];
    for (const { name, make } of KINDS) {
      for (let run = 0; run < runs; run++) {
        const results = Array.from({ length: NODES }, (_, node) =>
          download(
            seededRandom(seed * 1_000_003 + run * 1009 + node),
            make(PAPER_MAX, FIRST_WINDOW),
          ),
        );
        measured.push({ kind: name, run, ...summary(results) });
      }
      say(`windows: ${name}`);
    }
    return {
      conditions: {
        nodes: NODES,
        'chunks each': CHUNKS,
        'chunk bytes': CHUNK_BYTES,
        'largest window': PAPER_MAX,
        'first window': FIRST_WINDOW,
      },
      tables: [openings(), throughputs(measured)],
      plots: [
        {
          title: 'The window while every chunk comes fast',
          x: 'chunks',
          y: 'window',
          series: KINDS.map(({ name, make }) => ({
            name,
            points: curve(make(PAPER_MAX, FIRST_WINDOW), 1000),
          })),
        },
        {
          title: `Throughput of ${NODES} nodes`,
          x: 'Mbit/s',
          y: 'share',
          kind: 'cdf',
          series: KINDS.map(({ name }) => ({
            name,
            points: measured
              .filter((one) => one.kind === name && one.run === 0)
              .flatMap(({ mbit }) =>
                mbit.map((value): [number, number] => [Math.min(value, 20), 0]),
              ),
          })),
        },
      ],
      notes: [
        'Virtual time, the same draws for every function. ' +
          `A node's line is log-normal around ${LINE.medianMbit} Mbit/s, a peer's rate around ${PEER.medianMbit} Mbit/s, ` +
          `round trips around ${RTT.medianMs} ms; ${STUCK_SHARE * 100}% of attempts meet a peer that hardly sends. ` +
          'The model leaves out TCP itself, queues at peers and other responses of the same node: only the differences between ' +
          'the functions count, not the figures themselves.',
      ],
      raw: measured,
    };
  },
};

function download(random: Random, window: Parameters<typeof runAgent>[0]['window']): AgentResult {
  const lineRate = LINE.medianMbit * Math.exp(LINE.deviation * normal(random)) * BYTES_PER_MS;
  const seed = Math.floor(random() * 2 ** 31);
  return runAgent({
    chunks: CHUNKS,
    chunkBytes: CHUNK_BYTES,
    lineRate,
    window,
    random,
    // Each attempt meets the same peer with every function, in whatever order attempts occur.
    peer: (chunk, attempt) => peerOf(seededRandom(seed + chunk * 64 + attempt)),
  });
}

function peerOf(random: Random): Peer {
  const rate = PEER.medianMbit * Math.exp(PEER.deviation * normal(random)) * BYTES_PER_MS;
  const rttMs = RTT.medianMs * Math.exp(RTT.deviation * normal(random));
  return { rttMs, rate: random() < STUCK_SHARE ? STUCK_RATE : rate };
}

/** Draws a normally distributed number (Box and Muller). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function summary(results: readonly AgentResult[]): Omit<Measured, 'kind' | 'run'> {
  const good = results.filter(({ complete }) => complete);
  const bytes = CHUNKS * CHUNK_BYTES;
  return {
    mbit: good.map(({ ms }) => (bytes * 8) / 1000 / ms),
    retries: mean(results.map(({ retries }) => retries)) / CHUNKS,
    wasted: mean(results.map(({ wastedBytes }) => wastedBytes)) / bytes,
    failures: results.length - good.length,
  };
}

/** Returns the window's size after each number of fast chunks. */
function curve(window: { size: number; onFastChunk(): void }, chunks: number): [number, number][] {
  const points: [number, number][] = [[0, window.size]];
  for (let n = 1; n <= chunks; n++) {
    window.onFastChunk();
    points.push([n, window.size]);
  }
  return points;
}

function openings(): Table {
  return {
    title: 'The window after a number of chunks that all came fast',
    columns: ['growth', ...AFTER.map(String)],
    rows: KINDS.map(({ name, make }) => {
      const points = curve(make(PAPER_MAX, FIRST_WINDOW), 1000);
      return [name, ...AFTER.map((n) => points[n]?.[1])];
    }),
  };
}

function throughputs(measured: readonly Measured[]): Table {
  return {
    title: 'A file of 50 MB at each node',
    columns: [
      ...['growth', 'Mbit/s mean', '10%', 'median', '90%', 'retries per chunk'],
      ...['wasted bytes / file', 'failures'],
    ],
    rows: KINDS.map(({ name }) => {
      const these = measured.filter(({ kind }) => kind === name);
      const mbit = these.flatMap((one) => one.mbit);
      const [low, middle, high] = [0.1, 0.5, 0.9].map((share) => percentile(mbit, share));
      return [
        ...[name, mean(mbit), low, middle, high, mean(these.map(({ retries }) => retries))],
        ...[
          mean(these.map(({ wasted }) => wasted)),
          these.reduce((sum, one) => sum + one.failures, 0),
        ],
      ];
    }),
  };
}
