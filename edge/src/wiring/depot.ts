/** The depot of a node, if it has one, and its requests; files of other nodes' depots. */

import { mkdir, stat, statfs } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Log } from '@millrace/shared/base/log';
import { formatBytes } from '@millrace/shared/base/units';
import { depotFileUrl } from '@millrace/shared/cdn/depot/depot-file';
import type { DepotRoom } from '@millrace/shared/cdn/depot/depot-room';
import { parseDepotTarget } from '@millrace/shared/http/urls/depot-link';
import { APPENDS, CLIENT_APPENDS, OWNER_PULLS, PULLS } from '../admission/resources.ts';
import { ChunkStore } from '../agent/chunk-store.ts';
import { DepotFiles } from '../agent/depot-files.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import { wideBytes } from '../clients/upload-window.ts';
import { BlockSource } from '../compose/block-source.ts';
import { StoredRanges, type StoredRangesOptions } from '../compose/stored-ranges.ts';
import { WholeFiles } from '../compose/whole-files.ts';
import type { Config } from '../config/config.ts';
import { DepotAdministration } from '../depot/administration.ts';
import { Announcements } from '../depot/announcements.ts';
import { APPEND_BYTES } from '../depot/append.ts';
import { ClientUse } from '../depot/client-use.ts';
import { Depot } from '../depot/depot.ts';
import { lockFolder } from '../depot/folder-lock.ts';
import { FreeRoom } from '../depot/free-room.ts';
import { PULL_MEMORY_BYTES, Puller } from '../depot/pull/puller.ts';
import { READ_MEMORY_BYTES } from '../depot/verified-read.ts';
import { roomFor } from '../keeping/kept-exnodes.ts';
import { Owners } from '../policy/depot-owners.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { DepotRelay } from '../relay/depot-relay.ts';
import { DEPOT_WORKER } from '../relay/relay-protocol.ts';
import { openRelayServer, type RelayServer } from '../relay/relay-server.ts';
import { answerRelayed, isAdministration } from '../routes/depot/administration.ts';
import { DepotHandler } from '../routes/depot/handler.ts';
import { ofPrefixed } from '../routes/depot/prefixed-link.ts';
import type { WholeFileOptions } from '../routes/depot/whole-file.ts';
import { ownBase } from '../routes/own-address.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import type { Clients } from './clients.ts';
import type { Files } from './files.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';
import type { Storage } from './storage.ts';
import type { Upkeep } from './upkeep.ts';

/** The depot itself. */
export interface DepotStore {
  readonly depot: Depot;
  readonly owners: Owners;
  /** Carries out what operators ask for. */
  readonly administration: DepotAdministration;
  /** Room that it still has; undefined: it has no owners, or is not known yet. */
  readonly room: DepotRoom | undefined;
  /** Reads the owners again. */
  reload(log: Log): void;
  /** Ends all uploads and deletions. */
  close(): Promise<void>;
}

/** Answers for depots, this node's own and others. */
export interface DepotServer {
  /** Answers clients' requests. */
  readonly handler: DepotHandler;
  /** Passes requests on to the process of this edge that has the depot, if that is another one. */
  readonly relay: DepotRelay | undefined;
  /** Begins to take requests of the other processes of this edge. */
  begin(): Promise<void>;
  /** Ends the exchanges with these. */
  close(): Promise<void>;
  /**
   * Returns the target of a depot's link that is written as a prefixed URL; undefined for all other
   * targets.
   */
  ofPrefixed(target: string): string | undefined;
}

const COLLECT_INTERVAL_MS = 1000;
const DISK_INTERVAL_MS = 10_000;

/**
 * Opens the depot of a node.
 *
 * @param dir its folder
 * @throws Error if the folder or the file of owners cannot be used, another edge uses the folder, or
 *   the quota exceeds the disk
 */
export async function openDepot(context: NodeContext, dir: string): Promise<DepotStore> {
  const { config, log, metrics, admissions, wallClock, rounds } = context;
  const owners = new Owners(config.depotOwnersFile);
  const { depotQuota: quotaBytes, depotMax: maxLeaseMs } = config;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(dir);
  if (lock.gap !== undefined) {
    log.warn({ reason: lock.gap }, 'no other edge is kept out of the folder of the depot');
  }
  const depot = await Depot.begin({ dir, quotaBytes, maxLeaseMs, owners, log, wallClock });
  await checkDisk(config, dir);
  rounds.every(COLLECT_INTERVAL_MS, () => depot.collect());
  admissions.measure('depotBytes', { use: () => depot.usedBytes, limit: quotaBytes });
  const free = new FreeRoom({
    ...{ dir, quotaBytes, depot, maxSeconds: Math.floor(maxLeaseMs / 1000) },
  });
  await free.measure();
  rounds.every(DISK_INTERVAL_MS, () => void free.measure());
  metrics.gauge('depot_allocations', 'Files in the depot, complete or not', () => depot.count);
  return {
    depot,
    owners,
    administration: new DepotAdministration(depot, log),
    get room() {
      return config.depotOwnersFile === undefined || !depot.isReady ? undefined : free.now;
    },
    reload(to) {
      try {
        owners.reload();
      } catch (error) {
        to.error({ err: error }, 'the owners of the depot stay as they were');
      }
    },
    async close() {
      await depot.close();
      await lock.release();
    },
  };
}

/**
 * Opens the handler of requests to depots.
 *
 * @param store this node's depot, if it has one
 * @returns undefined if there is nothing to answer for: no depot, and no network that may have one
 */
export function openDepotServer(
  context: NodeContext,
  store: DepotStore | undefined,
  storage: Storage,
  { depots }: Peers,
  fetching: Files,
  policy: OriginPolicy,
  clients: Clients,
  transfers: Exchanges,
  upkeep: Upkeep,
): DepotServer | undefined {
  const { config, log, metrics, admissions, account, now, wallClock, rounds } = context;
  const { purges } = storage;
  const { client } = fetching;
  const relay = openRelay(context);
  if (store === undefined && depots === undefined && relay === undefined) return undefined;
  const use = new ClientUse(admissions.refused);
  const files = depots && new DepotFiles({ depots, purges, now, wallClock });
  if (files !== undefined) {
    const { onPurge } = purges;
    purges.onPurge = (target) => {
      onPurge(target);
      files.onPurge(target);
    };
    rounds.every(COLLECT_INTERVAL_MS, () => files.collect());
    account.share('depotFiles', () => files.bytes);
  }
  const isAt = (id: string, origin: string) => {
    const isOwn = config.publicUrl !== undefined && new URL(config.publicUrl).origin === origin;
    return isOwn || depots?.isAt(id, origin) === true;
  };
  const whole = openWhole(context, storage, fetching, clients, {
    ...{ depot: store?.depot, files },
  });
  const puller =
    store &&
    new Puller({
      ...{ depot: store.depot, owners: store.owners, client, policy, log, now, wallClock },
      originUse: clients.originUse,
      isInNetwork(url) {
        const link = parseDepotTarget(url.pathname);
        return link?.kind === 'read' && isAt(link.id, url.origin);
      },
      onRefusal: admissions.refused,
      onBytes: (bytes) => metrics.depotPulled.inc(bytes),
    });
  if (puller !== undefined) {
    admissions.measure('pulls', {
      use: () => puller.running,
      limit: PULLS,
      perClient: OWNER_PULLS,
    });
    account.share('depotPulls', () => puller.running * PULL_MEMORY_BYTES);
  }
  if (store !== undefined) {
    admissions.measure('appends', {
      use: () => use.appends,
      limit: APPENDS,
      perClient: CLIENT_APPENDS,
    });
    account.share(
      'depot',
      () => use.appends * APPEND_BYTES + use.reads * READ_MEMORY_BYTES + wideBytes(),
    );
    if (depots !== undefined) {
      const announcements = new Announcements((id) => tellNetwork(id, upkeep, log));
      store.depot.onChanged = (id) => announcements.announce(id);
    }
  }
  const own = store &&
    puller && {
      ...{
        puller,
        depot: store.depot,
        owners: store.owners,
        maxLeaseMs: config.depotMax,
        now,
        wallClock,
      },
      publicUrl: config.publicUrl,
      onBytes: (bytes: number) => metrics.depotReceived.inc(bytes),
    };
  const handler = new DepotHandler({
    ...{ own, relay, use, metrics, account, transfers, log, now, wallClock },
    network: files && { ...clients.sending, files },
    whole,
    limits: clients.limits,
    clientAddress: clients.address,
    reaper: clients.reaper,
    onRefusal: admissions.refused,
  });
  let server: RelayServer | undefined;
  return {
    handler,
    relay,
    ofPrefixed: (target) => {
      return ofPrefixed(target, config.defaultScheme, isAt);
    },
    async begin() {
      const { link } = context;
      if (store === undefined || config.depotDir === undefined || link === undefined) return;
      server = await openRelayServer(config.depotDir, link.key, (req, res, from) => {
        const target = req.url ?? '';
        if (isAdministration(target)) {
          void answerRelayed(store.administration, req, res, now);
        } else void handler.handle(req, res, target, from);
      });
    },
    async close() {
      relay?.close();
      await server?.close();
    },
  };
}

/** Opens the way to the depot of this edge, if another process has it. */
function openRelay({ config, account, link, now }: NodeContext): DepotRelay | undefined {
  const { depotDir: dir } = config;
  if (dir === undefined || link === undefined || hasDepot(link)) return undefined;
  const baseOf = (req: IncomingMessage) => ownBase(req, undefined);
  const relay = new DepotRelay({ dir, key: link.key, baseOf, now });
  account.share('depotRelay', () => relay.bytes);
  return relay;
}

/** Returns true for the process of an edge that has its depot. */
export function hasDepot(link: WorkerLink | undefined): boolean {
  return link === undefined || link.index === DEPOT_WORKER;
}

/** Opens what puts files together that lie on several depots. */
function openWhole(
  { config, log, metrics, account, now, wallClock }: NodeContext,
  { cache, memory, purges }: Storage,
  { chunks }: Files,
  { sending }: Clients,
  own: Pick<StoredRangesOptions, 'depot' | 'files'>,
): WholeFileOptions {
  const ranges = new StoredRanges({ ...own, chunks, chunkBytes: config.chunkSize, now });
  const wholes = new WholeFiles({ ranges, wallClock });
  account.share('wholeFiles', () => wholes.bytes);
  const { onPurge } = purges;
  purges.onPurge = (target) => {
    onPurge(target);
    wholes.onPurge(target);
  };
  const source = new BlockSource({
    ...{ wholes, ranges, memory, now },
    onWrong: (id) => log.warn({ id }, 'bytes of an allocation are not those of its exNode'),
    onSolved: () => metrics.depotSolved.inc(),
    generation: () => purges.current,
  });
  // Blocks of this node alone, in memory: what depots have is shared with other nodes as chunks.
  const blocks = new ChunkStore({
    ...{ cache, memory, disk: undefined, purges, source, network: undefined, now },
  });
  source.keep = (chunk) => blocks.store(chunk);
  source.peek = (request) => blocks.peek(request);
  return { wholes, sending: { ...sending, chunks: blocks } };
}

/** Purges a file at all nodes: they ask the depot again. Never rejects. */
async function tellNetwork(id: string, { administration }: Upkeep, log: Log): Promise<void> {
  try {
    const { nodes = [] } = await administration.purge({ kind: 'url', url: depotFileUrl(id) }, true);
    const missed = nodes.filter(({ ok }) => !ok).map(({ name }) => name);
    // They learn of it by their next heartbeat that is answered.
    if (missed.length > 0) log.warn({ id, missed }, 'nodes were not told that a file has changed');
  } catch (error) {
    log.error({ err: error, id }, 'other nodes could not be told that a file has changed');
  }
}

/** @throws Error if depot and cache together may need more than the disk has */
async function checkDisk(config: Config, dir: string): Promise<void> {
  const { depotQuota, cacheDir, cacheDisk, secretFile } = config;
  const disk = await statfs(dir);
  const bytes = disk.blocks * disk.bsize;
  const isSame = cacheDir !== undefined && (await stat(cacheDir)).dev === (await stat(dir)).dev;
  const copies = secretFile === undefined ? 0 : roomFor(depotQuota);
  const needed = depotQuota + copies + (isSame ? cacheDisk : 0);
  if (needed <= bytes) return;
  const what = isSame ? '--depot-quota and --cache-disk need' : '--depot-quota needs';
  throw new Error(`${what} ${formatBytes(needed)}, and the disk has ${formatBytes(bytes)}`);
}
