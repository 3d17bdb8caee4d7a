/** The daemon, which consists of state folder, database, downloads and RPC. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '@millrace/shared/base/errors';
import { VERSION } from '@millrace/shared/base/version';
import type { Exposure } from '@millrace/shared/remote/exposure';
import {
  daemonToken,
  makeStateFolder,
  readAddress,
  removeAddress,
  writeAddress,
} from '../../local/daemon-address.ts';
import type { ProveLink } from '../downloads/changes.ts';
import { Manager } from '../downloads/manager.ts';
import { parseMetalinkDownloads } from '../downloads/metalinks.ts';
import { type ServeStream, Streams } from '../downloads/streams.ts';
import { HouseSwitch } from '../edges/house-switch.ts';
import { BrowserPlaces } from '../offers/browser-place.ts';
import { HeldNames } from '../offers/held-names.ts';
import { Offers, type OffersOptions } from '../offers/offers.ts';
import type { DownloadFactory } from '../queue/contract.ts';
import { HostMemory } from '../queue/host-memory.ts';
import { SharedRate } from '../queue/shared-rate.ts';
import type { Remote } from '../remote/remote.ts';
import { Resolvers } from '../resolvers/resolvers.ts';
import { HTTP_LIMITS } from '../rpc/door.ts';
import { RpcServer } from '../rpc/server.ts';
import { Settings } from '../settings/settings.ts';
import { Outgoing } from '../shares/outgoing.ts';
import { Shares } from '../shares/shares.ts';
import { damageTeller } from '../store/damaged-rows.ts';
import { openDatabase } from '../store/database.ts';
import { DetailStore } from '../store/detail-store.ts';
import { DownloadStore } from '../store/download-store.ts';
import { ShareStore } from '../store/share-store.ts';
import { HostStore, SettingStore } from '../store/small-stores.ts';
import { TrashStore } from '../store/trash-store.ts';
import { LocalEdge, usableEdges } from '../views/app-settings.ts';
import { DownloadLogs } from '../views/download-logs.ts';
import { Sessions } from '../web/sessions.ts';
import { engineDownload } from './engine-download.ts';

/** Default port: aria2's, so that its front ends find the daemon. */
const DAEMON_PORT = 6800;
/** Default port for other machines. */
const REMOTE_PORT = 6801;
/** Longest wait for the answer to a new link, in milliseconds. */
const LINK_TIMEOUT_MS = 20_000;
/** Folder of the built user interface. */
const PAGE = fileURLToPath(new URL('../../ui/dist', import.meta.url));

/** Waits until the network may be back. @returns false if the signal aborted */
async function networkChange(signal: AbortSignal): Promise<boolean> {
  const { waitForNetworkChange } = await import('../net/network-watch.ts');
  return waitForNetworkChange(Number.POSITIVE_INFINITY, signal).then(
    () => true,
    () => false, // the signal aborted
  );
}

export interface DaemonOptions {
  /** State folder, for one daemon at a time. */
  readonly state: string;
  /** Default folder for downloads. */
  readonly dir: string;
  /** True if the user chose that folder: browsers' downloads then go there too. Default: false. */
  readonly dirChosen?: boolean;
  /** Loopback address to listen on. */
  readonly host?: string;
  /** Default: aria2's 6800, or any free port if it is taken; 0: any free port. */
  readonly port?: number;
  /** Conditions under which other machines are served; default: they are not. */
  readonly exposure?: Exposure | undefined;
  /** Port for other machines; default: 6801; 0: any free port. */
  readonly remotePort?: number | undefined;
  /** Origins of web pages that may call the RPC, such as `https://example.com`. */
  readonly allowedOrigins?: readonly string[];
  readonly createDownload?: DownloadFactory;
  /** Serves downloads to media players; default: the server in `stream`. */
  readonly serveStream?: ServeStream;
  /** Folder of the page's files; default: the built user interface. */
  readonly page?: string;
  /** Called with events that the user should know about. */
  readonly onNote?: (text: string) => void;
}

export interface Daemon {
  /** http://127.0.0.1:PORT/jsonrpc */
  readonly url: string;
  readonly token: string;
  readonly manager: Manager;
  /** Port for other machines; undefined if they are not served. */
  readonly remotePort: number | undefined;
  /** Resolves when the daemon has ended. */
  readonly ended: Promise<void>;
  /** Ends the daemon; running downloads are interrupted, and continue at the next start. */
  close(): Promise<void>;
}

/**
 * Starts the daemon.
 *
 * @throws MillraceError `daemon-running`, `state-unusable`, `bad-option` if it cannot listen
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { state, onNote = () => {} } = options;
  await makeStateFolder(state);
  const { db, note } = await openState(state);
  if (note !== undefined) onNote(note);
  const now = Date.now;
  const rate = new SharedRate(() => performance.now());
  const tell = damageTeller(onNote);
  const settingStore = new SettingStore(db, tell);
  const settings = new Settings(settingStore);
  const local = new LocalEdge();
  await local.refresh();
  const house = new HouseSwitch();
  await house.set(settings.app.house);
  const manager = new Manager({
    store: new DownloadStore(db, tell),
    settingStore,
    trashStore: new TrashStore(db, tell),
    settings,
    edges: () => usableEdges(settings, local.url),
    localEdge: () => local.url,
    house: () => house.house,
    hosts: new HostMemory(new HostStore(db, tell), now),
    rate,
    createDownload: options.createDownload ?? engineDownload(state),
    resolvers: new Resolvers(state),
    dir: options.dir,
    now,
    random: Math.random,
    networkChange,
    proveLink: proveLinkLater,
  });
  manager.listen(({ kind }) => {
    if (kind === 'settings') void house.set(settings.app.house);
  });
  const downloadLogs = new DownloadLogs({
    manager,
    store: new DetailStore(db, tell),
    now,
    clock: () => performance.now(),
  });
  const streams = new Streams(manager, options.serveStream ?? serveLater);
  const names = new HeldNames(manager, settingStore);
  const offers = new Offers({
    manager,
    names,
    places: new BrowserPlaces({
      manager,
      dir: options.dir,
      chosen: options.dirChosen ?? false,
      state,
    }),
    prove: proveLater,
    now,
    clock: () => performance.now(),
  });
  const shares = new Shares({
    store: new ShareStore(db, tell),
    depots: () => settings.depots,
    state,
    now,
    clock: () => performance.now(),
  });
  manager.whenDone.alsoAwait(shares.list);
  const outgoing = new Outgoing(state, () => performance.now());
  const ended = Promise.withResolvers<void>();
  let opened: RpcServer | undefined;
  let remote: Remote | undefined;
  try {
    remote = await openRemote(options, settingStore);
    const token = await daemonToken(state);
    const server = new RpcServer({
      manager,
      streams,
      downloadLogs,
      local,
      house,
      offers,
      shares,
      outgoing,
      token,
      state,
      version: VERSION,
      allowedOrigins: options.allowedOrigins ?? [],
      parseMetalink: parseMetalinkDownloads,
      sessions: new Sessions(settingStore, now),
      remote,
      page: options.page ?? PAGE,
      onShutdown: () => void close(),
    });
    let closing = false;
    const close = () => {
      if (!closing) {
        closing = true;
        end().then(ended.resolve, ended.reject);
      }
      return ended.promise;
    };
    const check = new AbortController();
    const end = async () => {
      check.abort();
      await removeAddress(state, process.pid);
      offers.close();
      house.close();
      remote?.close();
      await server.close();
      await streams.close();
      await shares.close();
      downloadLogs.close();
      await manager.close();
      await names.close();
      rate.rate = undefined;
      db.close();
    };
    const address = await server.listen(options.host ?? '127.0.0.1', options.port, DAEMON_PORT);
    opened = server;
    const remotePort = await remote?.listen(options.remotePort ?? REMOTE_PORT);
    await writeAddress(state, { ...address, pid: process.pid, version: VERSION });
    manager.start();
    await outgoing.sweep(shares.copies);
    shares.start();
    names.sweep();
    manager.checkKept(check.signal).catch((error) => onNote(`The list was not checked: ${error}`));
    return { url: address.url, token, manager, remotePort, ended: ended.promise, close };
  } catch (error) {
    // A half-started daemon must not keep the process alive.
    remote?.close();
    house.close();
    await opened?.close();
    db.close();
    throw error;
  }
}

/** Makes the side for other machines; its code is loaded only if it is needed. */
async function openRemote(
  { exposure, state, onNote = () => {} }: DaemonOptions,
  store: SettingStore,
): Promise<Remote | undefined> {
  if (exposure === undefined) return undefined;
  const { Remote: Side } = await import('../remote/remote.ts');
  return new Side({ exposure, state, store, limits: HTTP_LIMITS, onNote });
}

async function openState(state: string) {
  try {
    return openDatabase(join(state, 'downloads.db'), Date.now());
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'daemon-running') throw error;
    const address = await readAddress(state);
    const detail = address === undefined ? state : `process ${address.pid} at ${address.url}`;
    throw new MillraceError('daemon-running', detail, { cause: error });
  }
}

/** Loads the proof with the first offer. */
const proveLater: OffersOptions['prove'] = async (request, offered, signal) => {
  const { proveOffer } = await import('../sources/offer-proof.ts');
  return proveOffer(request, offered, signal);
};

const proveLinkLater: ProveLink = async (request, begun, signal) => {
  const { proveLink } = await import('../sources/link-proof.ts');
  const late = new MillraceError('origin-timeout', { code: 'link-silent' });
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(late), LINK_TIMEOUT_MS);
  try {
    const ends = signal === undefined ? abort.signal : AbortSignal.any([abort.signal, signal]);
    return await proveLink(request, begun, Math.random, ends);
  } finally {
    clearTimeout(timer);
  }
};

/** Loads the server with the first stream: the daemon starts faster without it. */
const serveLater: ServeStream = async (download, finished) => {
  const { serveStream } = await import('../stream/serve-stream.ts');
  return serveStream(download, finished);
};
