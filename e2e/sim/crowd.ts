/**
 * Runs the clients of a network until all are done, and computes figures that experiments share.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { SimClient } from './client.ts';
import type { SimNode } from './node.ts';
import { rttMs } from './places.ts';
import { mean, percent, quantile } from './report.ts';
import { ScheduledClient } from './scheduled-client.ts';
import { type Host, Link } from './wire.ts';
import type { World } from './world.ts';

/** Virtual time after which an experiment gives up. */
const LIMIT_MS = 2 * 3_600_000;

/** Makes the links of a client on the node's own machine, as in NSDI 6: no line is between them. */
function localHost(): Host {
  return { up: new Link(100_000), down: new Link(100_000) };
}

/** Result of a client's download. */
export type Outcome = Pick<SimClient, 'state' | 'mbit' | 'tookMs'>;
export type Client = Outcome & Pick<SimClient, 'endedAt' | 'resumes'>;

export interface CrowdOptions {
  readonly startAt?: (index: number) => Millis;
  readonly inOrder?: boolean;
  readonly aware?: boolean;
  /** True: clients have the real download scheduler, and use all their edges at once. */
  readonly scheduled?: boolean;
  /** Nodes whose clients download; default: all. */
  readonly nodes?: readonly SimNode[];
  /** Returns the edges that the client of a node can use; default: only that node. */
  readonly edges?: (node: SimNode) => readonly SimNode[];
  /** Virtual time at which to stop, even if clients are still running. */
  readonly limitMs?: Millis;
}

/** Runs one client on each node. Resolves when all are complete or failed, or at the limit. */
export async function crowd(world: World, options: CrowdOptions = {}): Promise<Client[]> {
  let done = 0;
  const nodes = options.nodes ?? world.nodes;
  const clients = nodes.map((node, i): Client => {
    const common = {
      host: localHost(),
      home: node,
      place: node.place,
      edges: options.edges?.(node) ?? [node],
      startAt: options.startAt?.(i) ?? 0,
      onDone: () => done++,
    };
    if (options.scheduled === true) return new ScheduledClient(common);
    const { inOrder = true, aware = false } = options;
    return new SimClient({ ...common, inOrder, aware });
  });
  await world.sim.run(() => done === clients.length, options.limitMs ?? LIMIT_MS);
  return clients;
}

export const CROWD_COLUMNS = [
  'complete',
  'failed',
  'Mbit/s mean',
  'median',
  '90%',
  's mean',
  's 90%',
  'origin copies',
  'extra hops',
  'retried',
  'window',
] as const;

/** Returns the row of `CROWD_COLUMNS`. */
export function crowdRow(world: World, clients: readonly Outcome[]): (string | number)[] {
  const complete = clients.filter(({ state }) => state === 'complete');
  const mbit = complete.map((client) => client.mbit);
  const seconds = complete.map((client) => client.tookMs / 1000);
  const f = world.figures;
  const [, first = 0, ...further] = f.forwards;
  return [
    complete.length,
    clients.length - complete.length,
    mean(mbit),
    quantile(mbit, 0.5),
    quantile(mbit, 0.9),
    mean(seconds),
    quantile(seconds, 0.9),
    world.copies,
    percent(further.reduce((sum, n) => sum + n, 0) / Math.max(1, first)),
    percent(f.retries / Math.max(1, f.chunkRequests)),
    f.windowSum / Math.max(1, f.windowSamples),
  ];
}

/** Returns a node and the nodes nearest to it, `count` in all, nearest first. */
export function neighbours(world: World, node: SimNode, count: number): SimNode[] {
  const others = world.nodes
    .filter((other) => other !== node)
    .map((other) => ({ other, rtt: rttMs(node.place, other.place) }))
    .sort((a, b) => a.rtt - b.rtt);
  return [node, ...others.slice(0, count - 1).map(({ other }) => other)];
}
