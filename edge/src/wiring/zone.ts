/** The DNS server of a node with a zone: named edges, limits, figures. */

import { AnswerLimit } from '@millrace/shared/cdn/zone/answer-limit';
import { nameEdges, type OrderEdges, type ZoneEdge } from '@millrace/shared/cdn/zone/named-edges';
import { orderByNetwork } from '@millrace/shared/cdn/zone/order-edges';
import type { Config } from '../config/config.ts';
import type { ZoneConfig } from '../config/reach-config.ts';
import { counterValue, counterValues } from '../figures/metrics.ts';
import { DnsCookies } from '../zone/cookies.ts';
import { DnsServer } from '../zone/dns-server.ts';
import { EdgeAddresses, LOOK_UP_EVERY_MS } from '../zone/edge-addresses.ts';
import { askingNetwork } from '../zone/networks.ts';
import { Responder } from '../zone/responder.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';

/** Time for which the list of edges is used again, ms. */
const KNOWN_MS = 250;

/** A node's DNS server. */
export interface ZoneServer {
  /** Begins to listen. @returns addresses, as text */
  listen(): Promise<string[]>;
  /** Describes it for `/-/status`. */
  describe(): Promise<Record<string, unknown>>;
  close(): void;
}

/**
 * Opens the DNS server of a zone, not yet listening.
 *
 * @param takesClients false while this node wants no more clients
 */
export function openZone(
  context: NodeContext,
  { zone, hosts, port, edges: most, rate }: ZoneConfig,
  { membership }: Pick<Peers, 'membership'>,
  takesClients: () => boolean,
): ZoneServer {
  const { config, log, metrics, admissions, now, wallClock, rounds } = context;
  const addresses = new EdgeAddresses({ zone: zone.name, log, now });
  rounds.every(LOOK_UP_EVERY_MS, () => void addresses.refresh());
  const order: OrderEdges = (client, edges) => orderByNetwork(askingNetwork(client), edges);
  let edges: readonly ZoneEdge[] = [];
  let knownAt = Number.NEGATIVE_INFINITY;
  // A network may have thousands of nodes, and a second thousands of questions.
  const known = () => {
    if (now() - knownAt >= KNOWN_MS || !takesClients()) {
      edges = knownEdges(config, membership, addresses, takesClients);
      knownAt = now();
    }
    return edges;
  };
  let noneHealthy = false;
  const responder = new Responder({
    zone,
    limit: new AnswerLimit(rate),
    cookies: new DnsCookies(config.secretFile),
    nameEdges(client) {
      const named = nameEdges(client, known(), most, order, now());
      if (named.noneHealthy !== noneHealthy) {
        noneHealthy = named.noneHealthy;
        if (noneHealthy) log.error({}, 'no edge is healthy: DNS answers name all of them');
        else log.info({}, 'DNS answers name healthy edges again');
      }
      return named;
    },
    onOutcome: (outcome, transport) => metrics.dnsQuestions.inc({ outcome, transport }),
    onLimited: (outcome, client) => admissions.refused('dnsAnswers', outcome, client),
    now,
    wallClock,
  });
  const server = new DnsServer({ responder, hosts, port, log, onRefusal: admissions.refused });
  admissions.measure('dnsAnswers', { perClient: rate === 0 ? undefined : rate });
  admissions.measure('dnsConnections', { use: () => server.connections });
  metrics.gauge('dns_no_edge_healthy', 'Whether DNS answers name edges that are not healthy', () =>
    Number(noneHealthy),
  );
  return {
    listen: () => server.listen(),
    async describe() {
      return {
        zone: zone.name.join('.'),
        questions: await counterValue(metrics.dnsQuestions),
        outcomes: await counterValues(metrics.dnsQuestions, 'outcome'),
        edges: known().map(({ name, addresses, healthy }) => ({ name, addresses, healthy })),
        noneHealthy,
      };
    },
    close: () => server.close(),
  };
}

/** Lists the edges that clients can be sent to, this one among them. */
function knownEdges(
  { publicUrl, publicAddress }: Config,
  membership: Peers['membership'],
  addresses: EdgeAddresses,
  takesClients: () => boolean,
): ZoneEdge[] {
  const { name, weight, load } = membership.self;
  const own = { name, weight, load, healthy: takesClients() };
  const others = membership.reachable().map(({ peer, usable }) => ({
    name: peer.name,
    weight: peer.weight,
    load: peer.load,
    healthy: usable,
    addresses: addresses.of(peer.publicAddresses, peer.publicUrl),
  }));
  return [{ ...own, addresses: addresses.of(publicAddress, publicUrl) }, ...others];
}
