/**
 * Finds the best default chunk size and first window: bandwidth, time to the first chunk and
 * memory with the project's agent in virtual time, and the cost of chunks of each size to a real
 * edge.
 */

import { BUFFER_BYTES_PER_CLIENT } from '@millrace/shared/base/limits';
import { CongestionWindow, firstWindow } from '@millrace/shared/cdn/delivery/window';
import { sample } from '../../bench/measuring/measure.ts';
import { Stage } from '../../bench/measuring/stage.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import type { Experiment, ExperimentOptions } from '../experiment.ts';
import { type Findings, median, type Table } from '../report.ts';
import { type Response, respond } from '../virtual/response.ts';
import { NETWORKS } from '../virtual/virtual-networks.ts';
import type { VirtualNetwork } from '../virtual/virtual-world.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const CHUNK_SIZES = [64 * KiB, 128 * KiB, 256 * KiB, 512 * KiB, MiB, 2 * MiB, 4 * MiB, 8 * MiB];
const FIRST_WINDOWS = [2, 4, 8, 16];
/** Size of the cache: enough for the file. */
const CACHE_BYTES = 640 * MiB;
const CACHED_TIMES = 4;

/** Bottlenecks: the nodes, a good origin, a poor origin. */
const BOTTLENECKS: Readonly<Record<string, VirtualNetwork>> = {
  cached: NETWORKS.today,
  'origin of 100 Mbit/s': { ...NETWORKS.today, originMegabits: 100 },
  'origin of 10 Mbit/s': { ...NETWORKS.today, originMegabits: 10 },
};

interface VirtualCell {
  readonly bottleneck: string;
  readonly chunkBytes: number;
  /** First window, in chunks. */
  readonly initial: number;
  readonly responses: readonly Response[];
}

interface Cost {
  readonly chunkBytes: number;
  readonly coldGbPerS: number;
  readonly coldCpuPerGb: number;
  readonly cachedGbPerS: number;
  readonly cachedCpuPerGb: number;
  readonly originRequestsPerGb: number;
}

export const chunks: Experiment = {
  name: 'chunks',
  title: 'Chunk size and first window (the defaults)',
  runs: 5,
  needsLab: false,
  run,
};

async function run({ seed, runs, say }: ExperimentOptions): Promise<Findings> {
  const cells: VirtualCell[] = [];
  for (const [bottleneck, network] of Object.entries(BOTTLENECKS)) {
    for (const chunkBytes of CHUNK_SIZES) {
      say(`${bottleneck}, chunks of ${size(chunkBytes)}`);
      for (const initial of FIRST_WINDOWS) {
        const max = BUFFER_BYTES_PER_CLIENT / chunkBytes;
        if (initial > max) continue;
        const responses = Array.from({ length: runs }, (_, i) => {
          const window = new CongestionWindow({ max, initial });
          return respond({ network, chunkBytes, window, seed: seed + i });
        });
        cells.push({ bottleneck, chunkBytes, initial, responses });
      }
    }
  }
  const costs = await measureCosts(runs, say);
  return {
    conditions: {
      'virtual time': '50 MiB over 60 nodes of 60 Mbit/s (30 to 120), client 200 Mbit/s',
      'real edge': 'one process, 512 MiB, nginx as origin, loopback',
      'most held': size(BUFFER_BYTES_PER_CLIENT),
    },
    tables: [
      ...Object.keys(BOTTLENECKS).map((bottleneck) => virtualTable(bottleneck, cells)),
      costTable(costs),
    ],
    plots: [
      {
        title: 'Cost of a real edge',
        x: 'chunk size in MiB',
        y: 'CPU seconds per GB',
        series: [
          { name: 'cold', points: costs.map((c) => [c.chunkBytes / MiB, c.coldCpuPerGb]) },
          { name: 'cached', points: costs.map((c) => [c.chunkBytes / MiB, c.cachedCpuPerGb]) },
        ],
      },
    ],
    notes: [
      'Columns of Mbit/s: by the first window of a response. Other columns: with the first window of edges, four chunks, or two where four would be more than 1 MiB.',
      'Absolute figures of the real edge depend on the machine and its other load; the figures of one column were measured in turn.',
    ],
    raw: { cells, costs },
  };
}

function virtualTable(bottleneck: string, cells: readonly VirtualCell[]): Table {
  return {
    title: `In virtual time, ${bottleneck}`,
    columns: [
      'chunk',
      ...FIRST_WINDOWS.map((w) => `Mbit/s from ${w}`),
      'first chunk ms',
      'MiB held at most',
      'requests per chunk',
    ],
    rows: CHUNK_SIZES.map((chunkBytes) => {
      const row = cells.filter((c) => c.bottleneck === bottleneck && c.chunkBytes === chunkBytes);
      const middle = (initial: number, of: (r: Response) => number) => {
        const cell = row.find((c) => c.initial === initial);
        return cell === undefined ? undefined : median(cell.responses.map(of));
      };
      const usual = firstWindow(chunkBytes);
      return [
        size(chunkBytes),
        ...FIRST_WINDOWS.map((w) => middle(w, (r) => r.megabits)),
        middle(usual, (r) => r.firstMs),
        middle(usual, (r) => r.heldBytes / MiB),
        middle(usual, (r) => r.requests),
      ];
    }),
  };
}

/** Measures the cost to a real edge of chunks of each size. */
async function measureCosts(runs: number, say: (line: string) => void): Promise<Cost[]> {
  const stage = await Stage.set();
  try {
    const costs: Cost[] = [];
    for (const chunkBytes of CHUNK_SIZES) {
      say(`a real edge with chunks of ${size(chunkBytes)}`);
      costs.push(await costOf(stage, chunkBytes, runs));
    }
    return costs;
  } finally {
    await stage.clear();
  }
}

async function costOf(stage: Stage, chunkBytes: number, runs: number): Promise<Cost> {
  const options = ['--chunk-size', String(chunkBytes), '--cache-memory', String(CACHE_BYTES)];
  const edge = await EdgeProcess.start(
    ['--allow-origin', '127.0.0.1', '--log-level', 'warn', '--max-amplification', '0', ...options],
    { MILLRACE_POISON_MEMORY: '0' },
  );
  try {
    const entries = [edge.prefixed(`${stage.origin.url}${stage.filePath}`)];
    const side = { pids: [edge.pid], entries };
    const cold = [];
    const cached = [];
    let requests = 0;
    for (let i = 0; i < runs; i++) {
      const query = `?run=${i}`;
      const before = (await edge.status()).chunks.source;
      cold.push(await sample(stage, side, { clients: 1, times: 1, query }));
      requests = (await edge.status()).chunks.source - before;
      cached.push(await sample(stage, side, { clients: 1, times: CACHED_TIMES, query }));
    }
    return {
      chunkBytes,
      coldGbPerS: median(cold.map((s) => s.throughput)),
      coldCpuPerGb: median(cold.map((s) => s.cpuPerGb)),
      cachedGbPerS: median(cached.map((s) => s.throughput)),
      cachedCpuPerGb: median(cached.map((s) => s.cpuPerGb)),
      originRequestsPerGb: (requests * 1e9) / stage.fileBytes,
    };
  } finally {
    await edge.stop();
  }
}

function costTable(costs: readonly Cost[]): Table {
  return {
    title: 'What chunks cost a real edge',
    columns: [
      'chunk',
      'cold GB/s',
      'cold CPU-s/GB',
      'cached GB/s',
      'cached CPU-s/GB',
      'origin requests per GB',
    ],
    rows: costs.map((c) => [
      size(c.chunkBytes),
      c.coldGbPerS,
      c.coldCpuPerGb,
      c.cachedGbPerS,
      c.cachedCpuPerGb,
      c.originRequestsPerGb,
    ]),
  };
}

function size(bytes: number): string {
  return bytes < MiB ? `${bytes / KiB} KiB` : `${bytes / MiB} MiB`;
}
