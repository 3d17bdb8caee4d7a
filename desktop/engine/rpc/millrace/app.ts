/** Methods for page and shell: live updates, details, bulk changes, settings, edges. */

import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_CELLS } from '@millrace/shared/bridge/rpc/detail-api';
import { z } from 'zod';
import type { Manager } from '../../downloads/manager.ts';
import { type Change, isOnlyCategory } from '../../downloads/new-download.ts';
import { appChangeSchema } from '../../settings/app-options.ts';
import {
  changedEdge,
  edgeAddress,
  type KeptEdge,
  withEdge,
  withoutEdge,
} from '../../settings/kept-edges.ts';
import { limitsSchema } from '../../settings/settings.ts';
import { testEdge } from '../../sources/edge-test.ts';
import { isFinished } from '../../store/record.ts';
import {
  changeSettings,
  edgesOf,
  type Change as SettingsChange,
  settingsOf,
} from '../../views/app-settings.ts';
import { detailOf } from '../../views/detail.ts';
import type { CallContext, Method } from '../calls/dispatcher.ts';
import { gid, gids, type MillraceOptions, method, subscriberOf } from './params.ts';
import { categoriesSchema, windowsSchema } from './settings.ts';

const DEFAULT_CELLS = 400;
const cells = z.number().int().min(1).max(MAX_CELLS).default(DEFAULT_CELLS);

export function appMethods(options: MillraceOptions): [string, Method][] {
  return [...watching(options), ...bulk(options), ...settings(options), ...edges(options)];
}

function watching({ manager, live, downloadLogs, local }: MillraceOptions): [string, Method][] {
  const watch = z.strictObject({
    list: z.boolean().default(true),
    detail: gid.optional(),
    cells,
  });
  return [
    method('watch', watch, async (p, context: CallContext) => {
      const subscriber = subscriberOf(context);
      if (await local.refresh()) manager.settingsChanged();
      const detail = p.detail === undefined ? undefined : manager.get(p.detail).gid;
      return live.watch(subscriber, { list: p.list, detail, cells: p.cells });
    }),
    method('unwatch', z.strictObject({}), (_, context) => {
      live.unwatch(subscriberOf(context));
      return {};
    }),
    method('detail', z.strictObject({ gid, cells }), (p) =>
      detailOf(manager, downloadLogs, manager.get(p.gid), p.cells),
    ),
  ];
}

function bulk({ manager }: MillraceOptions): [string, Method][] {
  return [
    method('changeMany', z.looseObject({ gids, retry: z.boolean().optional() }), (p) => {
      const { gids: given, retry = false, ...change } = p;
      // All are found before the first is touched; finished ones have nothing else to change.
      const full = given
        .map((one) => manager.get(one))
        .filter(
          ({ state }) =>
            !isFinished(state) || (retry && state === 'error') || isOnlyCategory(change as Change),
        );
      manager.atOnce(() => {
        for (const one of full) {
          if (retry) manager.retry(one.gid);
          manager.change(one.gid, change as never);
        }
      });
      return { gids: full.map((one) => one.gid) };
    }),
    method('place', z.strictObject({ gids, before: gid.nullable() }), (p) => {
      const before = p.before === null ? undefined : manager.get(p.before).gid;
      if (before !== undefined && manager.queue.position(before) === undefined) {
        throw new MillraceError('wrong-state', `${before} is not in the queue`);
      }
      const full = p.gids.map((one) => manager.get(one).gid);
      return { gids: manager.place(full, before) };
    }),
  ];
}

function settings({ manager, local }: MillraceOptions): [string, Method][] {
  const { limit, concurrent, perHost } = limitsSchema.shape;
  const changeSchema = z.strictObject({
    ...appChangeSchema.shape,
    dir: z.string().min(1).max(4096).nullable().optional(),
    categories: categoriesSchema.optional(),
    limits: z
      .strictObject({
        limit: limit.unwrap().nullable().optional(),
        concurrent: concurrent.optional(),
        perHost: perHost.unwrap().nullable().optional(),
      })
      .optional(),
    windows: windowsSchema.optional(),
  });
  const all = async () => {
    await local.refresh();
    return settingsOf(manager, local.url);
  };
  return [
    method('getSettings', z.strictObject({}), all),
    method('setSettings', changeSchema, (change) => {
      changeSettings(manager, change as SettingsChange);
      return all();
    }),
  ];
}

function edges({ manager, local }: MillraceOptions): [string, Method][] {
  const url = z.string().max(2048);
  const name = z.string().max(64);
  const keep = (list: readonly KeptEdge[]) => {
    manager.settings.edges = list;
    manager.settingsChanged();
    return { edges: edgesOf(manager.settings, local.url) };
  };
  return [
    method('addEdge', z.strictObject({ url, name: name.optional() }), (p) =>
      keep(withEdge(manager.settings.edges, p.url, p.name)),
    ),
    method(
      'changeEdge',
      z.strictObject({ url, name: name.optional(), enabled: z.boolean().optional() }),
      (p) => keep(changedEdge(known(manager, local.url, p.url), p.url, p)),
    ),
    method('removeEdge', z.strictObject({ url }), (p) =>
      keep(withoutEdge(manager.settings.edges, p.url)),
    ),
    method('testEdge', z.strictObject({ url }), (p) =>
      testEdge(edgeAddress(p.url), new AbortController().signal),
    ),
  ];
}

/** The list, with the local edge in it if that is the one: what is changed of it has to be kept. */
function known({ settings: { edges: list } }: Manager, local: string | undefined, text: string) {
  const url = edgeAddress(text);
  if (url !== local || list.some((edge) => edge.url === url)) return list;
  return [{ url, name: '', enabled: true }, ...list];
}
