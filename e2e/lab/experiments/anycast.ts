/**
 * ANYCAST 2.2 and 3.3: an edge that leaves an anycast address, by real routing daemons. How long
 * until new connections reach another edge, how many of them fail, and what becomes of a download.
 */

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentOf } from '../../fixtures/origins/content.ts';
import { type AnycastHost, type AnycastRoutes, birdImpossible, startBirds } from '../bird.ts';
import { type Experiment, type ExperimentOptions, repeated } from '../experiment.ts';
import type { Host } from '../host.ts';
import { Lab } from '../lab.ts';
import { type LabEdge, runMillrace, startEdge, startNginx } from '../programs.ts';
import { digestOf } from '../received.ts';
import { type Findings, median } from '../report.ts';
import { ANYCAST_ADDRESS } from '../topologies.ts';

const FILE_BYTES = 60_000_000;
const MEGABITS = 50;
/** Pause between two looks at the route. */
const LOOK_EVERY_MS = 10;
const TOKEN = 'token of the laboratory';
const LEAVE_MS = 2000;
/** Time that downloads have before the edge leaves. */
const SERVED_MS = 3000;

/** A way in which an edge ends. */
interface Way {
  readonly name: string;
  readonly end: (edge: LabEdge, at: AnycastHost) => Promise<unknown>;
}

const WAYS: readonly Way[] = [
  {
    name: 'drained',
    end: (_, { host }) => {
      const field = `Authorization: Bearer ${TOKEN}`;
      const url = `http://${host.address}:3125/-/drain`;
      return host.run('curl', ['-sf', '-X', 'POST', '-H', field, url]);
    },
  },
  { name: 'SIGTERM', end: async ({ child }) => child.kill('SIGTERM') },
  {
    name: 'killed, cleaned up by its unit',
    async end(edge, { host, cleanUp }) {
      await edge.stop('SIGKILL');
      await host.run('sh', ['-c', cleanUp]);
    },
  },
];

interface Left {
  readonly way: string;
  /** Seconds until the router sent new connections elsewhere. */
  readonly movedS: number;
  /** New connections during the download, and those without an answer. */
  readonly tried: number;
  readonly failed: number;
  readonly offloaded: number | undefined;
  readonly downloadS: number;
  readonly right: boolean;
}

export const anycast: Experiment = {
  name: 'anycast',
  title: 'An edge that leaves an anycast address (ANYCAST 2.2, 3.3)',
  runs: 3,
  needsLab: true,
  run,
};

async function run(options: ExperimentOptions): Promise<Findings> {
  const reason = birdImpossible();
  if (reason !== undefined) throw new Error(reason);
  const all = await repeated(options, async (seed, say) => {
    const samples: Left[] = [];
    for (const way of WAYS) {
      say(way.name);
      samples.push(await measure(way, seed));
    }
    return samples;
  });
  return {
    conditions: {
      edges: 'two, each with BIRD 2 and BGP to the router, which prefers the first',
      download: `millrace get, ${FILE_BYTES / 1e6} MB at ${MEGABITS} Mbit/s; the first edge leaves in the middle`,
      '--leave-time': `${LEAVE_MS / 1000} s`,
    },
    tables: [
      {
        title: 'Ways to leave',
        columns: [
          'way',
          's until moved',
          'new connections',
          'failed',
          'resets',
          'download s',
          'right',
        ],
        rows: WAYS.map(({ name }) => {
          const own = all.filter(({ way }) => way === name);
          const sum = (of: (one: Left) => number) => own.reduce((total, one) => total + of(one), 0);
          return [
            name,
            median(own.map(({ movedS }) => movedS)),
            sum(({ tried }) => tried),
            sum(({ failed }) => failed),
            own.some(({ offloaded }) => offloaded === undefined)
              ? undefined
              : sum(({ offloaded = 0 }) => offloaded),
            median(own.map(({ downloadS }) => downloadS)),
            `${own.filter(({ right }) => right).length} of ${own.length}`,
          ];
        }),
      },
    ],
    plots: [],
    notes: [
      'New connections are tried one after the other for as long as the download runs. "Resets" are those by which the first edge sent clients elsewhere: none are left to send when it begins to drain.',
    ],
    raw: all,
  };
}

async function measure({ name, end }: Way, seed: number): Promise<Left> {
  await using lab = await Lab.open({ seed });
  const { client, file, digest, routes, edges } = await stage(lab);
  const [first] = routes.hosts as [AnycastHost];
  const [edge] = edges as [LabEdge];
  const output = join(lab.folder, 'output');
  const url = `http://${ANYCAST_ADDRESS}:3125/${file}`;
  const download = runMillrace(client, ['get', url, '-o', output, '--quiet']);
  let isOver = false;
  const tries = tryConnections(client, () => isOver);
  await new Promise((resolve) => setTimeout(resolve, SERVED_MS));
  const leftAt = performance.now();
  const ended = end(edge, first);
  while ((await routes.next()) === first.host) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  const movedS = (performance.now() - leftAt) / 1000;
  const { seconds } = await download;
  isOver = true;
  await ended;
  const offloaded = name === 'drained' ? (await edge.status()).clients.offloaded : undefined;
  const right = (await digestOf(output).catch(() => '')) === digest;
  return { way: name, movedS, ...(await tries), offloaded, downloadS: seconds, right };
}

/** Makes one short request after the other to the anycast address. */
async function tryConnections(
  client: Host,
  isOver: () => boolean,
): Promise<{ tried: number; failed: number }> {
  let [tried, failed] = [0, 0];
  const url = `http://${ANYCAST_ADDRESS}:3125/-/live`;
  while (!isOver()) {
    const { code } = await client.run('curl', ['-sf', '--max-time', '2', '-o', '/dev/null', url]);
    tried++;
    if (code !== 0) failed++;
  }
  return { tried, failed };
}

async function stage(lab: Lab): Promise<{
  client: Host;
  file: string;
  digest: string;
  routes: AnycastRoutes;
  edges: LabEdge[];
}> {
  const origin = lab.host('origin');
  const client = lab.host('client', { downMbit: MEGABITS });
  const root = join(lab.folder, 'www');
  await mkdir(root);
  const content = contentOf('anycast', FILE_BYTES);
  await writeFile(join(root, 'file'), content);
  await writeFile(join(lab.folder, 'token'), TOKEN);
  const nginx = await startNginx(origin, { dir: join(lab.folder, 'nginx'), root });
  const routes = await startBirds(lab, ANYCAST_ADDRESS, [lab.host('edge-1'), lab.host('edge-2')]);
  const edges: LabEdge[] = [];
  for (const { host, options } of routes.hosts) {
    edges.push(
      await startEdge(host, [
        ...['--name', host.name, '--allow-origin', origin.address, ...options],
        ...['--anycast-rise', '0s', '--leave-time', `${LEAVE_MS}ms`, '--grace', '30s'],
        ...['--admin-token-file', join(lab.folder, 'token'), '--own-requests', '0'],
      ]),
    );
  }
  while ((await routes.next()) !== routes.hosts[0]?.host) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  const digest = createHash('sha256').update(content).digest('hex');
  return { client, file: `${nginx.url}/file`, digest, routes, edges };
}
