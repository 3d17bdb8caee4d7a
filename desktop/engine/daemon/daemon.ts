/** The daemon: state folder, database, downloads and RPC put together. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '@millrace/shared/base/errors';
import { VERSION } from '@millrace/shared/base/version';
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
import { BrowserPlaces } from '../offers/browser-place.ts';
import { HeldNames } from '../offers/held-names.ts';
import { Offers, type OffersOptions } from '../offers/offers.ts';
import type { DownloadFactory } from '../queue/contract.ts';
import { HostMemory } from '../queue/host-memory.ts';
import { SharedRate } from '../queue/shared-rate.ts';
import { RpcServer } from '../rpc/server.ts';
import { Settings } from '../settings/settings.ts';
import { damageTeller } from '../store/damaged-rows.ts';
import { openDatabase } from '../store/database.ts';
import { DetailStore } from '../store/detail-store.ts';
import { DownloadStore } from '../store/download-store.ts';
import { HostStore, SettingStore } from '../store/small-stores.ts';
import { TrashStore } from '../store/trash-store.ts';
import { LocalEdge, usableEdges } from '../views/app-settings.ts';
import { DownloadLogs } from '../views/download-logs.ts';
import { Sessions } from '../web/sessions.ts';
import { engineDownload } from './engine-download.ts';

/** aria2's, so that its front ends find it. */
const DAEMON_PORT = 6800;
/** Longest wait for the answer to a new link. */
const LINK_TIMEOUT_MS = 20_000;
/** The interface as it is built. */
const PAGE = fileURLToPath(new URL('../../ui/dist', import.meta.url));

/** Looks at the machine's addresses while a download waits for the network. */
async function networkChange(signal: AbortSignal): Promise<boolean> {
  const { waitForNetworkChange } = await import('../net/network-watch.ts');
  return waitForNetworkChange(Number.POSITIVE_INFINITY, signal).then(
    () => true,
    () => false, // the signal
  );
}

export interface DaemonOptions {
  /** State folder: one daemon at a time. */
  readonly state: string;
  /** Default folder of downloads. */
  readonly dir: string;
  /** The user has chosen that folder: browsers' downloads go there as well. Default: false. */
  readonly dirChosen?: boolean;
  /** A loopback address. */
  readonly host?: string;
  /** Default: aria2's 6800, or any free one where that is taken; 0: any free one. */
  readonly port?: number;
  /** Origins of web pages that may call, such as `https://example.com`. */
  readonly allowedOrigins?: readonly string[];
  readonly createDownload?: DownloadFactory;
  /** Serves downloads to media players; without it none can be played. */
  readonly serveStream?: ServeStream;
  /** Folder of the page's files; default: the interface as it is built. */
  readonly page?: string;
  /** Told of events that the user should know of. */
  readonly onNote?: (text: string) => void;
}

export interface Daemon {
  /** http://127.0.0.1:PORT/jsonrpc */
  readonly url: string;
  readonly token: string;
  readonly manager: Manager;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  /** Ends it; running downloads are interrupted, and continue at the next start. */
  close(): Promise<void>;
}

/**
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
  const manager = new Manager({
    store: new DownloadStore(db, tell),
    settingStore,
    trashStore: new TrashStore(db, tell),
    settings,
    edges: () => usableEdges(settings, local.url),
    localEdge: () => local.url,
    hosts: new HostMemory(new HostStore(db, tell), now),
    rate,
    createDownload: options.createDownload ?? engineDownload,
    dir: options.dir,
    now,
    random: Math.random,
    networkChange,
    proveLink: proveLinkLater,
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
  const ended = Promise.withResolvers<void>();
  let opened: RpcServer | undefined;
  try {
    const token = await daemonToken(state);
    const server = new RpcServer({
      manager,
      streams,
      downloadLogs,
      local,
      offers,
      token,
      state,
      version: VERSION,
      allowedOrigins: options.allowedOrigins ?? [],
      parseMetalink: parseMetalinkDownloads,
      sessions: new Sessions(settingStore, now),
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
      await server.close();
      await streams.close();
      downloadLogs.close();
      await manager.close();
      await names.close();
      rate.rate = undefined;
      db.close();
    };
    const address = await server.listen(options.host ?? '127.0.0.1', options.port, DAEMON_PORT);
    opened = server;
    await writeAddress(state, { ...address, pid: process.pid, version: VERSION });
    manager.start();
    names.sweep();
    manager.checkKept(check.signal).catch((error) => onNote(`The list was not checked: ${error}`));
    return { url: address.url, token, manager, ended: ended.promise, close };
  } catch (error) {
    // A half-started daemon must not keep the process alive.
    await opened?.close();
    db.close();
    throw error;
  }
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

/** Loaded with the first offer. */
const proveLater: OffersOptions['prove'] = async (request, offered, signal) => {
  const { proveOffer } = await import('../sources/offer-proof.ts');
  return proveOffer(request, offered, signal);
};

const proveLinkLater: ProveLink = async (request, begun) => {
  const { proveLink } = await import('../sources/link-proof.ts');
  const late = new MillraceError('origin-timeout', 'the link does not answer');
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(late), LINK_TIMEOUT_MS);
  try {
    await proveLink(request, begun, Math.random, abort.signal);
  } finally {
    clearTimeout(timer);
  }
};

/** Loaded with the first stream: the daemon starts faster without it. */
const serveLater: ServeStream = async (download, finished) => {
  const { serveStream } = await import('../stream/serve-stream.ts');
  return serveStream(download, finished);
};
