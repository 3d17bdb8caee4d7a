/**
 * Measures how clients and the origin fare when nodes or the origin are slow, silent or cut off.
 */

import { CROWD_COLUMNS, crowd, crowdRow, neighbours } from '../crowd.ts';
import type { Settings } from '../main.ts';
import { blindWorld } from '../network.ts';
import type { SimNode } from '../node.ts';
import type { Report } from '../report.ts';
import type { World } from '../world.ts';

/** Start and duration of disturbances, in the middle of the downloads. */
const AT_MS = 3000;
const FOR_MS = 20_000;

const CASES: readonly { readonly name: string; readonly arrange: (world: World) => void }[] = [
  { name: 'nothing', arrange() {} },
  {
    name: 'origin has a tenth of its line',
    arrange: ({ origin }) => {
      origin.up.bytesPerMs /= 10;
    },
  },
  {
    name: 'origin answers nothing for 10 s',
    arrange: ({ origin, sim }) => {
      origin.silent = true;
      sim.clock.in(10_000, () => {
        origin.silent = false;
      });
    },
  },
  { name: '5% of nodes send at a tenth', arrange: (world) => slow(world, 0.05, 10) },
  { name: '20% of nodes send at a tenth', arrange: (world) => slow(world, 0.2, 10) },
  { name: '5% of nodes send at a hundredth', arrange: (world) => slow(world, 0.05, 100) },
  { name: '5% of nodes crash', arrange: (world) => fail(world, 'gone') },
  { name: '5% of nodes freeze', arrange: (world) => fail(world, 'frozen') },
  { name: 'a continent is cut off for 20 s', arrange: partition },
];

export async function failures(settings: Settings): Promise<Report> {
  const { seed, nodes = 200, chunks = 96, scheduled = false } = settings;
  const rows: (string | number)[][] = [];
  for (const { name, arrange } of CASES) {
    const world = blindWorld({ seed, nodes, chunks }, 'near', 0.02);
    arrange(world);
    const clients = await crowd(world, {
      aware: true,
      scheduled,
      edges: (node) => neighbours(world, node, 4),
    });
    const resumes = clients.reduce((sum, client) => sum + client.resumes, 0);
    const { races, racesWonByFirst, peerFailures } = world.figures;
    const won = races === 0 ? '-' : `${Math.round((100 * racesWonByFirst) / races)}%`;
    rows.push([name, ...crowdRow(world, clients), resumes, races, won, peerFailures]);
  }
  const own = [
    scheduled ? 'further requests' : 'went elsewhere',
    'raced',
    'first wins',
    'peer failures',
  ];
  return {
    title: `Failures under ${nodes} nodes, each with a client that ${scheduled ? 'uses four at once' : 'continues elsewhere'}`,
    tables: [
      { caption: 'By kind of failure', columns: ['failure', ...CROWD_COLUMNS, ...own], rows },
    ],
    notes: [
      `Crashes, freezes and the cut begin ${AT_MS / 1000} s after the start. The other failures last from the start, and no node knows of them.`,
      'Retried: chunks for which the agent started another attempt (paper: 10-20%, the first usually wins). Raced: competing requests that were really sent.',
      'The cut lasts 20 s between the far continent and the other two; the origin can be reached from everywhere.',
    ],
  };
}

function slow(world: World, share: number, by: number): void {
  for (const node of world.nodes) if (world.sim.random() < share) node.up.bytesPerMs /= by;
}

function fail(world: World, how: 'gone' | 'frozen'): void {
  world.sim.clock.in(AT_MS, () => {
    for (const node of world.nodes) if (world.sim.random() < 0.05) node.fail(how);
  });
}

function partition(world: World): void {
  const before = world.reaches;
  const isFar = ({ place }: SimNode) => place.y > 100;
  world.sim.clock.in(AT_MS, () => {
    world.reaches = (a, b) => isFar(a) === isFar(b) && before(a, b);
  });
  world.sim.clock.in(AT_MS + FOR_MS, () => {
    world.reaches = before;
  });
}
