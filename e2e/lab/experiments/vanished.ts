/**
 * ANYCAST 3.1.2, 4.2 and table 1: how long a server keeps the resources of vanished clients, and
 * how many present clients it takes for vanished when packets are lost.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CrowdResult } from '../../fixtures/clients/crowd-client.ts';
import { contentOf } from '../../fixtures/origins/content.ts';
import type { Experiment, ExperimentOptions } from '../experiment.ts';
import type { Host } from '../host.ts';
import { Lab } from '../lab.ts';
import { type LabEdge, startEdge, startNginx } from '../programs.ts';
import { type Findings, median } from '../report.ts';

const CROWD = fileURLToPath(new URL('../../fixtures/clients/crowd-client.ts', import.meta.url));
/** File long enough that the line is cut during the download; half of ANYCAST 4.2's. */
const LONG_BYTES = 200_000_000;
const SHORT_BYTES = 1_000_000;
const VANISHING = 50;
const VANISHING_MEGABITS = 50;
const VANISHING_RTT_MS = 50;
/** Time of watching vanished clients. */
const WATCH_S = 30;
const LOOK_EVERY_MS = 50;
/** Time until the line is cut: all clients must be downloading by then. */
const SERVED_AFTER_MS = 3000;

const LOSSES = [0, 0.01, 0.02, 0.05];
const RTTS_MS = [20, 100];
const CONNECTIONS = 100;
const MEGABITS = 100;
const UNLIMITED = ['--client-transfers', '0', '--client-requests', '0'];

interface Vanished {
  readonly server: string;
  /** Connections that were open when the line was cut. */
  readonly open: number;
  /** Seconds until half and all of them were gone; undefined: not within `WATCH_S`. */
  readonly half: number | undefined;
  readonly all: number | undefined;
  readonly leftOver: number;
}

interface Spurious {
  readonly loss: number;
  readonly rttMs: number;
  readonly connections: number;
  readonly reaped: number;
  readonly complete: number;
}

export const vanished: Experiment = {
  name: 'vanished',
  title: 'Clients that vanish, and clients that only seem to (ANYCAST table 1)',
  runs: 1,
  needsLab: true,
  run,
};

async function run({ seed, runs, say }: ExperimentOptions): Promise<Findings> {
  const gone: Vanished[] = [];
  const spurious: Spurious[] = [];
  for (let i = 0; i < runs; i++) {
    say(`clients that vanish, run ${i + 1} of ${runs}`);
    gone.push(...(await vanishing(seed + i)));
    for (const rttMs of RTTS_MS) {
      say(`losses at a round trip of ${rttMs} ms, run ${i + 1} of ${runs}`);
      spurious.push(...(await losing(rttMs, seed + i)));
    }
  }
  const servers = [...new Set(gone.map(({ server }) => server))];
  return {
    conditions: {
      vanishing: `${VANISHING} clients on ${VANISHING_MEGABITS} Mbit/s, round trip ${VANISHING_RTT_MS} ms; their line is cut for good`,
      losing: `${CONNECTIONS} connections at once, ${SHORT_BYTES / 1e6} MB each, on ${MEGABITS} Mbit/s, losses in both directions`,
    },
    tables: [
      {
        title: 'Connections of clients that have vanished',
        columns: [
          'server',
          'open when cut',
          's until half are gone',
          's until all are gone',
          `left after ${WATCH_S} s`,
        ],
        rows: servers.map((server) => {
          const own = gone.filter((g) => g.server === server);
          const middle = (of: (g: Vanished) => number | undefined) => {
            const values = own.map(of);
            return values.includes(undefined) ? undefined : median(values as number[]);
          };
          return [
            server,
            ...[
              (g: Vanished) => g.open,
              (g: Vanished) => g.half,
              (g: Vanished) => g.all,
              (g: Vanished) => g.leftOver,
            ].map(middle),
          ];
        }),
      },
      {
        title: 'Connections of clients that were there, and were taken for vanished',
        columns: ['loss', 'round trip ms', 'connections', 'complete', 'reaped', 'share'],
        rows: RTTS_MS.flatMap((rttMs) =>
          LOSSES.map((loss) => {
            const own = spurious.filter((s) => s.rttMs === rttMs && s.loss === loss);
            const sum = (of: (s: Spurious) => number) => own.reduce((all, s) => all + of(s), 0);
            const [connections, reaped] = [sum((s) => s.connections), sum((s) => s.reaped)];
            const share = `${((100 * reaped) / connections).toFixed(2)}%`;
            return [`${100 * loss}%`, rttMs, connections, sum((s) => s.complete), reaped, share];
          }),
        ),
      },
    ],
    plots: [],
    notes: [
      'The paper has 0.16% more dropped connections with one retry than with a stock kernel, over the Internet of 2008 (table 1). A client that is wrongly taken for vanished needs one more request.',
    ],
    raw: { gone, spurious },
  };
}

async function stage(
  lab: Lab,
  bytes: number,
): Promise<{ origin: Host; url: string; root: string }> {
  const origin = lab.host('origin');
  const root = join(lab.folder, 'www');
  await mkdir(root);
  await writeFile(join(root, 'file'), contentOf('vanished', bytes));
  const nginx = await startNginx(origin, { dir: join(lab.folder, 'nginx'), root });
  return { origin, url: `${nginx.url}/file`, root };
}

async function edgeAt(host: Host, origin: Host, url: string): Promise<LabEdge> {
  const edge = await startEdge(host, ['--allow-origin', origin.address, ...UNLIMITED]);
  const warm = await origin.run('curl', ['-sSf', '-o', '/dev/null', edge.prefixed(url)]);
  if (warm.code !== 0) throw new Error(warm.stderr);
  return edge;
}

/** Measures an edge and an nginx, each with clients whose line is cut. */
async function vanishing(seed: number): Promise<Vanished[]> {
  await using lab = await Lab.open({ seed });
  const { origin, url, root } = await stage(lab, LONG_BYTES);
  const edge = await edgeAt(lab.host('edge'), origin, url);
  const other = lab.host('nginx');
  const nginx = await startNginx(other, { dir: join(lab.folder, 'nginx-other'), root });
  const edgeHost = lab.hosts.find(({ name }) => name === 'edge') as Host;
  const watched = [
    { server: 'Millrace edge', host: edgeHost, target: edge.prefixed(url), port: 3125 },
    { server: 'nginx', host: other, target: `${nginx.url}/file`, port: 80 },
  ];
  return await Promise.all(
    watched.map(async ({ server, host, target, port }) => {
      const link = { downMbit: VANISHING_MEGABITS, rttMs: VANISHING_RTT_MS };
      const clients = lab.host(`clients of ${server}`, link);
      clients.spawn(process.execPath, [CROWD, String(VANISHING), target], { stdio: 'ignore' });
      await new Promise((resolve) => setTimeout(resolve, SERVED_AFTER_MS));
      const open = await connections(host, port, clients);
      lab.change(clients, { loss: 1 });
      return { server, open, ...(await watch(open, () => connections(host, port, clients))) };
    }),
  );
}

async function connections(host: Host, port: number, peer: Host): Promise<number> {
  const filter = ['sport', '=', `:${port}`, 'and', 'dst', peer.address];
  // Leaves out connections that only wait for the client's last packet: they hold no resources.
  const states = ['state', 'established', 'state', 'close-wait'];
  const { stdout } = await host.run('ss', ['-Htn', ...states, ...filter]);
  return stdout.split('\n').filter((line) => line !== '').length;
}

async function watch(open: number, left: () => Promise<number>) {
  const cutAt = performance.now();
  const seconds = () => (performance.now() - cutAt) / 1000;
  let half: number | undefined;
  let leftOver = open;
  while (seconds() < WATCH_S) {
    leftOver = await left();
    if (leftOver <= open / 2) half ??= seconds();
    if (leftOver === 0) return { half, all: seconds(), leftOver };
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return { half, all: undefined, leftOver };
}

/** Measures an edge for each loss rate, all at the same time. */
async function losing(rttMs: number, seed: number): Promise<Spurious[]> {
  await using lab = await Lab.open({ seed });
  const { origin, url } = await stage(lab, SHORT_BYTES);
  return await Promise.all(
    LOSSES.map(async (loss, i) => {
      const edge = await edgeAt(lab.host(`edge-${i + 1}`), origin, url);
      const client = lab.host(`clients-${i + 1}`, { downMbit: MEGABITS, rttMs, loss });
      const args = [CROWD, String(CONNECTIONS), edge.prefixed(url)];
      const { stdout, stderr } = await client.run(process.execPath, args);
      if (stdout === '') throw new Error(stderr);
      const { outcomes } = JSON.parse(stdout) as CrowdResult;
      const complete = Object.entries(outcomes)
        .filter(([outcome]) => outcome.startsWith('200 '))
        .reduce((sum, [, count]) => sum + count, 0);
      // All connections have ended, so the counter is final.
      const { clients } = await edge.status();
      return { loss, rttMs, connections: CONNECTIONS, reaped: clients.purged, complete };
    }),
  );
}
