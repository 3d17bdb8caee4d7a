/** Routes of a node: files, its own pages, administration, and other nodes. */

import type { IncomingMessage } from 'node:http';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import type { FastifyInstance } from 'fastify';
import type { AnycastState } from '../anycast/announcer.ts';
import { LinkCheck } from '../check/link-check.ts';
import { hasLeft } from '../clients/connection.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import type { DepotAdministration } from '../depot/administration.ts';
import type { Figures } from '../figures/dashboard-figures.ts';
import type { Downloads } from '../figures/download-counter.ts';
import { certificateOrders } from '../listen/acme/acme-folder.ts';
import { DEPOT_ROUTE, isBehindBody, NEAR_ROUTE, PREFIXED_ROUTE } from '../listen/http-server.ts';
import { guardLocal } from '../listen/isolation.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { acmeRoutes } from '../routes/acme.ts';
import { adminRoutes, Drain, isAdmin, sendProblem } from '../routes/admin.ts';
import { adminApi } from '../routes/admin-api.ts';
import { commandRoutes } from '../routes/commands.ts';
import { dashboardRoutes } from '../routes/dashboard.ts';
import { depotAdministrationRoutes } from '../routes/depot/administration.ts';
import { depotProblem, refuse } from '../routes/depot/replies.ts';
import { downloadRoutes } from '../routes/downloads.ts';
import { nodeRoutes } from '../routes/node.ts';
import { type OwnRoutesOptions, ownRoutes, ownStatus } from '../routes/own.ts';
import { OwnRequests } from '../routes/own-requests.ts';
import { publishRoutes } from '../routes/publish.ts';
import { refusalRoutes } from '../routes/refusals.ts';
import type { Clients } from './clients.ts';
import type { DepotServer } from './depot.ts';
import type { Files } from './files.ts';
import type { Near } from './near.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';
import type { Storage } from './storage.ts';
import type { Upkeep } from './upkeep.ts';
import type { ZoneServer } from './zone.ts';

/** Routes of requests for files, whatever their method. */
const FILE_ROUTES: ReadonlySet<string | undefined> = new Set([
  ...[PREFIXED_ROUTE, NEAR_ROUTE, DEPOT_ROUTE],
]);
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];

/** Parts of the node that requests need. */
export interface Answering {
  readonly policy: OriginPolicy;
  readonly transfers: Exchanges;
  readonly storage: Storage;
  readonly peers: Peers;
  readonly files: Files;
  readonly clients: Clients;
  readonly near: Near;
  readonly upkeep: Upkeep;
  /** Figures for the dashboard; undefined without an administration token. */
  readonly figures: Figures | undefined;
  /** Counts of downloads; undefined without an administration token. */
  readonly downloads: Downloads | undefined;
  /** Undefined if there are no depots to answer for. */
  readonly depots: DepotServer | undefined;
  /** Undefined if the edge is not a depot. */
  readonly depotAdministration: DepotAdministration | undefined;
  /** DNS server; undefined without a zone. */
  readonly zone: ZoneServer | undefined;
  /** State of the anycast routes; undefined without any. */
  readonly anycast: () => AnycastState | undefined;
  /** Called with the state of the routes that the supervisor announces. */
  readonly onAnycast: (state: AnycastState) => void;
  /** Called when clients are to come no more, or again. */
  readonly onTakesClients: (takesClients: boolean) => void;
}

/** Adds the routes to the server, and begins to answer the supervisor. */
export async function addRoutes(
  server: FastifyInstance,
  context: NodeContext,
  parts: Answering,
): Promise<void> {
  const { config, log, metrics, admissions, now, wallClock, link } = context;
  const { policy, transfers, storage, peers, files, clients, upkeep, figures, zone, anycast } =
    parts;
  const { membership, network, auth, commandAuth } = peers;
  const { localAccess, limits, address: clientAddress } = clients;
  const { administration, endedSessions } = upkeep;
  if (localAccess !== undefined) guardLocal(server, localAccess, auth.hasSecret);
  const ownRequests = new OwnRequests({
    perSecond: config.ownRequests,
    clientAddress,
    onRefusal: admissions.refused,
  });
  if (config.ownRequests > 0) admissions.measure('ownRequests', { perClient: config.ownRequests });
  // Not async: requests for files have to be watched in the turn in which they come.
  server.addHook('onRequest', (request, reply, done) => {
    // Requests for files have limits of their own.
    if (FILE_ROUTES.has(request.routeOptions.url)) return done();
    try {
      ownRequests.admit(request.raw, isAdmin(request, config.adminTokenFile), now());
    } catch (error) {
      return void sendProblem(reply, asMillraceError(error));
    }
    done();
  });
  routeFiles(server, parts);
  const own: OwnRoutesOptions = {
    config,
    metrics,
    admissions,
    cache: storage.cache,
    disk: storage.disk,
    pointers: storage.pointers,
    transfers,
    membership,
    speedOf: peers.speedOf,
    startedAt: wallClock(),
    account: context.account,
    administration,
    zone,
    anycast,
    link,
    now,
  };
  await server.register(acmeRoutes, { folder: certificateOrders(config)?.folder });
  await server.register(ownRoutes, own);
  const { client, records, onOriginBytes } = files;
  const check = new LinkCheck({ client, policy, records, admissions, now, onOriginBytes });
  await server.register(publishRoutes, {
    config,
    check,
    policy,
    limits,
    clientAddress,
    membership,
    now,
  });
  const dashboard = async () => ({
    status: await ownStatus(own),
    refused: admissions.report().clients,
    ...(await figures?.read()),
  });
  await server.register(dashboardRoutes, {
    config,
    admissions,
    policy,
    clientAddress,
    revocations: endedSessions.revocations,
    logOut: (ending) => administration.logOut(ending),
    downloads: parts.downloads,
    collect: async () => link?.collect('dashboard') ?? JSON.stringify(await dashboard()),
    now,
    wallClock,
  });
  const drain = new Drain(config, transfers, log, parts.onTakesClients);
  await server.register(adminRoutes, { config, drain, link });
  await server.register(refusalRoutes, { config, admissions, link });
  await server.register(adminApi, { config, administration, policy });
  await server.register(downloadRoutes, { config, downloads: parts.downloads });
  await server.register(depotAdministrationRoutes, {
    config,
    administration: parts.depotAdministration,
    relay: parts.depots?.relay,
  });
  if (network !== undefined) {
    const { purges, pins } = storage;
    await server.register(nodeRoutes, { membership, auth });
    await server.register(commandRoutes, { administration, purges, pins, auth, commandAuth });
  }
  link?.serve({
    status: () => ownStatus(own),
    dashboard,
    refusals: async () => admissions.report(),
    figures: () => metrics.collect(),
    onAsked: (what) => metrics.reports.inc({ what }),
    setDraining: drain.setDraining,
    setAnycast: parts.onAnycast,
    carryOut: administration.carryOut,
    meet: (urls) => membership.addSeeds(urls),
  });
}

/** Routes requests for files, of clients and of other nodes, without reading their targets. */
function routeFiles(server: FastifyInstance, parts: Answering): void {
  const { peers, files, clients, near, depots } = parts;
  const { network } = peers;
  const { inside } = files;
  const { prefixed } = clients;
  server.route({
    method: METHODS,
    url: PREFIXED_ROUTE,
    // Before the server would read a body: bodies of these requests do not matter.
    onRequest: (request, reply) => {
      reply.hijack();
      // The client may have left already: that would not be noticed any more.
      if (hasLeft(request.raw, reply.raw) || isBehindBody(request.raw, reply.raw)) return;
      if (network !== undefined && isInside(request.raw)) {
        return inside.handle(request.raw, reply.raw, request.originalUrl);
      }
      const link = depots?.ofPrefixed(request.originalUrl);
      if (link !== undefined) return depots?.handler.handle(request.raw, reply.raw, link);
      return prefixed.handle(request.raw, reply.raw, request.originalUrl);
    },
    handler() {},
  });
  server.route({
    method: METHODS,
    url: NEAR_ROUTE,
    onRequest: (request, reply) => {
      reply.hijack();
      if (hasLeft(request.raw, reply.raw) || isBehindBody(request.raw, reply.raw)) return;
      near.handler.handle(request.raw, reply.raw, request.originalUrl);
    },
    handler() {},
  });
  server.route({
    method: METHODS,
    url: DEPOT_ROUTE,
    // Bodies are files: their handler reads them.
    onRequest: (request, reply) => {
      reply.hijack();
      const { raw, originalUrl: target } = request;
      if (hasLeft(raw, reply.raw)) return;
      if (depots !== undefined) return depots.handler.handle(raw, reply.raw, target);
      refuse(raw, reply.raw, depotProblem(new MillraceError('no-such-page'), '', undefined));
    },
    handler() {},
  });
}

/**
 * Returns true for requests of nodes, which use HTTP/1.1: interim responses are written to the
 * connection.
 */
function isInside(request: IncomingMessage): boolean {
  return request.headers[INSIDE.mark] !== undefined && request.httpVersionMajor === 1;
}
