/**
 * ANYCAST figure 8: a route change brings a thousand clients to a server at once. If their
 * connections grew and backed off together, the line before them would be idle and congested in
 * turn, which the queue before the line shows.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contentOf } from '../../fixtures/origins/content.ts';
import { type Experiment, type ExperimentOptions, repeated } from '../experiment.ts';
import { Lab } from '../lab.ts';
import { startEdge, startNginx } from '../programs.ts';
import { type Findings, mean, median, type Plot, percentile } from '../report.ts';
import type { ResumingCrowdResult } from '../resuming-crowd.ts';

const CROWD = fileURLToPath(new URL('../resuming-crowd.ts', import.meta.url));
/** Number of clients, and size of the file, as in ANYCAST 4.3. */
const CLIENTS = 1000;
const FILE_BYTES = 5_200_000;
const MEGABITS = 50;
const RTT_MS = 20;
/** Longest queue: 600 packets, as in figure 8. */
const QUEUE_MS = 145;
const SECONDS = 40;
const SWITCH_AT_S = 15;
const SAMPLE_MS = 200;
/** Time for the clients to settle after the start or the switch. */
const SETTLED_S = 3;
const ADDRESS = '10.9.0.1';
/** Options that lift the limits per client: all clients have the same address. */
const EDGE = ['--client-transfers', '0', '--client-requests', '0', '--max-amplification', '0'];

interface Scenario {
  readonly name: string;
  readonly staggerMs: number;
  readonly switches: boolean;
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'one after the other, over 5 s', staggerMs: 5000, switches: false },
  { name: 'all at once', staggerMs: 0, switches: false },
  { name: `all led to another edge after ${SWITCH_AT_S} s`, staggerMs: 5000, switches: true },
];

interface Outcome {
  readonly scenario: string;
  /** Time in seconds, and kilobytes in the queue. */
  readonly queue: readonly [number, number][];
  /** Megabits per second between samples. */
  readonly rates: readonly [number, number][];
  readonly result: ResumingCrowdResult;
  readonly reaped: number;
}

export const arrivals: Experiment = {
  name: 'arrivals',
  title: 'A thousand clients arriving at once (ANYCAST figure 8)',
  runs: 1,
  needsLab: true,
  run,
};

async function run(options: ExperimentOptions): Promise<Findings> {
  const outcomes = await repeated(options, async (seed, say) => {
    const all: Outcome[] = [];
    for (const scenario of SCENARIOS) {
      say(scenario.name);
      all.push(await measure(scenario, seed));
    }
    return all;
  });
  return {
    conditions: {
      clients: CLIENTS,
      line: `${MEGABITS} Mbit/s, queue of ${QUEUE_MS} ms, round trip ${RTT_MS} ms`,
      file: `${FILE_BYTES / 1e6} MB, cached at two edges`,
      measured: `${SECONDS} s`,
    },
    tables: [
      {
        title: 'The line while a thousand clients download',
        columns: [
          '',
          'Mbit/s',
          'samples below 90% of the line',
          'queue kB: 10%',
          'median',
          '90%',
          'resets',
          'reaped',
          'fairness',
        ],
        rows: SCENARIOS.map(({ name, switches }) => {
          const own = outcomes.filter((o) => o.scenario === name);
          const figures = own.map((o) => figuresOf(o, switches));
          const middle = (of: keyof Figures) => median(figures.map((f) => f[of]));
          return [
            name,
            middle('megabits'),
            `${(100 * middle('idle')).toFixed(1)}%`,
            ...(['low', 'middle', 'high'] as const).map(middle),
            median(own.map((o) => o.result.resets)),
            median(own.map((o) => o.reaped)),
            middle('fairness'),
          ];
        }),
      },
    ],
    plots: [queuePlot(outcomes)],
    notes: [
      `Rates and queues are measured from ${SETTLED_S} s after the last client has begun, or after the switch. Bytes sent include headers and TCP's retransmissions. Reaped: connections whose clients the edge took for vanished, which is right only if their route had moved. Fairness is Jain's index of the clients' bytes: 1 if all have the same.`,
    ],
    raw: outcomes,
  };
}

async function measure(scenario: Scenario, seed: number): Promise<Outcome> {
  await using lab = await Lab.open({ seed });
  const origin = lab.host('origin');
  const hosts = [lab.host('edge-1'), lab.host('edge-2')] as const;
  const client = lab.host('clients', { downMbit: MEGABITS, rttMs: RTT_MS, queueMs: QUEUE_MS });
  const root = join(lab.folder, 'www');
  await mkdir(root);
  await writeFile(join(root, 'file'), contentOf('arrivals', FILE_BYTES));
  const nginx = await startNginx(origin, { dir: join(lab.folder, 'nginx'), root });
  const url = `${nginx.url}/file`;
  const edges = [];
  for (const host of hosts) {
    const edge = await startEdge(host, ['--allow-origin', origin.address, ...EDGE]);
    const warm = await origin.run('curl', ['-sSf', '-o', '/dev/null', edge.prefixed(url)]);
    if (warm.code !== 0) throw new Error(warm.stderr);
    edges.push(edge);
  }
  for (const host of [hosts[1], hosts[0]]) lab.route(ADDRESS, host);
  const target = `http://${ADDRESS}:3125/${url}`;
  const args = [CROWD, CLIENTS, target, FILE_BYTES, SECONDS, scenario.staggerMs].map(String);
  const running = client.run(process.execPath, args, { timeoutMs: (SECONDS + 60) * 1000 });
  const startedAt = performance.now();
  const switching = scenario.switches
    ? setTimeout(() => lab.route(ADDRESS, hosts[1]), SWITCH_AT_S * 1000)
    : undefined;
  const samples: { at: number; bytes: number; sentBytes: number }[] = [];
  for (let at = 0; at < SECONDS; ) {
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    at = (performance.now() - startedAt) / 1000;
    samples.push({ at, ...(await lab.queue(client)) });
  }
  const { stdout, stderr, code } = await running;
  clearTimeout(switching);
  if (code !== 0) throw new Error(stderr);
  let reaped = 0;
  for (const edge of edges) reaped += (await edge.status()).clients.purged;
  return {
    scenario: scenario.name,
    queue: samples.map(({ at, bytes }) => [at, bytes / 1000]),
    rates: samples.slice(1).map(({ at, sentBytes }, i) => {
      const before = samples[i] as { at: number; sentBytes: number };
      return [at, ((sentBytes - before.sentBytes) * 8) / 1e6 / (at - before.at)];
    }),
    result: JSON.parse(stdout) as ResumingCrowdResult,
    reaped,
  };
}

interface Figures {
  readonly megabits: number;
  /** Share of samples with less than 90% of the line in use. */
  readonly idle: number;
  readonly low: number;
  readonly middle: number;
  readonly high: number;
  readonly fairness: number;
}

function figuresOf({ queue, rates, result }: Outcome, switched: boolean): Figures {
  const from = SETTLED_S + (switched ? SWITCH_AT_S : 5);
  const settled = ([at]: readonly [number, number]) => at >= from;
  const value = ([, of]: readonly [number, number]) => of;
  const speeds = rates.filter(settled).map(value);
  const lengths = queue.filter(settled).map(value);
  const squares = result.each.reduce((sum, bytes) => sum + bytes ** 2, 0);
  return {
    megabits: mean(speeds),
    idle: speeds.filter((rate) => rate < 0.9 * MEGABITS).length / speeds.length,
    low: percentile(lengths, 0.1),
    middle: median(lengths),
    high: percentile(lengths, 0.9),
    fairness: result.bytes ** 2 / (result.each.length * squares),
  };
}

function queuePlot(outcomes: readonly Outcome[]): Plot {
  return {
    title: 'The queue before the line',
    x: 'seconds',
    y: 'kB',
    series: SCENARIOS.map(({ name }) => ({
      name,
      points: [...(outcomes.find((o) => o.scenario === name)?.queue ?? [])],
    })),
  };
}
