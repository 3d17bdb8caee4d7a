/** Clients of a network, run until all are done, and the figures that experiments have in common. */

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

/** A client on the node's own machine, as NSDI 6 has them: there is no link between the two. */
function localHost(): Host {
  return { up: new Link(100_000), down: new Link(100_000) };
}

/** How a client has fared. */
export type Outcome = Pick<SimClient, 'state' | 'mbit' | 'tookMs'>;
export type Client = Outcome & Pick<SimClient, 'endedAt' | 'resumes'>;

export interface CrowdOptions {
  readonly startAt?: (index: number) => Millis;
  readonly inOrder?: boolean;
  readonly aware?: boolean;
  /** Clients have the real download scheduler and use their edges at once. */
  readonly scheduled?: boolean;
  /** Nodes whose clients ask; by default all. */
  readonly nodes?: readonly SimNode[];
  /** Edges that the client of a node can use; that node alone unless given. */
  readonly edges?: (node: SimNode) => readonly SimNode[];
  /** When to stop: all clients complete or failed, unless given. */
  readonly limitMs?: Millis;
}

/** One client on each node; resolves when each is complete or has failed, or the limit is reached. */
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

/** The row of `CROWD_COLUMNS`. */
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

/** A node and those nearest to it, nearest first. */
export function neighbours(world: World, node: SimNode, count: number): SimNode[] {
  const others = world.nodes
    .filter((other) => other !== node)
    .map((other) => ({ other, rtt: rttMs(node.place, other.place) }))
    .sort((a, b) => a.rtt - b.rtt);
  return [node, ...others.slice(0, count - 1).map(({ other }) => other)];
}
