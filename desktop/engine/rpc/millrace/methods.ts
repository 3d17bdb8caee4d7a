/** Our own methods, beyond aria2's. Each takes one object as its parameters. */

import { MillraceError } from '@millrace/shared/base/errors';
import { CONNECTION_ROWS } from '@millrace/shared/bridge/contract/connection-rows';
import { CONTRACT } from '@millrace/shared/bridge/contract/contract';
import { DOWNLOAD_ROWS } from '@millrace/shared/bridge/contract/download-rows';
import { LIST_ROWS } from '@millrace/shared/bridge/contract/list-rows';
import { type OpenRpc, openRpcOf } from '@millrace/shared/bridge/contract/open-rpc';
import { RpcError } from '@millrace/shared/bridge/rpc/json-rpc';
import { type Change, isOnlyCategory } from '../../downloads/download-schema.ts';
import { isFinished } from '../../store/record.ts';
import { detailOf } from '../../views/detail.ts';
import { type Listing, listRecords } from '../../views/listing.ts';
import { scheduleNow } from '../../views/totals.ts';
import { viewOf } from '../../views/view.ts';
import type { Method } from '../calls/dispatcher.ts';
import { UNAUTHORIZED } from '../calls/rpc-error.ts';
import { addingMethods } from './adding.ts';
import { afterMethods } from './after.ts';
import { deviceMethods } from './devices.ts';
import { edgeMethods } from './edges.ts';
import { exchangeMethods } from './exchange.ts';
import { offerMethods } from './offers.ts';
import { type MillraceOptions, methodsOf, subscriberOf } from './params.ts';
import { settingMethods } from './settings.ts';
import { shareMethods } from './shares.ts';
import { trashMethods } from './trash.ts';

/** Most finished downloads that are searched for expired links. */
const MAX_EXPIRED = 1000;

export function millraceMethods(options: MillraceOptions): Map<string, Method> {
  return new Map([
    ...listingMethods(options),
    ...downloadMethods(options),
    ...trashMethods(options.manager),
    ...settingMethods(options),
    ...afterMethods(options.manager),
    ...exchangeMethods(options.manager),
    ...addingMethods(options),
    ...edgeMethods(options),
    ...shareMethods(options),
    ...offerMethods(options),
    ...connectionMethods(options),
    ...deviceMethods(options),
    ...discovery(options),
  ]);
}

/** Serves the contract as a document, by the name that OpenRPC defines. */
function discovery({ version }: MillraceOptions): [string, Method][] {
  // Made at the first request, so that it does not delay the start of the daemon.
  let document: OpenRpc | undefined;
  const discover = () => {
    document ??= openRpcOf(CONTRACT, version);
    return document;
  };
  return [['rpc.discover', discover]];
}

function listingMethods({ manager, live, version, state }: MillraceOptions): [string, Method][] {
  const startedAt = Date.now();
  const list = (query: Listing) => {
    const { total, records } = listRecords(manager, query);
    const downloads = records.map((record) => viewOf(manager, record));
    return { total, downloads, revision: live.revision };
  };
  return methodsOf(LIST_ROWS, {
    'millrace.info': () => {
      const { active, line } = manager.queue;
      const count = (name: string) => line.filter((item) => item.state === name).length;
      return {
        version,
        pid: process.pid,
        platform: process.platform,
        state,
        dir: manager.dir,
        startedAt,
        counts: {
          active: active.length,
          queued: count('queued'),
          waiting: count('waiting'),
          paused: count('paused'),
          stopped: manager.store.history({}, { offset: 0, limit: 0 }).total,
        },
        bytesPerSecond: active.reduce(
          (sum, item) => sum + (manager.running(item.gid)?.progress().bytesPerSecond ?? 0),
          0,
        ),
        limit: manager.settings.limits.limit,
        schedule: scheduleNow(manager),
      };
    },
    'millrace.status': (p) => viewOf(manager, manager.get(p.gid)),
    'millrace.list': list,
    'millrace.search': list,
    'millrace.expired': () => {
      const filter = { states: ['error'] as const };
      const { records } = manager.store.history(filter, { offset: 0, limit: MAX_EXPIRED });
      const all = [...manager.unfinished(), ...records].map((record) => viewOf(manager, record));
      return { downloads: all.filter(({ expiredLink }) => expiredLink) };
    },
    'millrace.strip': (p) => {
      const { state, length, gid: full } = manager.get(p.gid);
      const progress = manager.running(full)?.progress();
      const whole = Array.from({ length: p.cells }, () => 1);
      const cells = state === 'complete' ? whole : (progress?.strip(p.cells) ?? []);
      return { length: progress?.length ?? length, cells };
    },
    'millrace.sources': (p) => {
      const { gid: full } = manager.get(p.gid);
      return { sources: manager.running(full)?.progress().sources ?? [] };
    },
  });
}

function downloadMethods({ manager, streams }: MillraceOptions): [string, Method][] {
  const all = () => manager.unfinished().map((record) => record.gid);
  const each = (given: readonly string[] | undefined, work: (gid: string) => boolean) => {
    // Find all downloads first, so that an unknown gid changes nothing.
    const full = given?.map((one) => manager.get(one).gid) ?? all();
    return { gids: manager.atOnce(() => full.filter(work)) };
  };
  return methodsOf(DOWNLOAD_ROWS, {
    'millrace.change': ({ gid: one, ...rest }) => {
      const full = manager.get(one).gid;
      manager.changes.change(full, rest as never);
      return viewOf(manager, manager.get(full));
    },
    'millrace.changeMany': ({ gids, retry = false, ...change }) => {
      // Find all downloads first, so that an unknown gid changes nothing. Finished ones can only
      // change their category.
      const full = gids
        .map((one) => manager.get(one))
        .filter(
          ({ state }) =>
            !isFinished(state) || (retry && state === 'error') || isOnlyCategory(change as Change),
        );
      manager.atOnce(() => {
        for (const one of full) {
          if (retry) manager.line.retry(one.gid);
          manager.changes.change(one.gid, change as never);
        }
      });
      return { gids: full.map((one) => one.gid) };
    },
    'millrace.pause': (p) => each(p.gids, (one) => manager.line.pause(one)),
    'millrace.resume': (p) => each(p.gids, (one) => manager.line.resume(one)),
    'millrace.retry': (p) => each(p.gids, (one) => manager.line.retry(one)),
    'millrace.move': (p) => {
      const full = manager.get(p.gid).gid;
      const position = manager.line.move(full, p.position, p.how);
      if (position < 0)
        throw new MillraceError('wrong-state', { code: 'not-in-queue', values: { gid: full } });
      return { position };
    },
    'millrace.place': (p) => {
      const before = p.before === null ? undefined : manager.get(p.before).gid;
      if (before !== undefined && manager.queue.position(before) === undefined) {
        throw new MillraceError('wrong-state', { code: 'not-in-queue', values: { gid: before } });
      }
      const full = p.gids.map((one) => manager.get(one).gid);
      return { gids: manager.line.place(full, before) };
    },
    'millrace.addUrl': (p) => {
      const record = manager.get(p.gid);
      if (isFinished(record.state)) throw new MillraceError('wrong-state', { code: 'is-complete' });
      manager.changes.setUrls(record.gid, [...record.request.urls, p.url]);
      return {};
    },
    'millrace.replaceUrl': async (p) => {
      const full = manager.get(p.gid).gid;
      // Check first, so that a refused link changes nothing.
      await manager.changes.checkLink(full, p.url);
      manager.changes.replaceUrl(full, p.url);
      return viewOf(manager, manager.get(full));
    },
    'millrace.repair': (p) => {
      const full = manager.get(p.gid).gid;
      manager.changes.repair(full);
      return viewOf(manager, manager.get(full));
    },
    'millrace.stream': async (p) => ({ url: await streams.open(manager.get(p.gid).gid) }),
  });
}

function connectionMethods({
  manager,
  local,
  live,
  downloadLogs,
  notifier,
  loginLink,
  loginPage,
  onShutdown,
}: MillraceOptions): [string, Method][] {
  return methodsOf(CONNECTION_ROWS, {
    'millrace.watch': async (p, context) => {
      const subscriber = subscriberOf(context);
      if (await local.refresh()) manager.settingsChanged();
      const detail = p.detail === undefined ? undefined : manager.get(p.detail).gid;
      return live.watch(subscriber, { list: p.list, detail, cells: p.cells });
    },
    'millrace.unwatch': (_, context) => {
      live.unwatch(subscriberOf(context));
      return {};
    },
    'millrace.detail': (p) => detailOf(manager, downloadLogs, manager.get(p.gid), p.cells),
    'millrace.subscribe': (p, context) => {
      const wanted = p.gids === undefined ? undefined : new Set(p.gids);
      notifier.subscribe(subscriberOf(context), p.progressMs, wanted);
      return {};
    },
    'millrace.unsubscribe': (_, context) => {
      notifier.unsubscribe(subscriberOf(context));
      return {};
    },
    'millrace.loginLink': (_, { token }) => {
      if (token !== true) throw new RpcError(UNAUTHORIZED);
      return { url: loginLink() };
    },
    'millrace.loginPage': async ({ urls }, { token }) => {
      if (token !== true) throw new RpcError(UNAUTHORIZED);
      return { path: await loginPage(urls) };
    },
    'millrace.shutdown': () => {
      setImmediate(onShutdown);
      return {};
    },
  });
}
