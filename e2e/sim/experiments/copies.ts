/** Copies of the file that the origin sends, by differences between views and by re-forwarding. */

import type { Bar, BarChart } from '../../charts/chart.ts';
import { CROWD_COLUMNS, crowd, crowdRow } from '../crowd.ts';
import type { Settings } from '../main.ts';
import { blindWorld, type NetworkOptions } from '../network.ts';
import { percent, type Report, type Table } from '../report.ts';
import type { Choice } from '../views.ts';
import { type Walked, walk } from '../walk.ts';

/** Share of the other nodes that a node cannot reach, at random (NSDI 5.3 has 1 or 2 of 60). */
const BLIND = [0, 0.02, 0.05, 0.1, 0.2];
const REACHES = [
  { name: 'no re-forwarding', maxHops: 1 },
  { name: 'one extra hop', maxHops: 2 },
  { name: 'unlimited', maxHops: 16 },
];

/** Variants for the timed runs: only the behaviour of edges and of the papers. */
const TIMED = [
  { name: 'one extra hop, then the best of all', maxHops: 2, farHop: true },
  { name: 'one extra hop', maxHops: 2, farHop: false },
];

/** Number of chunks that suffices without time. */
const WALKED_CHUNKS = 12;

export async function copies({ seed, nodes = 400, chunks = 96 }: Settings): Promise<Report> {
  const walked = { seed, nodes, chunks: Math.min(chunks, WALKED_CHUNKS) };
  const notes = [
    'Paper: 7.0 to 9.0 copies, 4 to 11 by chunk (NSDI table 2, 6.2); 3-15% of chunks take an extra hop, under 1% more than one (5.3).',
    'In the first three tables all nodes ask at the same moment and nothing is stored, the worst case for nodes with different views. "Blind": share of the others that a node cannot reach.',
  ];
  const views = [
    byView(
      { ...walked, farHop: false },
      'near',
      'Peers as the papers choose them',
      'peers as the papers choose them',
    ),
    byView(
      { seed, nodes, chunks },
      'near',
      'The same, and the best node of a region asks the best of all',
      'the best node of a region asks the best of all',
    ),
    byView(walked, 'all', 'Every node that can be reached is a peer', 'every node is a peer'),
  ];
  return {
    title: `Origin copies with ${nodes} nodes`,
    tables: [...views.map(({ table }) => table), await inTime({ seed, nodes, chunks })],
    charts: views.map(({ chart }) => chart),
    notes,
  };
}

interface View {
  readonly table: Table;
  readonly chart: BarChart;
}

/** Walks all kinds of re-forwarding. @param title what the picture says of these views */
function byView(options: NetworkOptions, choice: Choice, caption: string, title: string): View {
  const rows: (string | number)[][] = [];
  const groups: { name: string; bars: Bar[] }[] = [];
  for (const blind of BLIND) {
    const world = blindWorld(options, choice, blind);
    const bars: Bar[] = [];
    for (const { name, maxHops } of REACHES) {
      world.o = { ...world.o, maxHops };
      const walked = walk(world);
      rows.push([percent(blind), name, ...walkedRow(walked)]);
      bars.push({ value: walked.copies, low: walked.fewest, high: walked.most });
    }
    groups.push({ name: `${Math.round(100 * blind)}% blind`, bars });
  }
  const chart: BarChart = {
    title: `Copies that the origin sends: ${title}`,
    unit: `copies of a chunk that the origin sends to ${options.nodes} nodes, each blind to a share of the others (simulated)`,
    better: 'less',
    range: 'fewest and most of any chunk',
    series: REACHES.map(({ name }) => name),
    groups,
  };
  return {
    table: { caption, columns: ['blind', 're-forwarding', ...WALKED_COLUMNS], rows },
    chart,
  };
}

const WALKED_COLUMNS = ['copies', 'fewest', 'most', '0 or 1 hop', '2 hops', '3 hops', 'more'];

function walkedRow({ copies: count, fewest, most, hops }: Walked): (string | number)[] {
  const [none = 0, one = 0, two = 0, three = 0, ...more] = hops;
  const rest = more.reduce((sum, share) => sum + share, 0);
  return [count, fewest, most, ...[none + one, two, three, rest].map(percent)];
}

/** Measures with clocks, caches and links. */
async function inTime(options: NetworkOptions): Promise<Table> {
  const rows: (string | number)[][] = [];
  for (const { name, maxHops, farHop } of TIMED) {
    const world = blindWorld({ ...options, farHop, maxHops }, 'near', 0.02);
    const clients = await crowd(world);
    rows.push([name, ...crowdRow(world, clients)]);
  }
  const caption = 'In time: all start at once, nothing is stored before; 2% blind';
  return { caption, columns: ['re-forwarding', ...CROWD_COLUMNS], rows };
}
