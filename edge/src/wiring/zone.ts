/** The DNS server of a node with a zone: named edges, limits, figures. */

import type { NearEdge } from '@millrace/shared/cdn/near/nearest-edge';
import { AnswerLimit } from '@millrace/shared/cdn/zone/answer-limit';
import {
  type KnownEdge,
  nameEdges,
  usableEdges,
  type ZoneEdge,
} from '@millrace/shared/cdn/zone/named-edges';
import type { Config } from '../config/config.ts';
import type { ZoneConfig } from '../config/reach-config.ts';
import { counterValue, counterValues } from '../figures/metrics.ts';
import type { ClientView, NearEdges } from '../near/near-edges.ts';
import { DnsCookies } from '../zone/cookies.ts';
import { DnsServer } from '../zone/dns-server.ts';
import { EdgeAddresses, LOOK_UP_EVERY_MS } from '../zone/edge-addresses.ts';
import { Responder } from '../zone/responder.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';

/** Time for which the list of edges is used again, ms. */
const KNOWN_MS = 250;

/** A node's DNS server. */
export interface ZoneServer {
  /** Begins to listen. @returns addresses, as text */
  listen(): Promise<string[]>;
  /** Begins to name edges: before other nodes are known, all clients would be sent to this one. */
  begin(): void;
  /** Describes it for `/-/status`. */
  describe(): Promise<Record<string, unknown>>;
  close(): void;
}

/**
 * Opens the DNS server of a zone, not yet listening.
 *
 * @param near orders edges for each client
 * @param takesClients false while this node wants no more clients
 */
export function openZone(
  context: NodeContext,
  { zone, hosts, port, edges: most, rate }: ZoneConfig,
  { membership }: Pick<Peers, 'membership'>,
  near: NearEdges,
  takesClients: () => boolean,
): ZoneServer {
  const { config, log, metrics, admissions, account, now, wallClock, rounds } = context;
  const addresses = new EdgeAddresses({ zone: zone.name, log, now });
  rounds.every(LOOK_UP_EVERY_MS, () => void addresses.refresh());
  const none = usableEdges<ViewedEdge>([], undefined);
  let known = none;
  let knownAt = Number.NEGATIVE_INFINITY;
  let begun = false;
  let leftOut = '';
  // A network may have thousands of nodes, and a second thousands of questions.
  const usable = () => {
    if (!begun) return none;
    if (now() - knownAt >= KNOWN_MS || !takesClients()) {
      const all = knownEdges(config, membership, addresses, takesClients);
      known = usableEdges(all, membership.serves);
      knownAt = now();
      const names = known.others.map(({ name }) => name).join(' ');
      if (names !== leftOut && names !== '') {
        log.warn({ edges: names }, 'DNS answers leave out edges of another policy');
      }
      leftOut = names;
    }
    return known;
  };
  let wasHealthy = true;
  const nameFor = (client: string) => {
    const { edges, noneHealthy } = usable();
    if (noneHealthy === wasHealthy && edges.length > 0) {
      wasHealthy = !noneHealthy;
      if (noneHealthy) log.error({}, 'no edge is healthy: DNS answers name all of them');
      else log.info({}, 'DNS answers name healthy edges again');
    }
    const view = near.for(client);
    const seen = edges.map((edge) => ({ ...edge, ...edge.seenBy(view) }));
    return nameEdges({ edges: seen, noneHealthy }, most, (all) => view.order(all));
  };
  const limit = new AnswerLimit(rate);
  account.share('resolvers', () => limit.bytes + server.bytes);
  const responder = new Responder({
    zone,
    limit,
    cookies: new DnsCookies(config.secretFile),
    nameEdges: nameFor,
    onOutcome: (outcome, transport) => metrics.dnsQuestions.inc({ outcome, transport }),
    onLimited: (outcome, client) => admissions.refused('dnsAnswers', outcome, client),
    now,
    wallClock,
  });
  const server = new DnsServer({ responder, hosts, port, log, onRefusal: admissions.refused });
  admissions.measure('dnsAnswers', { perClient: rate === 0 ? undefined : rate });
  admissions.measure('dnsConnections', { use: () => server.connections });
  metrics.gauge('dns_no_edge_healthy', 'Whether DNS answers name edges that are not healthy', () =>
    Number(!wasHealthy),
  );
  return {
    listen: () => server.listen(),
    begin() {
      begun = true;
    },
    async describe() {
      const { edges, noneHealthy, others } = usable();
      return {
        zone: zone.name.join('.'),
        questions: await counterValue(metrics.dnsQuestions),
        outcomes: await counterValues(metrics.dnsQuestions, 'outcome'),
        edges: edges.map(({ name, addresses, healthy }) => ({ name, addresses, healthy })),
        noneHealthy,
        otherPolicy: others.map(({ name }) => name),
      };
    },
    close: () => server.close(),
  };
}

/** An edge, whatever the client. */
interface ViewedEdge extends KnownEdge, Omit<ZoneEdge, keyof NearEdge> {
  readonly name: string;
  /** Describes it for a client. */
  readonly seenBy: (view: ClientView) => NearEdge;
}

/** Lists the edges that have addresses, this one among them. */
function knownEdges(
  { publicUrl, publicAddress }: Config,
  membership: Peers['membership'],
  addresses: EdgeAddresses,
  takesClients: () => boolean,
): ViewedEdge[] {
  const edge = (of: readonly string[]) => ({ addresses: of, url: of.join() });
  const own = {
    ...{ name: membership.self.name, healthy: takesClients(), serves: membership.serves },
    ...edge(addresses.of(publicAddress, publicUrl)),
  };
  const others = membership.reachable().map(({ peer, usable }) => ({
    ...{ name: peer.name, healthy: usable, serves: peer.serves },
    ...edge(addresses.of(peer.publicAddresses, peer.publicUrl)),
    seenBy: (view: ClientView) => view.peer(peer),
  }));
  const all = [{ ...own, seenBy: (view: ClientView) => view.own() }, ...others];
  return all.filter(({ addresses: known }) => known.length > 0);
}
