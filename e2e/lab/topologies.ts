/** The networks of the experiments. */

import { seededRandom } from '@millrace/shared/base/clock';
import type { Host } from './host.ts';
import type { Lab } from './lab.ts';
import type { Link } from './links.ts';

/** Two hosts. */
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

/** One origin, some edges, many clients. */
export function crowd(lab: Lab, links: CrowdLinks): Crowd {
  return {
    origin: lab.host('origin', links.origin),
    edges: links.edges.map((link, i) => lab.host(`edge-${i + 1}`, link)),
    clients: links.clients.map((link, i) => lab.host(`client-${i + 1}`, link)),
  };
}

/** The address that several hosts have. */
export const ANYCAST_ADDRESS = '10.9.0.1';

export interface Anycast {
  readonly origin: Host;
  readonly client: Host;
  readonly edges: readonly Host[];
  readonly address: string;
  /** Leads the address to the next edge: running connections are reset. @returns that edge */
  switch(): Host;
}

/** A client before edges with one address, which leads to the first of them. */
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
  // Each has the address before it is led there.
  for (const _ of edges) next();
  next();
  return { origin, client, edges, address: ANYCAST_ADDRESS, switch: next };
}

/** Makes `count` values from `from` to `to`, equally far from each other, in a random order. */
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
