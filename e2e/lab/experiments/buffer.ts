/**
 * WORLDS figure 2 and table 3: bandwidth as a function of the buffer (chunk size times chunks at a
 * time), and the gain if the slowest chunks took the median time. Virtual time: the project's agent
 * over simulated nodes.
 */

import { BUFFER_BYTES_PER_CLIENT, DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { CongestionWindow, firstWindow } from '@millrace/shared/cdn/delivery/window';
import type { Experiment, ExperimentOptions } from '../experiment.ts';
import { type Findings, median, type Table } from '../report.ts';
import { FILE_BYTES, type Response, respond, TAILS } from '../virtual/response.ts';
import { NETWORKS } from '../virtual/virtual-networks.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const CHUNK_SIZES = [30 * KiB, 60 * KiB, 128 * KiB, 256 * KiB, 512 * KiB, MiB, 2 * MiB, 4 * MiB];
const PARALLEL = [2, 5, 10, 20, 40];
/** Largest buffer per client that is realistic. */
const MOST_BUFFER = 40 * MiB;

type NetworkName = keyof typeof NETWORKS;

interface Cell {
  readonly network: NetworkName;
  readonly chunkBytes: number;
  /** Chunks at a time; undefined: the window's own choice. */
  readonly parallel: number | undefined;
  readonly buffer: number;
  readonly runs: readonly Response[];
}

export const buffer: Experiment = {
  name: 'buffer',
  title: 'Bandwidth over buffer, and the tail of chunk times (WORLDS figure 2, table 3)',
  runs: 7,
  needsLab: false,
  run,
};

async function run({ seed, say, runs }: ExperimentOptions): Promise<Findings> {
  const cells: Cell[] = [];
  for (const network of Object.keys(NETWORKS) as NetworkName[]) {
    for (const chunkBytes of CHUNK_SIZES) {
      say(`network of ${network}, chunks of ${size(chunkBytes)}`);
      for (const parallel of [...PARALLEL, undefined]) {
        const most = parallel ?? Math.floor(BUFFER_BYTES_PER_CLIENT / chunkBytes);
        if (most * chunkBytes > MOST_BUFFER) continue;
        const all = Array.from({ length: runs }, (_, run) => {
          const window = new CongestionWindow({
            max: most,
            initial: parallel === undefined ? firstWindow(chunkBytes) : most,
          });
          return respond({ network: NETWORKS[network], chunkBytes, window, seed: seed + run });
        });
        cells.push({ network, chunkBytes, parallel, buffer: most * chunkBytes, runs: all });
      }
    }
  }
  const names = Object.keys(NETWORKS) as NetworkName[];
  return {
    conditions: {
      file: size(FILE_BYTES),
      time: 'virtual',
      nodes:
        '60, all chunks cached, links that wander; slowdowns to 1/10 to 1/20 for 5% of the time',
      '2004': 'nodes of 4 Mbit/s (2 to 8), client 20 Mbit/s',
      today: 'nodes of 60 Mbit/s (30 to 120), client 200 Mbit/s',
    },
    tables: [...names.map((n) => grid(n, cells)), tailTable(cells)],
    plots: names.map((network) => ({
      title: `Network of ${network}`,
      x: 'buffer in MiB (chunk size x chunks at a time)',
      y: 'Mbit/s',
      series: CHUNK_SIZES.map((chunkBytes) => ({
        name: size(chunkBytes),
        points: cells
          .filter((c) => c.network === network && c.chunkBytes === chunkBytes)
          .filter((c) => c.parallel !== undefined)
          .map((c) => [c.buffer / MiB, median(c.runs.map((r) => r.megabits))] as [number, number]),
      })),
    })),
    notes: [
      'Millrace window: the window that the edge has, which begins at four chunks, or two where those would be more than 1 MiB, and grows to 16 MiB at most. Other columns: that number of chunks at a time, reduced by one whenever the first attempt at a chunk is given up.',
      'Without tail: the same chunk times, but the slowest 1%, 2% or 5% replaced by the median, and the chunks that waited for them moved forward.',
    ],
    raw: cells,
  };
}

function grid(network: NetworkName, cells: readonly Cell[]): Table {
  const own = cells.filter((c) => c.network === network);
  return {
    title: `Network of ${network}: Mbit/s by chunk size and chunks at a time`,
    columns: [
      'chunk',
      ...PARALLEL.map((p) => `${p}`),
      'Millrace window',
      'first chunk ms',
      'MiB held at most',
      'requests per chunk',
    ],
    rows: CHUNK_SIZES.map((chunkBytes) => {
      const row = own.filter((c) => c.chunkBytes === chunkBytes);
      const ours = row.find((c) => c.parallel === undefined) as Cell;
      const cell = (parallel: number | undefined) => {
        const found = row.find((c) => c.parallel === parallel);
        return found === undefined ? '' : median(found.runs.map((r) => r.megabits));
      };
      return [
        size(chunkBytes),
        ...PARALLEL.map(cell),
        cell(undefined),
        median(ours.runs.map((r) => r.firstMs)),
        median(ours.runs.map((r) => r.heldBytes / MiB)),
        median(ours.runs.map((r) => r.requests)),
      ];
    }),
  };
}

function tailTable(cells: readonly Cell[]): Table {
  const shown = cells.filter(
    (c) =>
      (c.parallel === 10 && c.chunkBytes === 60 * KiB) ||
      (c.parallel === undefined && c.chunkBytes === DEFAULT_CHUNK_BYTES),
  );
  return {
    title: 'Gain from a shorter tail of chunk times (WORLDS table 3): Mbit/s',
    columns: ['', 'base', 'without 1%', 'without 2%', 'without 5%', '99th percentile over median'],
    rows: shown.map((c) => [
      c.parallel === undefined
        ? `${c.network}: Millrace, ${size(c.chunkBytes)}`
        : `${c.network}: ${c.parallel} x ${size(c.chunkBytes)}`,
      ...TAILS.map((_, i) => median(c.runs.map((r) => r.withoutTail[i] as number))),
      median(c.runs.map((r) => r.tail)),
    ]),
  };
}

function size(bytes: number): string {
  return bytes < MiB ? `${bytes / KiB} KiB` : `${bytes / MiB} MiB`;
}
