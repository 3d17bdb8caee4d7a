/** aria2's methods for the options of one download and for the global ones. */

import { resolve } from 'node:path';
import { noteOf } from '@millrace/shared/base/notes';
import { MAX_CONCURRENT } from '@millrace/shared/bridge/rpc/settings-api';
import type { Manager } from '../../downloads/manager.ts';
import { shownOptions } from '../../downloads/secrets.ts';
import type { Method } from '../calls/dispatcher.ts';
import { find, inAria2sWords, inheritable } from './downloads.ts';
import { type Aria2Options, inForce, readOptions, sizeOf, withoutEffect } from './option-table.ts';
import { toChange } from './options.ts';

/** Options that have a meaning together. When one of them changes, the others keep their values. */
const PARTNERS: readonly (readonly string[])[] = [
  ['header', 'http-no-cache', 'referer', 'user-agent'],
  ['http-user', 'http-passwd'],
  ['all-proxy', 'http-proxy', 'https-proxy', 'all-proxy-user', 'all-proxy-passwd'],
  ['split', 'max-connection-per-server'],
  ['follow-torrent', 'follow-metalink'],
];

export function optionMethods(manager: Manager): [string, Method][] {
  return [
    [
      'aria2.getOption',
      (params) => {
        const { request, options } = find(manager, params);
        return {
          ...shownOptions(inForce({ ...inheritable(manager), ...options.aria2 })),
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
        const given = changesIn(manager, gid, readOptions(params[1], false));
        const limit =
          given['max-download-limit'] === undefined
            ? {}
            : { limit: sizeOf(given['max-download-limit']) || null };
        const meant = toChange(withPartners(manager, gid, given));
        inAria2sWords(() => manager.changes.change(gid, { ...meant, ...limit, aria2: given }));
        noteWithoutEffect(manager, gid, params[1]);
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

/** Says in a download's log which of the options that a client has given have no effect. */
export function noteWithoutEffect(manager: Manager, gid: string, given: unknown): void {
  const names = withoutEffect(given).map((name) => `--${name}`);
  if (names.length === 0) return;
  manager.note(gid, noteOf('option-without-effect', { names: names.join(', ') }));
}

function globalOptions(manager: Manager): Record<string, string> {
  const { limit, concurrent } = manager.settings.limits;
  return {
    ...shownOptions(inForce(inheritable(manager))),
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
    // Options that can only belong to a single download.
    out: _out,
    gid: _gid,
    pause: _pause,
    checksum: _checksum,
    ...rest
  } = given;
  if (dir) manager.settings.dir = resolve(dir);
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

/**
 * Returns the changed options: drops values that a client has read and sends back unchanged,
 * including hidden passwords.
 */
function changesIn(manager: Manager, gid: string, all: Aria2Options): Record<string, string> {
  const { gid: _gid, pause: _pause, ...given } = all;
  const shown = shownOptions(manager.get(gid).options.aria2 ?? {});
  return Object.fromEntries(Object.entries(given).filter(([name, text]) => text !== shown[name]));
}

function withPartners(manager: Manager, gid: string, given: Aria2Options): Aria2Options {
  const before = { ...inheritable(manager), ...manager.get(gid).options.aria2 };
  const kept = PARTNERS.filter((names) => names.some((name) => given[name] !== undefined))
    .flat()
    .flatMap((name) => (before[name] === undefined ? [] : [[name, before[name]] as const]));
  return { ...Object.fromEntries(kept), ...given };
}
