/**
 * Many clients, one thin origin and a few edges (NSDI 6.1 and 6.2, tables 1 and 2): today's tools
 * and Millrace, in order and out of order; clients synchronised, staggered and cached.
 */

import { cpus } from 'node:os';
import { seededRandom } from '@millrace/shared/base/clock';
import { bittorrent, hasAria2 } from '../crowd/bittorrent.ts';
import { type CrowdRun, CrowdStage, type System } from '../crowd/stage.ts';
import {
  direct,
  millraceGet,
  millraceInOrder,
  millraceParts,
  nginxSharded,
  nginxSlice,
} from '../crowd/systems.ts';
import { edgeKernel, edgeKernelImpossible } from '../edge-kernel.ts';
import type { Experiment, ExperimentOptions } from '../experiment.ts';
import { type Link, QUEUE_MS } from '../links.ts';
import { mean, median, type Plot, percentile, type Table } from '../report.ts';
import { type CrowdLinks, spread } from '../topologies.ts';

const CLIENTS = 16;
const EDGES = 4;
const FILE_BYTES = 10_000_000;
/** Time over which staggered clients begin: about the duration of one download. */
const STAGGER_MS = 5000;

type Start = 'synchronised' | 'staggered' | 'cached';

interface Side {
  readonly name: string;
  readonly set: (stage: CrowdStage) => Promise<System>;
  readonly starts: readonly Start[];
}

const ALL: readonly Start[] = ['synchronised', 'staggered', 'cached'];
const SIDES: readonly Side[] = [
  { name: 'direct, curl', set: direct, starts: ['synchronised'] },
  { name: 'BitTorrent, aria2', set: bittorrent, starts: ['synchronised', 'staggered'] },
  { name: 'nginx slice', set: nginxSlice, starts: ['synchronised'] },
  { name: 'nginx slice, sharded', set: nginxSharded, starts: ['synchronised'] },
  { name: 'Millrace in order (curl)', set: millraceInOrder, starts: ALL },
  { name: 'Millrace out of order (one answer)', set: millraceParts, starts: ALL },
  { name: 'Millrace out of order (millrace get)', set: millraceGet, starts: ALL },
];

interface Setting {
  readonly name: string;
  readonly links: (seed: number) => CrowdLinks;
  /** Sides to measure, by the beginnings of their names. */
  readonly sides: readonly string[];
  /** True if all edges, including nginx's, have the kernel settings that we ship. */
  readonly tuned: boolean;
}

const times = (count: number, link: (i: number) => Link) =>
  Array.from({ length: count }, (_, i) => link(i));

/**
 * Milliseconds of a round trip on the line of an edge or the origin. In `even`, the other round
 * trips are from client to edge.
 */
const NEAR_MS = 2;
const ORIGIN: Link = { upMbit: 20, downMbit: 20, rttMs: NEAR_MS };
const CLIENT: Link = { upMbit: 20, downMbit: 20 };

function even(seed: number): CrowdLinks {
  const rtts = spread(10, 80, CLIENTS, seed);
  return {
    origin: ORIGIN,
    edges: times(EDGES, () => ({ upMbit: 100, downMbit: 100, rttMs: NEAR_MS })),
    clients: times(CLIENTS, (i) => ({ ...CLIENT, rttMs: (rtts[i] as number) - NEAR_MS })),
  };
}

function differing(seed: number): CrowdLinks {
  const rtts = spread(10, 80, CLIENTS, seed);
  const losses = spread(0, 0.01, CLIENTS, seed + 1);
  return {
    origin: ORIGIN,
    edges: [2, 10, 20, 40].map((rttMs, i) => ({
      upMbit: [100, 100, 50, 30][i] as number,
      downMbit: [100, 100, 50, 30][i] as number,
      rttMs,
      loss: [0, 0.001, 0.003, 0.01][i] as number,
    })),
    clients: times(CLIENTS, (i) => ({
      ...CLIENT,
      rttMs: rtts[i] as number,
      loss: losses[i] as number,
    })),
  };
}

const [EVEN, DIFFERING] = ['even', 'differing links with losses'];
const SETTINGS: readonly Setting[] = [
  { name: EVEN, sides: [''], links: even, tuned: false },
  { name: DIFFERING, sides: ['Millrace'], links: differing, tuned: false },
  { name: `tuned edges, ${EVEN}`, sides: ['nginx', 'Millrace'], links: even, tuned: true },
  { name: `tuned edges, ${DIFFERING}`, sides: ['Millrace'], links: differing, tuned: true },
];

interface Measured {
  readonly setting: string;
  readonly side: string;
  readonly start: Start;
  readonly run: number;
  readonly result: CrowdRun;
}

export const crowd: Experiment = {
  name: 'crowd',
  title: 'A crowd at once: curl, BitTorrent, nginx slice and Millrace (NSDI 6.1, 6.2)',
  runs: 3,
  parts: [...SETTINGS, ...SIDES].map(({ name }) => name),
  needsLab: true,
  async run(options) {
    const { runs, slow } = options;
    const measured: Measured[] = [];
    for (let run = 0; run < runs; run++) {
      for (const setting of SETTINGS) {
        for (const side of SIDES) {
          if (!isWanted(setting, side, options)) continue;
          measured.push(...(await measure(setting, side, run, options)));
        }
      }
    }
    return {
      conditions: {
        clients: `${CLIENTS}, 20 Mbit/s, RTT 10 to 80 ms`,
        edges: `${EDGES}, 100 Mbit/s`,
        origin: '20 Mbit/s',
        'file bytes': FILE_BYTES,
        'kernels of tuned edges':
          '60-millrace.conf (BBR); all other kernels have the defaults of Linux (cubic)',
        processors: cpus().length,
        ...(slow === 1 ? {} : { 'slow motion': `${slow} times` }),
      },
      tables: SETTINGS.flatMap(({ name }) => tableOf(name, measured)),
      plots: SETTINGS.flatMap(({ name }) => plotOf(name, measured)),
      notes: slow === 1 ? NOTES : [...NOTES, SLOW_NOTE],
      raw: measured,
    };
  },
};

const NOTES = [
  'Throughput is per client, from the signal to begin until its program ended (for BitTorrent: until aria2 reported ' +
    'the whole file). All programs had been started before: otherwise the run would measure sixteen starts of Node.js on one machine. ' +
    'Every file was compared with the original by its digest.',
  'Origin, bodies: bytes of bodies that it sent, divided by the size of the file; on the wire: with headers and retransmissions.',
];

const SLOW_NOTE =
  'Measured in slow motion: rates were lower and round trips longer by that factor; the figures are scaled back to full ' +
  'speed. The programs’ own timeouts were not longer, so they count for less.';

function slowed(links: CrowdLinks, slow: number): CrowdLinks {
  const one = (link: Link): Link => ({
    ...link,
    ...(link.downMbit === undefined ? {} : { downMbit: link.downMbit / slow }),
    ...(link.upMbit === undefined ? {} : { upMbit: link.upMbit / slow }),
    ...(link.rttMs === undefined ? {} : { rttMs: link.rttMs * slow }),
    queueMs: QUEUE_MS * slow,
  });
  return {
    origin: one(links.origin),
    edges: links.edges.map(one),
    clients: links.clients.map(one),
  };
}

/** Scales times to full speed. */
function atFullSpeed(result: CrowdRun, slow: number): CrowdRun {
  const outcomes = result.outcomes.map((one) => ({
    ...one,
    seconds: one.seconds / slow,
    afterMs: one.afterMs / slow,
  }));
  return { ...result, outcomes };
}

/** True if a side is wanted in a setting. Parts may name settings, sides, or both. */
function isWanted(setting: Setting, side: Side, { only = [] }: ExperimentOptions): boolean {
  if (!setting.sides.some((prefix) => side.name.startsWith(prefix))) return false;
  return isNamed(setting.name, only, SETTINGS) && isNamed(side.name, only, SIDES);
}

/** True if a part names the item, or if no part names an item of its kind. */
function isNamed(name: string, parts: readonly string[], kind: readonly { name: string }[]) {
  const own = parts.filter((part) => kind.some((other) => other.name.startsWith(part)));
  return own.length === 0 || own.some((part) => name.startsWith(part));
}

/** Measures one side in one setting with each start, with fresh caches except for `cached`. */
async function measure(
  setting: Setting,
  side: Side,
  run: number,
  { seed, slow, say }: ExperimentOptions,
): Promise<Measured[]> {
  if (side.set === bittorrent && !hasAria2()) {
    say('NOT MEASURED: aria2c is not installed (Debian: aria2)');
    return [];
  }
  const untunable = setting.tuned ? await edgeKernelImpossible() : undefined;
  if (untunable !== undefined) {
    say(`NOT MEASURED, ${setting.name}, ${side.name}: ${untunable}`);
    return [];
  }
  const measured: Measured[] = [];
  const once = async (stage: CrowdStage, system: System, start: Start) => {
    const random = seededRandom(seed + run);
    const measuredRun = await stage.run(system, () =>
      start === 'staggered' ? Math.floor(random() * STAGGER_MS * slow) : 0,
    );
    const result = atFullSpeed(measuredRun, slow);
    measured.push({ setting: setting.name, side: side.name, start, run, result });
    const { perClient, seconds, failures } = figures([result]);
    say(
      `${setting.name}, ${side.name}, ${start}, run ${run + 1}: ${mean(perClient).toFixed(1)} Mbit/s, ` +
        `${seconds.toFixed(1)} s, ${failures} failures, ${result.originCopies?.toFixed(2) ?? '?'} copies in bodies, ${result.wireCopies.toFixed(2)} on the wire, ` +
        `processors ${Math.round(result.busy * 100)}% busy, ${result.lateMs?.toFixed(2)} ms late`,
    );
  };
  for (const start of side.starts) {
    if (start === 'cached') continue;
    await using stage = await CrowdStage.open(
      slowed(setting.links(seed), slow),
      FILE_BYTES,
      seed + run,
    );
    if (setting.tuned) {
      const settings = await edgeKernel();
      for (const edge of stage.crowd.edges) stage.lab.tune(edge, settings);
    }
    const system = await side.set(stage);
    await once(stage, system, start);
    // The caches contain the files of the synchronised clients now.
    if (start === 'synchronised' && side.starts.includes('cached'))
      await once(stage, system, 'cached');
  }
  return measured;
}

/** Combines several runs: the rates of all clients, and the medians of each run's other figures. */
function figures(results: readonly CrowdRun[]) {
  const done = results.flatMap(({ outcomes, bytes }) =>
    outcomes
      .filter(({ failure }) => failure === undefined)
      .map(({ seconds }) => (bytes * 8) / 1e6 / seconds),
  );
  const last = ({ outcomes }: CrowdRun) =>
    Math.max(...outcomes.map(({ seconds, afterMs }) => seconds + afterMs / 1000));
  const bodies = results.flatMap(({ originCopies }) => originCopies ?? []);
  return {
    perClient: done,
    mean: median(results.map((result) => meanOf(result))),
    seconds: median(results.map(last)),
    failures: results.reduce(
      (sum, { outcomes }) => sum + outcomes.filter((o) => o.failure !== undefined).length,
      0,
    ),
    copies: bodies.length > 0 ? median(bodies) : undefined,
    wire: median(results.map(({ wireCopies }) => wireCopies)),
    busy: median(results.map(({ busy }) => busy)),
  };
}

function meanOf({ outcomes, bytes }: CrowdRun): number {
  const good = outcomes.filter(({ failure }) => failure === undefined);
  return mean(good.map(({ seconds }) => (bytes * 8) / 1e6 / seconds));
}

function groups(setting: string, measured: readonly Measured[]) {
  return SIDES.flatMap(({ name, starts }) =>
    starts.flatMap((start) => {
      const results = measured
        .filter((one) => one.setting === setting && one.side === name && one.start === start)
        .map(({ result }) => result);
      return results.length > 0 ? [{ name, start, results }] : [];
    }),
  );
}

function tableOf(setting: string, measured: readonly Measured[]): Table[] {
  const rows = groups(setting, measured).map(({ name, start, results }) => {
    const { perClient, mean: average, seconds, failures, copies, wire, busy } = figures(results);
    const slow = percentile(perClient, 0.1);
    return [
      ...[name, start, average, percentile(perClient, 0.5), percentile(perClient, 0.9), slow],
      ...[seconds, failures, copies, wire, `${Math.round(busy * 100)}%`],
    ];
  });
  if (rows.length === 0) return [];
  return [
    {
      title: `Setting: ${setting}`,
      columns: [
        ...['', 'start', 'Mbit/s mean', 'median', '90%', '10%', 's until all are done', 'failures'],
        ...['origin, bodies', 'origin, on the wire', 'processors busy'],
      ],
      rows,
    },
  ];
}

function plotOf(setting: string, measured: readonly Measured[]): Plot[] {
  const series = groups(setting, measured)
    .filter(({ start }) => start === 'synchronised')
    .map(({ name, results }) => ({
      name,
      points: figures(results).perClient.map((mbit): [number, number] => [mbit, 0]),
    }));
  if (series.length === 0) return [];
  const title = `Throughput of ${CLIENTS} clients at once: ${setting}`;
  return [{ title, x: 'Mbit/s', y: 'share', kind: 'cdf', series }];
}
