/** How evenly chunks fall on the nodes of a large network: Highest Random Weight, replicas, load. */

import { type Random, seededRandom } from '@millrace/shared/base/clock';
import { hashText, score } from '@millrace/shared/cdn/hrw';
import { decideRoute, type RouteNode } from '@millrace/shared/cdn/route';
import { buildLarge } from '../large.ts';
import type { Settings } from '../main.ts';
import type { SimNode } from '../node.ts';
import { mean, quantile, type Report } from '../report.ts';
import type { World } from '../world.ts';

/** Chunks per node: with fewer, chance alone makes some nodes serve far more than the mean. */
const CHUNKS_PER_NODE = 300;
/** Transfers under way at a time, per node. */
const UNDER_WAY = 24;
/** The chunks of the part without geography, where each is scored for all nodes. */
const FLAT_NODES = 1000;
const REPLICAS = 8;
const PEERS = `peers, ${REPLICAS} replicas,`;
/** Heartbeats to peers per request: one a second, where a node has some five requests a second. */
const HEARTBEATS = 0.2;

export function balance({ seed, nodes = 15_000, chunks = CHUNKS_PER_NODE }: Settings): Report {
  const flat = Math.min(nodes, FLAT_NODES);
  const world = buildLarge({ seed, nodes });
  const requests = chunks * nodes;
  const rows = [
    ['chance alone, each chunk to any node', nodes, ...spread(byChance(nodes, requests, seed))],
    ['best of all by HRW, no replicas', flat, ...spread(byScore(flat, chunks * flat))],
    ['peers, no replicas', nodes, ...spread(requested(world, requests, 1, 0))],
    [`${PEERS} at random`, nodes, ...spread(requested(world, requests, REPLICAS, 0))],
    [`${PEERS} by load in answers`, nodes, ...spread(requested(world, requests, REPLICAS, 1))],
    [`${PEERS} by load, heartbeats too`, nodes, ...spread(requested(world, requests, REPLICAS, 2))],
  ];
  return {
    title: `Balance of chunk load over ${nodes} nodes`,
    tables: [
      {
        caption: `${chunks} chunk requests per node on average, each for another chunk, from a node at random`,
        columns: ['how a node is chosen', 'nodes', 'max/mean', '99%/mean', '1%/mean', 'min/mean'],
        rows,
      },
    ],
    notes: [
      `Balls into bins: with a mean of m per node, chance alone gives about 1 + sqrt(2 ln(nodes) / m) times the mean at most, here ${(1 + Math.sqrt((2 * Math.log(nodes)) / chunks)).toFixed(2)}. No hash can do better without knowing loads; with fewer chunks it is worse.`,
      'Peers are the nearest 60 to 120, so a node has as many chunks as others have it as a peer: those at the edge of the map get few.',
      `By load: a node knows of another what that last said, in steps of 8 transfers; ${UNDER_WAY} per node are under way at a time. Heartbeats: to a peer each second.`,
    ],
  };
}

/** Largest, high, low and smallest over the mean. */
function spread(counts: readonly number[]): number[] {
  const average = mean(counts);
  return [1, 0.99, 0.01, 0].map((share) => quantile(counts, share) / average);
}

function byChance(nodes: number, requests: number, seed: number): number[] {
  const random = seededRandom(seed);
  const counts = Array<number>(nodes).fill(0);
  for (let i = 0; i < requests; i++) {
    const node = Math.floor(random() * nodes);
    counts[node] = (counts[node] as number) + 1;
  }
  return counts;
}

function byScore(nodes: number, chunks: number): number[] {
  const seeds = Array.from({ length: nodes }, (_, i) => hashText(`node-${i}`));
  const counts = Array<number>(nodes).fill(0);
  for (let i = 0; i < chunks; i++) {
    const chunk = hashText(keyOf(i));
    let best = 0;
    let most = -1;
    for (let n = 0; n < nodes; n++) {
      const value = score(chunk, seeds[n] as RouteNode['seed']);
      if (value <= most) continue;
      most = value;
      best = n;
    }
    counts[best] = (counts[best] as number) + 1;
  }
  return counts;
}

function keyOf(chunk: number): string {
  return `https://origin.example/file-${chunk >> 10}.iso,start=${(chunk & 1023) * 2 ** 20}`;
}

/**
 * Chunks that each node serves, requests being under way for a while.
 *
 * @param news what nodes hear of loads: 0 nothing, 1 with answers, 2 with heartbeats as well
 */
function requested(world: World, requests: number, replicas: number, news: 0 | 1 | 2): number[] {
  const { nodes } = world;
  const { random } = world.sim;
  const counts = new Map<SimNode, number>(nodes.map((node) => [node, 0]));
  const underWay: { from: SimNode; to: SimNode }[] = Array(UNDER_WAY * nodes.length);
  for (const node of nodes) {
    node.transfers = 0;
    for (const { name } of node.view.nodes(0)) node.view.onLoad(name, 0);
  }
  for (let i = 0; i < requests; i++) {
    const at = i % underWay.length;
    const ended = underWay[at];
    if (ended !== undefined) {
      ended.to.transfers--;
      if (news > 0) ended.from.view.onLoad(ended.to.name, ended.to.load);
    }
    const from = nodes[Math.floor(random() * nodes.length)] as SimNode;
    if (news > 1 && random() < HEARTBEATS) {
      const peers = from.view.nodes(0);
      const { name } = peers[Math.floor(random() * peers.length)] as RouteNode;
      from.view.onLoad(name, world.byName(name).load);
    }
    const to = serving(world, from, keyOf(i), replicas, random);
    counts.set(to, (counts.get(to) as number) + 1);
    to.transfers++;
    underWay[at] = { from, to };
  }
  return [...counts.values()];
}

function serving(
  world: World,
  self: SimNode,
  key: string,
  replicas: number,
  random: Random,
): SimNode {
  const nodes = self.view.nodes(0);
  const route = decideRoute({
    ...{ key, nodes, replicas, random },
    self: nodes[0] as RouteNode,
    hearsay: [],
    hops: 0,
    maxHops: 1,
    avoid: NOBODY,
  });
  return route.to === 'origin' ? self : world.byName(route.peer.name);
}

const NOBODY: ReadonlySet<string> = new Set();
