/** The part that sends clients to their nearest edge. */

import type { Exchanges } from '../clients/exchanges.ts';
import { GeoPlaces } from '../near/geo-places.ts';
import { NearEdges } from '../near/near-edges.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { NearHandler } from '../routes/near.ts';
import type { Clients } from './clients.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';

export interface Near {
  readonly handler: NearHandler;
  /** Knows the edges and their order for each client. */
  readonly edges: NearEdges;
  /** Reads the database of places again. */
  reload(): void;
}

/**
 * Opens the database of places, if there is one.
 *
 * @throws MillraceError `bad-option` if it cannot be used
 */
export async function openPlaces({
  config,
  now,
  log,
}: NodeContext): Promise<GeoPlaces | undefined> {
  const { geoip: path } = config;
  return path === undefined ? undefined : GeoPlaces.open({ path, now, log });
}

/**
 * Opens the part.
 *
 * @param room part of what this node can take that is free, 0 to 1
 * @param places undefined without a database
 */
export function openNear(
  context: NodeContext,
  { membership, network }: Peers,
  { limits, address: clientAddress, localAccess, clientRtts }: Clients,
  policy: OriginPolicy,
  transfers: Exchanges,
  room: () => number,
  places: GeoPlaces | undefined,
): Near {
  const { config, rtts, account, metrics, log, now, wallClock } = context;
  const { publicUrl, defaultScheme } = config;
  account.share('networks', () => rtts.bytes);
  const random = Math.random;
  const edges = new NearEdges({ publicUrl, membership, rtts, places, room, now, random });
  const handler = new NearHandler({
    ...{ publicUrl, defaultScheme, policy, limits, clientAddress, localAccess, transfers },
    ...{ membership, network, clientRtts, edges, metrics, log, now, wallClock },
  });
  return { handler, edges, reload: () => void places?.reload() };
}
