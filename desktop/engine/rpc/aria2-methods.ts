/**
 * aria2's methods (aria2c(1), "RPC INTERFACE"), with its results and its errors, so that what was
 * written for aria2 works.
 */

import { createHash } from 'node:crypto';
import { isMillraceError } from '@millrace/shared/base/errors';
import type { Manager } from '../daemon/manager.ts';
import { downloadUrl } from '../daemon/new-download.ts';
import { MAX_CONCURRENT } from '../daemon/settings.ts';
import { type DownloadRecord, isFinished } from '../store/record.ts';
import {
  defaultOptions,
  readOptions,
  sizeOf,
  toChange,
  toNewDownload,
  translate,
} from './aria2-options.ts';
import { amount, integer, keysIn, list, position, text } from './aria2-params.ts';
import { type Aria2Struct, filesOf, serversOf, tellStatus, urisOf } from './aria2-status.ts';
import type { Method } from './dispatcher.ts';
import type { ParseMetalink } from './metalink.ts';
import { aria2Error } from './rpc-error.ts';

export interface Aria2Options {
  readonly manager: Manager;
  readonly version: string;
  readonly token: string;
  readonly parseMetalink: ParseMetalink;
  readonly onShutdown: () => void;
}

const FEATURES = ['GZip', 'HTTPS', 'Message Digest', 'Metalink'];

export function aria2Methods(options: Aria2Options): Map<string, Method> {
  const { manager } = options;
  return new Map<string, Method>([
    ...addingMethods(options),
    ...stateMethods(manager),
    ...orderMethods(manager),
    ...resultMethods(manager),
    ...tellingMethods(manager),
    ...insideMethods(manager),
    ...optionMethods(manager),
    ...daemonMethods(options),
  ]);
}

function addingMethods({ manager, parseMetalink }: Aria2Options): [string, Method][] {
  const inherited = () => inheritable(manager);
  return [
    [
      'aria2.addUri',
      (params) => {
        const uris = list(params, 0, 'string') as string[];
        if (uris.length === 0) throw aria2Error('URI is not provided.');
        const urls = uris.flatMap((uri) => (isDownloadable(uri) ? [uri] : []));
        if (urls.length === 0) throw aria2Error('No URI to download.');
        const own = toNewDownload(inherited(), readOptions(params[1], false));
        return inAria2sWords(() => manager.add({ ...own, urls, ...position(params, 2) }).gid);
      },
    ],
    [
      'aria2.addMetalink',
      (params) => {
        const document = Buffer.from(text(params, 0), 'base64');
        const own = toNewDownload(inherited(), readOptions(params[1], false));
        // The document names its files and their digests itself.
        const { file: _file, digests: _digests, gid: _gid, ...rest } = own;
        const at = position(params, 2).position;
        return inAria2sWords(() =>
          manager
            .addAll(
              parseMetalink(document).map((one, i) => ({
                ...rest,
                ...one,
                ...(at === undefined ? {} : { position: at + i }),
              })),
            )
            .map(({ gid }) => gid),
        );
      },
    ],
    [
      'aria2.addTorrent',
      () => {
        throw aria2Error('BitTorrent is not supported: only HTTP(S) and Metalink are.');
      },
    ],
  ];
}

function stateMethods(manager: Manager): [string, Method][] {
  const remove: Method = (params) => {
    const { gid } = find(manager, params);
    if (manager.remove(gid, true)) return gid;
    throw aria2Error(`Active Download not found for GID#${gid}`);
  };
  const pause: Method = (params) => {
    const { gid } = find(manager, params);
    if (manager.pause(gid)) return gid;
    throw aria2Error(`GID#${gid} cannot be paused now`);
  };
  const pauseAll: Method = () => {
    manager.atOnce(() => {
      for (const { gid } of manager.unfinished()) manager.pause(gid);
    });
    return 'OK';
  };
  return [
    ['aria2.remove', remove],
    ['aria2.forceRemove', remove],
    ['aria2.pause', pause],
    ['aria2.forcePause', pause],
    ['aria2.pauseAll', pauseAll],
    ['aria2.forcePauseAll', pauseAll],
    [
      'aria2.unpause',
      (params) => {
        const { gid } = find(manager, params);
        if (manager.resume(gid)) return gid;
        throw aria2Error(`GID#${gid} cannot be unpaused now`);
      },
    ],
    [
      'aria2.unpauseAll',
      () => {
        manager.atOnce(() => {
          for (const { gid } of manager.unfinished()) manager.resume(gid);
        });
        return 'OK';
      },
    ],
  ];
}

/** What changes a download's place and its sources. */
function orderMethods(manager: Manager): [string, Method][] {
  return [
    [
      'aria2.changePosition',
      (params) => {
        const { gid } = find(manager, params);
        const how = { POS_SET: 'set', POS_CUR: 'current', POS_END: 'end' } as const;
        const way = text(params, 2);
        if (!Object.hasOwn(how, way)) throw aria2Error('Illegal argument.');
        const place = manager.move(gid, integer(params, 1), how[way as keyof typeof how]);
        if (place < 0) throw aria2Error(`GID#${gid} not found in the waiting queue.`);
        return place;
      },
    ],
    [
      'aria2.changeUri',
      (params) => {
        const { gid, state, request } = find(manager, params);
        integer(params, 1);
        const [gone, added] = [list(params, 2, 'string'), list(params, 3, 'string')] as string[][];
        if (isFinished(state)) throw aria2Error(`Cannot remove URIs from GID#${gid}`);
        const urls = [...request.urls];
        let deleted = 0;
        for (const uri of gone as string[]) {
          const at = urls.indexOf(isDownloadable(uri) ? downloadUrl(uri).href : uri);
          if (at < 0) continue;
          urls.splice(at, 1);
          deleted++;
        }
        const good = (added as string[]).filter(isDownloadable);
        const at = params[4] === undefined ? urls.length : integer(params, 4);
        urls.splice(at, 0, ...good);
        inAria2sWords(() => manager.setUrls(gid, urls));
        return [deleted, good.length];
      },
    ],
  ];
}

function resultMethods(manager: Manager): [string, Method][] {
  return [
    [
      'aria2.removeDownloadResult',
      (params) => {
        const { gid } = find(manager, params);
        if (manager.forget(gid)) return 'OK';
        throw aria2Error(`Could not remove download result of GID#${gid}`);
      },
    ],
    [
      'aria2.purgeDownloadResult',
      () => {
        manager.purge(undefined);
        return 'OK';
      },
    ],
  ];
}

function tellingMethods(manager: Manager): [string, Method][] {
  const tell = (records: readonly DownloadRecord[], keys: readonly string[] | undefined) =>
    records.map((record) => tellStatus(manager, record, keys));
  return [
    ['aria2.tellStatus', (params) => tellStatus(manager, find(manager, params), keysIn(params, 1))],
    [
      'aria2.tellActive',
      (params) => {
        const active = manager.queue.active.map(({ gid }) => manager.get(gid));
        return tell(active, keysIn(params, 0));
      },
    ],
    [
      'aria2.tellWaiting',
      (params) => {
        const [offset, count] = [integer(params, 0), amount(params, 1)];
        const line = manager.queue.line.map(({ gid }) => gid);
        const gids = slice(line, offset, count);
        return tell(
          gids.map((gid) => manager.get(gid)),
          keysIn(params, 2),
        );
      },
    ],
    [
      'aria2.tellStopped',
      (params) => {
        const [offset, count] = [integer(params, 0), amount(params, 1)];
        // From the end a list goes backwards.
        const page =
          offset < 0
            ? { offset: -offset - 1, limit: count }
            : { offset, limit: count, oldestFirst: true };
        return tell(manager.store.history({}, page).records, keysIn(params, 2));
      },
    ],
  ];
}

function insideMethods(manager: Manager): [string, Method][] {
  return [
    ['aria2.getUris', (params) => urisOf(manager, find(manager, params))],
    ['aria2.getFiles', (params) => filesOf(manager, find(manager, params))],
    [
      'aria2.getServers',
      (params) => {
        const record = find(manager, params);
        if (record.state === 'active') return serversOf(manager, record);
        throw aria2Error(`No active download for GID#${record.gid}`);
      },
    ],
    [
      'aria2.getPeers',
      (params) => {
        find(manager, params);
        return [];
      },
    ],
    [
      'aria2.getGlobalStat',
      (): Aria2Struct => {
        const { active, line } = manager.queue;
        const speed = active.reduce(
          (sum, { gid }) => sum + (manager.running(gid)?.progress().bytesPerSecond ?? 0),
          0,
        );
        const stopped = String(manager.store.history({}, { offset: 0, limit: 0 }).total);
        return {
          downloadSpeed: String(Math.round(speed)),
          numActive: String(active.length),
          numStopped: stopped,
          numStoppedTotal: stopped,
          numWaiting: String(line.length),
          uploadSpeed: '0',
        };
      },
    ],
  ];
}

function optionMethods(manager: Manager): [string, Method][] {
  return [
    [
      'aria2.getOption',
      (params) => {
        const { request, options } = find(manager, params);
        return {
          ...inheritable(manager),
          ...options.aria2,
          dir: request.dir,
          ...(request.file === undefined ? {} : { out: request.file }),
          split: String(request.connections),
          'max-connection-per-server': String(request.connectionsPerHost),
          'max-download-limit': String(request.limit ?? 0),
        };
      },
    ],
    [
      'aria2.changeOption',
      (params) => {
        const { gid } = find(manager, params);
        const { gid: _gid, pause: _pause, ...given } = readOptions(params[1], false);
        const limit =
          given['max-download-limit'] === undefined
            ? {}
            : { limit: sizeOf(given['max-download-limit']) || null };
        inAria2sWords(() => manager.change(gid, { ...toChange(given), ...limit, aria2: given }));
        return 'OK';
      },
    ],
    ['aria2.getGlobalOption', () => globalOptions(manager)],
    [
      'aria2.changeGlobalOption',
      (params) => {
        changeGlobal(manager, readOptions(params[0], true));
        return 'OK';
      },
    ],
  ];
}

function daemonMethods({ version, token, onShutdown }: Aria2Options): [string, Method][] {
  // Forty digits that stay the same while the daemon runs, and tell nothing of the token.
  const sessionId = createHash('sha1').update(`${token} ${process.pid}`).digest('hex');
  const shutdown: Method = () => {
    setImmediate(onShutdown);
    return 'OK';
  };
  return [
    ['aria2.getVersion', () => ({ enabledFeatures: FEATURES, version })],
    ['aria2.getSessionInfo', () => ({ sessionId })],
    // Everything is in the database at any time.
    ['aria2.saveSession', () => 'OK'],
    ['aria2.shutdown', shutdown],
    ['aria2.forceShutdown', shutdown],
  ];
}

/** Options that new downloads have unless they say otherwise. */
function inheritable(manager: Manager): Record<string, string> {
  return { ...defaultOptions(), ...manager.settings.aria2 };
}

function globalOptions(manager: Manager): Record<string, string> {
  const { limit, concurrent } = manager.settings.limits;
  return {
    ...inheritable(manager),
    dir: manager.dir,
    'max-concurrent-downloads': String(concurrent),
    'max-overall-download-limit': String(limit ?? 0),
    'max-overall-upload-limit': '0',
  };
}

function changeGlobal(manager: Manager, given: Record<string, string>): void {
  const {
    'max-concurrent-downloads': concurrent,
    'max-overall-download-limit': limit,
    'max-overall-upload-limit': _upload,
    dir,
    // Of one download each.
    out: _out,
    gid: _gid,
    pause: _pause,
    checksum: _checksum,
    ...rest
  } = given;
  if (dir !== undefined) manager.settings.dir = dir;
  manager.settings.aria2 = { ...manager.settings.aria2, ...rest };
  const { limits } = manager.settings;
  manager.setLimits({
    ...limits,
    ...(concurrent === undefined
      ? {}
      : { concurrent: Math.min(MAX_CONCURRENT, Math.max(1, Number(concurrent))) }),
    ...(limit === undefined ? {} : { limit: sizeOf(limit) || undefined }),
  });
}

function find(manager: Manager, params: readonly unknown[]): DownloadRecord {
  const gid = text(params, 0);
  if (!/^[0-9a-f]{1,16}$/i.test(gid)) throw aria2Error(`Invalid GID ${gid.slice(0, 40)}`);
  try {
    return manager.get(gid.toLowerCase());
  } catch (error) {
    if (!isMillraceError(error, 'no-such-download')) throw error;
    throw aria2Error(`GID ${gid} is not found`);
  }
}

function isDownloadable(uri: string): boolean {
  try {
    downloadUrl(uri);
    return true;
  } catch {
    return false;
  }
}

function inAria2sWords<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translate(error);
  }
}

/** A page of a list; negative offsets count from the end, and the page goes backwards from there. */
function slice<T>(all: readonly T[], offset: number, count: number): T[] {
  if (offset >= 0) return all.slice(offset, offset + count);
  return all
    .slice(0, Math.max(0, all.length + offset + 1))
    .reverse()
    .slice(0, count);
}
