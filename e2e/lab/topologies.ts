/** The networks of the experiments. */

import { seededRandom } from '@millrace/shared/base/clock';
import type { Host } from './host.ts';
import type { Lab } from './lab.ts';
import type { Link } from './links.ts';

/** Makes two hosts. */
export function pair(
  lab: Lab,
  links: { client: Link; server: Link },
): { client: Host; server: Host } {
  return { server: lab.host('server', links.server), client: lab.host('client', links.client) };
}

export interface CrowdLinks {
  readonly origin: Link;
  readonly edges: readonly Link[];
  readonly clients: readonly Link[];
}

export interface Crowd {
  readonly origin: Host;
  readonly edges: readonly Host[];
  readonly clients: readonly Host[];
}

/** Makes an origin, some edges and many clients. */
export function crowd(lab: Lab, links: CrowdLinks): Crowd {
  return {
    origin: lab.host('origin', links.origin),
    edges: links.edges.map((link, i) => lab.host(`edge-${i + 1}`, link)),
    clients: links.clients.map((link, i) => lab.host(`client-${i + 1}`, link)),
  };
}

/** Address shared by several hosts. */
export const ANYCAST_ADDRESS = '10.9.0.1';

export interface Anycast {
  readonly origin: Host;
  readonly client: Host;
  readonly edges: readonly Host[];
  readonly address: string;
  /** Routes the address to the next edge, which resets open connections. @returns that edge */
  switch(): Host;
}

/** Makes a client and edges with one address, which is routed to the first edge. */
export function anycast(
  lab: Lab,
  links: { client: Link; edges: readonly Link[]; origin?: Link },
): Anycast {
  const origin = lab.host('origin', links.origin ?? {});
  const edges = links.edges.map((link, i) => lab.host(`edge-${i + 1}`, link));
  const client = lab.host('client', links.client);
  let at = -1;
  const next = () => {
    at = (at + 1) % edges.length;
    const edge = edges[at] as Host;
    lab.route(ANYCAST_ADDRESS, edge);
    return edge;
  };
  // Every edge gets the address before the experiment routes it there.
  for (const _ of edges) next();
  next();
  return { origin, client, edges, address: ANYCAST_ADDRESS, switch: next };
}

/** Makes `count` equidistant values from `from` to `to`, in random order. */
export function spread(from: number, to: number, count: number, seed: number): number[] {
  const step = count > 1 ? (to - from) / (count - 1) : 0;
  const values = Array.from({ length: count }, (_, i) => from + i * step);
  const random = seededRandom(seed);
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [values[i], values[j]] = [values[j] as number, values[i] as number];
  }
  return values;
}
