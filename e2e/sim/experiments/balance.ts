/** Balance of chunks over the nodes of a large network: Highest Random Weight, replicas, load. */

import { type Random, seededRandom } from '@millrace/shared/base/clock';
import { BUFFER_BYTES_PER_CLIENT, DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { hashText, score } from '@millrace/shared/cdn/routing/hrw';
import { MAX_PEERS } from '@millrace/shared/cdn/routing/peer-set';
import { replicationFactor } from '@millrace/shared/cdn/routing/replicas';
import { decideRoute, type RouteNode } from '@millrace/shared/cdn/routing/route';
import { buildLarge } from '../large.ts';
import type { Settings } from '../main.ts';
import type { SimNode } from '../node.ts';
import { mean, quantile, type Report } from '../report.ts';
import type { World } from '../world.ts';

/** Chunks per node: with fewer, chance alone makes some nodes serve far more than the mean. */
const CHUNKS_PER_NODE = 300;
/** Requests in progress at a time, per node. */
const UNDER_WAY = 24;
/**
 * Most nodes, and chunks per node, of the part without geography, which scores each chunk for all
 * nodes.
 */
const FLAT_NODES = 1000;
const FLAT_CHUNKS = 200;
/** Replication factor of a node with the largest number of peers. */
const REPLICAS = replicationFactor(1 + MAX_PEERS, DEFAULT_CHUNK_BYTES, BUFFER_BYTES_PER_CLIENT);
/** Heartbeats to peers per request: one a second at a node with about five requests a second. */
const HEARTBEATS = 0.2;

export function balance({ seed, nodes = 15_000, chunks = CHUNKS_PER_NODE }: Settings): Report {
  const flat = Math.min(nodes, FLAT_NODES);
  const flatChunks = Math.min(chunks, FLAT_CHUNKS);
  const requests = chunks * nodes;
  const nearest = expected(buildLarge({ seed, nodes, passOver: false }));
  const world = buildLarge({ seed, nodes });
  const rows = [
    ['chance alone, each chunk to any node', chunks, ...spread(byChance(nodes, requests, seed))],
    [`best of ${flat} by HRW`, flatChunks, ...spread(byScore(flat, flatChunks * flat))],
    ['peers: the nearest, as in the papers', 'any', ...spread(nearest)],
    ['peers: the nearest that are open', 'any', ...spread(expected(world))],
    [
      `the same, ${REPLICAS} replicas, by load`,
      chunks,
      ...spread(requested(world, requests, REPLICAS)),
    ],
  ];
  return {
    title: `Balance of chunk load over ${nodes} nodes`,
    tables: [
      {
        caption:
          'Chunks that nodes serve at the first hop, divided by the mean; all nodes get equally many requests, each for a different chunk',
        columns: ['how a node is chosen', 'chunks per node', 'max', '99%', '1%', 'min'],
        rows,
      },
    ],
    notes: [
      `Balls into bins: with a mean of m per node, chance alone gives about 1 + sqrt(2 ln(nodes) / m) times the mean at most, here ${(1 + Math.sqrt((2 * Math.log(nodes)) / chunks)).toFixed(2)}. No hash can do better without knowing loads; with fewer chunks it is worse. "Any": the imbalance that remains with any number of chunks, because of the choice of peers.`,
      'Peers are up to 120 of the nearest. Nodes in the middle of many others, with good lines, would be peers of three times as many as others; nodes that enough others use are passed over (peer-use.ts).',
      'The nodes with the least load have lines so slow that no node chooses them.',
      `By load: a node knows the load that another last reported, in steps of 8 transfers; ${UNDER_WAY} transfers per node are under way at a time. Each peer gets a heartbeat every second.`,
    ],
  };
}

/** Computes each node's share of the requests of the nodes that use it, itself included. */
export function expected(world: World): number[] {
  const counts = new Map<string, number>(world.nodes.map(({ name }) => [name, 0]));
  for (const { view } of world.nodes) {
    const nodes = view.nodes(0);
    for (const { name } of nodes) counts.set(name, (counts.get(name) ?? 0) + 1 / nodes.length);
  }
  return [...counts.values()];
}

/** Returns the largest, 99%, 1% and smallest value, each divided by the mean. */
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

/** Counts the chunks that each node serves while other requests are in progress. */
function requested(world: World, requests: number, replicas: number): number[] {
  const { nodes } = world;
  const { random } = world.sim;
  const underWay: { to: SimNode; seen: Seen }[] = Array(UNDER_WAY * nodes.length);
  world.forget();
  for (const node of nodes) {
    node.transfers = 0;
    for (const seen of node.view.nodes(0)) (seen as Seen).load = 0;
  }
  for (let i = 0; i < requests; i++) {
    const at = i % underWay.length;
    const ended = underWay[at];
    if (ended !== undefined) {
      ended.to.transfers--;
      ended.seen.load = ended.to.load;
    }
    const peers = (nodes[Math.floor(random() * nodes.length)] as SimNode).view.nodes(0);
    if (random() < HEARTBEATS) {
      const seen = peers[Math.floor(random() * peers.length)] as Seen;
      seen.load = world.byName(seen.name).load;
    }
    const seen = serving(peers, keyOf(i), replicas, random);
    const to = world.byName(seen.name);
    to.served++;
    to.transfers++;
    underWay[at] = { to, seen };
  }
  return nodes.map(({ served }) => served);
}

/** A node as another node sees it. */
type Seen = RouteNode & { load: number };

/** Chooses the node that serves a chunk of another node's client. */
function serving(nodes: readonly RouteNode[], key: string, replicas: number, random: Random): Seen {
  const self = nodes[0] as Seen;
  const route = decideRoute({
    ...{ key, self, nodes, replicas, random },
    hearsay: [],
    hops: 0,
    maxHops: 1,
    avoid: NOBODY,
  });
  return route.to === 'origin' ? self : (route.peer as Seen);
}

const NOBODY: ReadonlySet<string> = new Set();
