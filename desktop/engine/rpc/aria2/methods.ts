/**
 * aria2's methods (aria2c(1), "RPC INTERFACE"), with aria2's results and errors, so that programs
 * written for aria2 work.
 */

import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isMagnetLink } from '@millrace/shared/download/request/document-name';
import { MAX_URLS } from '@millrace/shared/download/request/request';
import { expandPattern } from '@millrace/shared/download/request/url-pattern';
import type { NewDownload } from '../../downloads/download-schema.ts';
import { withExnode } from '../../downloads/exnodes.ts';
import type { Manager } from '../../downloads/manager.ts';
import type { ParseMetalink } from '../../downloads/metalinks.ts';
import type { RenewalPlan } from '../../downloads/renewals.ts';
import { downloadUrl } from '../../settings/checks.ts';
import { isFinished } from '../../store/record.ts';
import type { Method } from '../calls/dispatcher.ts';
import { aria2Error } from '../calls/rpc-error.ts';
import { describedBy, find, inAria2sWords, inheritable, isDownloadable } from './downloads.ts';
import { type Aria2Options, problem, readOptions } from './option-table.ts';
import { toNewDownload, translate } from './options.ts';
import { integer, keysIn, list, position, text } from './params.ts';
import { noteWithoutEffect, optionMethods } from './settings.ts';
import { insideMethods, tellingMethods } from './telling.ts';

export interface Aria2Parts {
  readonly manager: Manager;
  readonly version: string;
  readonly token: string;
  readonly parseMetalink: ParseMetalink;
  readonly onShutdown: () => void;
}

const FEATURES = ['GZip', 'HTTPS', 'Message Digest', 'Metalink'];

export function aria2Methods(options: Aria2Parts): Map<string, Method> {
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

function addingMethods({ manager, parseMetalink }: Aria2Parts): [string, Method][] {
  const inherited = () => inheritable(manager);
  /** Adds the files of a description. @param at index of the options in `params`; @returns their gids */
  const addDescribed = async (
    document: Buffer,
    params: readonly unknown[],
    at: number,
    isLocal: boolean,
    mirrors: readonly string[] = [],
  ): Promise<string[]> => {
    const given = readOptions(params[at], false);
    const place = position(params, at + 1).position;
    const { proxy } = toNewDownload(inherited(), given);
    const files = await parseMetalink(document, Date.now(), { mirrors, proxy });
    const asked = describedBy(files, inherited(), given).map((one, i) => ({
      ...one,
      ...(place === undefined ? {} : { position: place + i }),
    }));
    if (isLocal) await makeFolder(manager, given);
    const gids = inAria2sWords(() => manager.addAll(asked)).map(({ gid }) => gid);
    for (const gid of gids) noteWithoutEffect(manager, gid, params[at]);
    return gids;
  };
  return [
    [
      'aria2.addUri',
      async (params, { remote }) => {
        const uris = list(params, 0, 'string') as string[];
        if (uris.length === 0) throw aria2Error('URI is not provided.');
        const magnet = uris.find(isMagnetLink);
        if (magnet !== undefined) {
          const mirrors = uris.filter(isDownloadable);
          const isLocal = remote === undefined;
          return (await addDescribed(Buffer.from(magnet), params, 1, isLocal, mirrors))[0];
        }
        const given = readOptions(params[1], false);
        const urls = inAria2sWords(() => expanded(uris, { ...inherited(), ...given }));
        if (urls.length === 0) throw aria2Error('No URI to download.');
        const own = toNewDownload(inherited(), given);
        const asked = { ...own, urls, ...position(params, 2) };
        const download = await withExnode(asked).catch((error: unknown) => {
          throw translate(error);
        });
        if (remote === undefined) await makeFolder(manager, given);
        const plan = await planned(manager, download);
        const { gid } = inAria2sWords(() => manager.renewals.carryOut(download, plan)).record;
        noteWithoutEffect(manager, gid, params[1]);
        return gid;
      },
    ],
    [
      'aria2.addMetalink',
      async (params, { remote }) => {
        const document = Buffer.from(text(params, 0), 'base64');
        return addDescribed(document, params, 1, remote === undefined);
      },
    ],
    [
      'aria2.addTorrent',
      async (params, { remote }) => {
        const torrent = Buffer.from(text(params, 0), 'base64');
        // aria2 asks URIs for the files of the torrent as web seeds.
        const seeds = (keysIn(params, 1) ?? []).filter(isDownloadable);
        // aria2 has one download for a torrent, and we have one for each file: the first one stands for them.
        return (await addDescribed(torrent, params, 2, remote === undefined, seeds))[0];
      },
    ],
  ];
}

/** Finds the earlier download that a link continues. @throws RpcError in aria2's words */
function planned(manager: Manager, download: NewDownload): Promise<RenewalPlan | undefined> {
  return manager.renewals.plan(download).catch((error: unknown) => {
    throw translate(error);
  });
}

/**
 * Makes the folder that a client of this machine has named, as aria2 does. The daemon's own folder
 * may be on a disk that is not there at the moment.
 */
async function makeFolder(manager: Manager, { dir }: Aria2Options): Promise<void> {
  if (!dir) return;
  await mkdir(resolve(manager.dir, dir), { recursive: true }).catch(() => {
    throw problem('dir');
  });
}

/** Returns the URIs that can be downloaded, those that patterns stand for included. */
function expanded(uris: readonly string[], options: Aria2Options): string[] {
  const all =
    options['parameterized-uri'] === 'true'
      ? uris.flatMap((uri) => expandPattern(uri, MAX_URLS))
      : uris;
  return all.filter(isDownloadable);
}

function stateMethods(manager: Manager): [string, Method][] {
  const remove: Method = (params) => {
    const { gid } = find(manager, params);
    if (manager.remover.end(gid, true)) return gid;
    throw aria2Error(`Active Download not found for GID#${gid}`);
  };
  const pause: Method = (params) => {
    const { gid } = find(manager, params);
    if (manager.line.pause(gid)) return gid;
    throw aria2Error(`GID#${gid} cannot be paused now`);
  };
  const pauseAll: Method = () => {
    manager.atOnce(() => {
      for (const { gid } of manager.unfinished()) manager.line.pause(gid);
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
        if (manager.line.resume(gid)) return gid;
        throw aria2Error(`GID#${gid} cannot be unpaused now`);
      },
    ],
    [
      'aria2.unpauseAll',
      () => {
        manager.atOnce(() => {
          for (const { gid } of manager.unfinished()) manager.line.resume(gid);
        });
        return 'OK';
      },
    ],
  ];
}

/** Methods that change a download's position and URIs. */
function orderMethods(manager: Manager): [string, Method][] {
  return [
    [
      'aria2.changePosition',
      (params) => {
        const { gid } = find(manager, params);
        const how = { POS_SET: 'set', POS_CUR: 'current', POS_END: 'end' } as const;
        const way = text(params, 2);
        if (!Object.hasOwn(how, way)) throw aria2Error('Illegal argument.');
        const place = manager.line.move(gid, integer(params, 1), how[way as keyof typeof how]);
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
        inAria2sWords(() => manager.changes.setUrls(gid, urls));
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
        manager.remover.forgetFinished(undefined);
        return 'OK';
      },
    ],
  ];
}

function daemonMethods({ version, token, onShutdown }: Aria2Parts): [string, Method][] {
  // Forty digits that stay the same while the daemon runs, and do not reveal the token.
  const sessionId = createHash('sha1').update(`${token} ${process.pid}`).digest('hex');
  const shutdown: Method = () => {
    setImmediate(onShutdown);
    return 'OK';
  };
  return [
    ['aria2.getVersion', () => ({ enabledFeatures: FEATURES, version })],
    ['aria2.getSessionInfo', () => ({ sessionId })],
    // The database is always up to date, so there is nothing to save.
    ['aria2.saveSession', () => 'OK'],
    ['aria2.shutdown', shutdown],
    ['aria2.forceShutdown', shutdown],
  ];
}
