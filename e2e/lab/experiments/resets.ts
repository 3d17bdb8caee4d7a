/**
 * ANYCAST figure 5: two edges share an address, and the route to it is switched repeatedly during a
 * download. After each switch, the new edge resets every connection, which it does not know.
 * Measures the cost for Millrace, curl and aria2c, by interval, round trip and loss.
 */

import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentOf } from '../../fixtures/origins/content.ts';
import type { Experiment, ExperimentOptions } from '../experiment.ts';
import { Gate } from '../gate.ts';
import type { Host, Run } from '../host.ts';
import { Lab } from '../lab.ts';
import { type LabEdge, runAria2, runMillrace, startEdge, startNginx } from '../programs.ts';
import { digestOf, storedBytes } from '../received.ts';
import { type Findings, median, type Plot, rounded, type Table } from '../report.ts';

/** Rate of the line, and size of the file, as in ANYCAST 4.1. */
const MEGABITS = 10;
const FILE_BYTES = 50_000_000;
/** Seconds from switch to switch; 0: never. */
const INTERVALS = [0, 30, 10, 5, 2, 1];
/** Intervals measured at the same time: two processors carry eight downloads easily. */
const AT_ONCE = [
  [0, 1],
  [30, 2],
  [10, 5],
];
/** Longest run; at full speed a run takes 41 s. Slower runs count the bytes received by then. */
const MOST_SECONDS = 70;
const EDGE_PORT = 3125;

/** One download: its host, source and destination. */
interface Task {
  readonly host: Host;
  /** The edges' one address. */
  readonly edge: string;
  readonly origin: string;
  readonly dir: string;
  /** Gate at which all programs wait, already loaded, to begin together. */
  readonly gate: Gate;
}

interface Tool {
  readonly name: string;
  download(task: Task): Promise<Run>;
}

const prefixed = ({ edge, origin }: Task) => `${edge}/${origin}`;
const CURL = ['-sS', '--fail', '-C', '-', '-o', 'file'];
const CURL_RETRIES = ['--retry', '1000', '--retry-all-errors'];
const LOOP = 'until "$@"; do :; done';
const TIMEOUT_MS = MOST_SECONDS * 1000;

const TOOLS: readonly Tool[] = [
  {
    name: 'Millrace',
    download: ({ host, edge, origin, dir, gate }) =>
      runMillrace(host, ['get', '--quiet', '--edge', edge, '--edges-only', '-d', dir, origin], {
        timeoutMs: TIMEOUT_MS,
        gate,
      }),
  },
  {
    name: 'curl -C - in a loop',
    download: (task) => inFolder(task, 'sh', ['-c', LOOP, 'loop', 'curl', ...CURL, prefixed(task)]),
  },
  {
    name: 'curl --retry -C -',
    download: (task) => inFolder(task, 'curl', [...CURL, ...CURL_RETRIES, prefixed(task)]),
  },
  {
    name: 'aria2c -x 8',
    download: (task) =>
      runAria2(
        task.host,
        [
          '-d',
          task.dir,
          '-o',
          'file',
          '-x8',
          '-s8',
          '-k1M',
          '-m0',
          '--retry-wait=0',
          prefixed(task),
        ],
        { timeoutMs: TIMEOUT_MS, gate: task.gate },
      ),
  },
];

function inFolder(
  { host, dir, gate }: Task,
  command: string,
  args: readonly string[],
): Promise<Run> {
  return host.run(command, args, { timeoutMs: TIMEOUT_MS, cwd: dir, gate });
}

/** Result of one download. */
interface Sample {
  readonly rttMs: number;
  readonly loss: number;
  readonly interval: number;
  readonly tool: string;
  readonly megabits: number;
  /** True if the file is right; undefined if it was not complete in time. */
  readonly right: boolean | undefined;
  readonly code: number | null;
  readonly cpuSeconds: number;
}

/** Path between client and edges. */
interface Way {
  readonly rttMs: number;
  readonly loss: number;
}

/** The runs that the goals concern, in three minutes. */
export const resets: Experiment = {
  name: 'resets',
  title: 'Routes that change under downloads (ANYCAST figure 5)',
  runs: 1,
  needsLab: true,
  run: (options) => run([{ rttMs: 50, loss: 0 }], options),
};

/** Runs over other paths, in ten minutes. */
export const resetsGrid: Experiment = {
  ...resets,
  name: 'resets-grid',
  title: `${resets.title}: other round trips, and losses`,
  run: (options) =>
    run(
      [
        { rttMs: 10, loss: 0 },
        { rttMs: 100, loss: 0 },
        { rttMs: 50, loss: 0.01 },
      ],
      options,
    ),
};

async function run(
  ways: readonly Way[],
  { seed, runs, say }: ExperimentOptions,
): Promise<Findings> {
  const samples: Sample[] = [];
  const stage: Stage = { digest: '', lateMs: 0, by: '' };
  for (const way of ways) {
    for (let i = 0; i < runs; i++) {
      for (const intervals of AT_ONCE) {
        const when = intervals.map((seconds) => (seconds === 0 ? 'never' : `every ${seconds} s`));
        say(
          `round trip ${way.rttMs} ms, loss ${100 * way.loss}%, ${when.join(' and ')}, run ${i + 1} of ${runs}`,
        );
        samples.push(...(await batch(way, intervals, seed + i, stage)));
      }
    }
  }
  return {
    conditions: {
      file: `${FILE_BYTES / 1e6} MB, cached at both edges`,
      rate: `${MEGABITS} Mbit/s`,
      'delayed by': stage.by,
      'packets late by (mean)': `${stage.lateMs.toFixed(2)} ms`,
    },
    tables: ways.map((way) => table(way, samples)),
    plots: ways.map((way) => plot(way, samples)),
    notes: [
      'Mbit/s of file, and in brackets how many percent less than the same program undisturbed. Each download is on a host, a line and an address of its own, eight at the same time.',
      `A download that is not complete after ${MOST_SECONDS} s counts with what it has stored by then. curl --retry throws that away before it tries again.`,
      wrong(samples),
    ],
    raw: samples,
  };
}

function wrong(samples: readonly Sample[]): string {
  const complete = samples.filter((s) => s.right !== undefined);
  const bad = complete
    .filter((s) => s.right === false)
    .map((s) => `${s.tool}, every ${s.interval} s`);
  return `Of ${complete.length} downloads that were complete, ${bad.length} had wrong bytes${bad.length > 0 ? ` (${bad.join('; ')})` : ''}.`;
}

interface Stage {
  digest: string;
  lateMs: number;
  by: string;
}

/** Measures all programs at once, at each of some intervals. */
async function batch(
  { rttMs, loss }: Way,
  intervals: readonly number[],
  seed: number,
  stage: Stage,
): Promise<Sample[]> {
  await using lab = await Lab.open({ seed });
  stage.by = lab.delayedBy;
  const origin = lab.host('origin');
  const hosts = [lab.host('edge-1'), lab.host('edge-2')];
  const root = join(lab.folder, 'www');
  await mkdir(root);
  const content = contentOf('resets', FILE_BYTES);
  stage.digest = createHash('sha256').update(content).digest('hex');
  await writeFile(join(root, 'file'), content);
  const nginx = await startNginx(origin, { dir: join(lab.folder, 'nginx'), root });
  const url = `${nginx.url}/file`;
  const edges: LabEdge[] = [];
  for (const host of hosts) edges.push(await startEdge(host, ['--allow-origin', origin.address]));
  for (const edge of edges) {
    const warm = await origin.run('curl', ['-sSf', '-o', '/dev/null', edge.prefixed(url)]);
    if (warm.code !== 0) throw new Error(warm.stderr);
  }
  const gate = new Gate();
  const opened = Promise.withResolvers<void>();
  const samples = intervals
    .flatMap((interval) => TOOLS.map((tool) => ({ interval, tool })))
    .map(async ({ interval, tool }, i) => {
      const host = lab.host(`client-${i}`, { downMbit: MEGABITS, upMbit: MEGABITS, rttMs, loss });
      const address = `10.9.0.${i + 1}`;
      const dir = join(lab.folder, `client-${i}`);
      await mkdir(dir);
      const switching = new Switching(lab, address, hosts);
      const edge = `http://${address}:${EDGE_PORT}`;
      const running = tool.download({ host, edge, origin: url, dir, gate });
      await opened.promise;
      switching.begin(interval);
      const run = await running;
      switching.stop();
      const sample = await sampleOf(run, dir, stage.digest);
      await rm(dir, { recursive: true });
      return { rttMs, loss, interval, tool: tool.name, ...sample };
    });
  await gate.open();
  opened.resolve();
  const all = await Promise.all(samples);
  const stats = await lab.delayStats();
  stage.lateMs = Math.max(stage.lateMs, stats?.meanLateMs ?? 0);
  return all;
}

/** Routes an address to one edge after the other. */
class Switching {
  readonly #lab: Lab;
  readonly #address: string;
  readonly #hosts: readonly Host[];
  #timer: NodeJS.Timeout | undefined;

  constructor(lab: Lab, address: string, hosts: readonly Host[]) {
    this.#lab = lab;
    this.#address = address;
    this.#hosts = hosts;
    // Every edge gets the address before it is routed there.
    for (const host of [...hosts].reverse()) lab.route(address, host);
  }

  begin(seconds: number): void {
    if (seconds === 0) return;
    let at = 0;
    this.#timer = setInterval(() => {
      at = (at + 1) % this.#hosts.length;
      this.#lab.route(this.#address, this.#hosts[at] as Host);
    }, seconds * 1000);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

async function sampleOf(run: Run, dir: string, digest: string) {
  const complete = run.code === 0;
  const bytes = complete ? FILE_BYTES : await storedBytes(dir, FILE_BYTES);
  return {
    megabits: (bytes * 8) / 1e6 / run.seconds,
    right: complete ? (await digestOf(join(dir, 'file'))) === digest : undefined,
    code: run.code,
    cpuSeconds: run.cpuSeconds,
  };
}

function rate(samples: readonly Sample[], way: Way, tool: string, interval: number): number {
  const own = samples.filter(
    (s) =>
      s.rttMs === way.rttMs && s.loss === way.loss && s.tool === tool && s.interval === interval,
  );
  return median(own.map((s) => s.megabits));
}

function table(way: Way, samples: readonly Sample[]): Table {
  return {
    title: `Round trip ${way.rttMs} ms, loss ${100 * way.loss}%`,
    columns: ['Mbit/s', 'undisturbed', ...INTERVALS.slice(1).map((s) => `every ${s} s`)],
    rows: TOOLS.map(({ name }) => {
      const undisturbed = rate(samples, way, name, 0);
      const cells = INTERVALS.slice(1).map((interval) => {
        const disturbed = rate(samples, way, name, interval);
        return `${rounded(disturbed)} (${percentLess(disturbed, undisturbed)})`;
      });
      return [name, undisturbed, ...cells];
    }),
  };
}

function percentLess(disturbed: number, undisturbed: number): string {
  const percent = 100 * (disturbed / undisturbed - 1);
  return `${percent > 0 ? '+' : ''}${percent.toFixed(1)}%`;
}

function plot(way: Way, samples: readonly Sample[]): Plot {
  return {
    title: `Round trip ${way.rttMs} ms, loss ${100 * way.loss}%`,
    x: 'switches per minute',
    y: 'Mbit/s',
    series: TOOLS.map(({ name }) => ({
      name,
      points: INTERVALS.map(
        (s) => [s === 0 ? 0 : 60 / s, rate(samples, way, name, s)] as [number, number],
      ),
    })),
  };
}
