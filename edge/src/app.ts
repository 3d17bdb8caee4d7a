/**
 * Builds the node, not yet listening: every part after the parts that it needs. `wiring` puts each
 * part together; this file begins and ends all of them.
 */

import type { Log } from '@millrace/shared/base/log';
import { freeRoom } from '@millrace/shared/cdn/near/free-room';
import { loadSteps } from '@millrace/shared/cdn/routing/replicas';
import type { FastifyInstance } from 'fastify';
import type { AnycastState } from './anycast/announcer.ts';
import { Exchanges } from './clients/exchanges.ts';
import type { Config } from './config/config.ts';
import { nodeUrl } from './config/seeds.ts';
import { Figures } from './figures/dashboard-figures.ts';
import type { Metrics } from './figures/metrics.ts';
import { loopbackFor } from './listen/http-server.ts';
import { AllowList } from './policy/allow-list.ts';
import { OwnAddresses } from './policy/own-addresses.ts';
import { OriginPolicy } from './policy/policy.ts';
import { openClients } from './wiring/clients.ts';
import { hasDepot, openDepot, openDepotServer } from './wiring/depot.ts';
import { openDownloads } from './wiring/downloads.ts';
import { openExnodes } from './wiring/exnodes.ts';
import { openFiles } from './wiring/files.ts';
import {
  addAdminGauges,
  addAnycastGauge,
  addCacheGauges,
  addClientGauges,
} from './wiring/gauges.ts';
import { guardMemory } from './wiring/memory.ts';
import { openNear, openPlaces } from './wiring/near.ts';
import { nodeContext } from './wiring/node-context.ts';
import { openPeers } from './wiring/peers.ts';
import { openPorts } from './wiring/ports.ts';
import { addRoutes } from './wiring/routes.ts';
import { openStorage } from './wiring/storage.ts';
import { openUpkeep } from './wiring/upkeep.ts';
import { openZone } from './wiring/zone.ts';
import type { Addresses } from './workers/messages.ts';
import type { WorkerLink } from './workers/worker-link.ts';

export interface App {
  readonly server: FastifyInstance;
  readonly transfers: Exchanges;
  readonly metrics: Metrics;
  /** Begins to listen and to look for peers. @returns its addresses */
  listen(): Promise<Addresses>;
  /** Reads files again that may have changed. */
  reload(): void;
  /** Sets the state of the anycast routes, which the edge shows. */
  setAnycast(state: AnycastState): void;
  /** Called when clients are to come no more, or again; set by whoever wants to know. */
  onTakesClients: ((takesClients: boolean) => void) | undefined;
  /** Takes no more connections; transfers under way continue. */
  stopAccepting(): void;
  /** Ends everything: running transfers are reset, caches written out. */
  close(): Promise<void>;
}

/**
 * Builds an edge, not yet listening.
 *
 * @param log structured log, pino's interface
 * @param link to the supervisor, if this is one of several processes
 * @throws if a folder or file named in the settings cannot be used
 */
export async function buildApp(config: Config, log: Log, link?: WorkerLink): Promise<App> {
  const context = nodeContext(config, log, link);
  const { metrics, wallClock, rounds } = context;
  const own = new OwnAddresses({ publicUrl: config.publicUrl, now: context.now });
  void own.refreshName();
  const policy = new OriginPolicy(new AllowList(config.allowOrigin), config, own);
  const transfers = new Exchanges(metrics, (outcome, client) =>
    context.admissions.refused('memory', outcome, client),
  );
  const load = () => loadSteps(transfers.running + files.inside.running);
  const storage = await openStorage(context);
  const { account } = context;
  const room = () =>
    freeRoom([
      { used: Math.max(0, account.stopBytes + account.excess), limit: account.stopBytes },
      { used: transfers.running, limit: config.offloadAbove },
      { used: ports.connections, limit: config.maxConnections },
    ]);
  const depot =
    config.depotDir === undefined || !hasDepot(link)
      ? undefined
      : await openDepot(context, config.depotDir);
  const peers = openPeers(
    context,
    storage,
    () => ({ load: load(), draining: !transfers.takesClients }),
    () => ({
      room: Math.round(room() * 100) / 100,
      serves: policy.digest,
      depot: depot?.depot.tag,
      depotRoom: depot?.room,
      keepsOf: copies?.depots,
    }),
  );
  const { membership, network } = peers;
  const copies = await openExnodes(context, depot, storage, peers);
  const files = openFiles(context, storage, peers, policy, depot?.depot, copies, load);
  // Without a token no one could see the figures.
  const figures =
    config.adminTokenFile === undefined
      ? undefined
      : new Figures(metrics, config.chunkSize, wallClock);
  figures?.start();
  const places = await openPlaces(context);
  const downloads = openDownloads(context);
  const clients = await openClients(
    context,
    storage,
    files,
    policy,
    transfers,
    figures,
    downloads,
    places,
  );
  const near = openNear(context, peers, clients, policy, transfers, room, places);
  const upkeep = await openUpkeep(context, storage, peers, files, policy, transfers);
  const depots = openDepotServer(
    context,
    depot,
    storage,
    peers,
    files,
    policy,
    clients,
    transfers,
    upkeep,
  );
  addClientGauges(metrics, clients.limits, transfers);
  addCacheGauges(metrics, storage.cache, storage.disk, storage.pointers);
  addAdminGauges(metrics, upkeep.administration);
  const ports = openPorts(context, transfers, peers, (address) => clients.address.isProxy(address));
  ports.admin?.separate(ports.server);
  guardMemory(context, storage, files, clients, ports, transfers);
  // One process of the edge has the zone, so that limits and cookies are counted once.
  const zone =
    config.dns === undefined || (link?.index ?? 0) > 0
      ? undefined
      : openZone(context, config.dns, peers, near.edges, () => transfers.takesClients);
  let anycast: AnycastState | undefined;
  const setAnycast = (state: AnycastState) => {
    anycast = state;
  };
  if (config.anycast !== undefined) addAnycastGauge(metrics, () => anycast?.announced ?? false);
  const parts = {
    ...{ policy, transfers, storage, peers, files, clients, near, upkeep, figures, zone },
    ...{ depots, downloads, depotAdministration: depot?.administration },
  };
  await addRoutes(ports.server, context, {
    ...parts,
    anycast: () => anycast,
    onAnycast: setAnycast,
    onTakesClients: (takes) => app.onTakesClients?.(takes),
  });

  const settle = () =>
    // Wait until other nodes are known: before that it would ask the origin for chunks they have.
    void peers.settle().then(() => {
      zone?.begin();
      return upkeep.prefetcher.begin();
    });
  const app: App = {
    server: ports.server,
    transfers,
    metrics,
    async listen() {
      await depots?.begin();
      const { address, peerPort, admin } = await ports.listen();
      const dns = await zone?.listen();
      if (link === undefined) {
        if (network !== undefined) await membership.start(peerPort);
        settle();
        return { address, admin, dns };
      }
      const own = await ports.listenInside(link.index);
      await membership.start(own.port, true);
      settle();
      link.listening({ address, admin, dns }, nodeUrl(loopbackFor(own.address), own.port));
      return { address, admin, dns };
    },
    setAnycast,
    onTakesClients: undefined,
    reload() {
      policy.reload(log);
      near.reload();
      depot?.reload(log);
      ports.reload();
    },
    stopAccepting() {
      ports.stopAccepting();
    },
    async close() {
      rounds.stop();
      figures?.stop();
      ports.stopInside();
      zone?.close();
      clients.stop();
      await upkeep.prefetcher.close();
      await peers.stop();
      transfers.resetAll();
      files.inside.resetAll();
      peers.close();
      await transfers.idle();
      await ports.close();
      await files.client.close();
      await clients.close();
      await downloads?.close();
      await depots?.close();
      await copies?.close();
      await depot?.close();
      await upkeep.endedSessions.close();
      await storage.close();
    },
  };
  return app;
}
