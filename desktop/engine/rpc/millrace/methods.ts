/** Our own methods: what aria2 has no word for. Parameters are one object each. */

import { MillraceError } from '@millrace/shared/base/errors';
import { DOWNLOAD_STATUSES } from '@millrace/shared/bridge/rpc/daemon-api';
import { SORT_KEYS } from '@millrace/shared/bridge/rpc/list-api';
import { z } from 'zod';
import { isFinished } from '../../store/record.ts';
import { type Listing, listRecords } from '../../views/listing.ts';
import { viewOf } from '../../views/view.ts';
import type { Method } from '../calls/dispatcher.ts';
import { RpcError, UNAUTHORIZED } from '../calls/rpc-error.ts';
import { addingMethods } from './adding.ts';
import { appMethods } from './app.ts';
import { exchangeMethods } from './exchange.ts';
import { offerMethods } from './offers.ts';
import { gid, gids, type MillraceOptions, method, subscriberOf } from './params.ts';
import { settingMethods } from './settings.ts';
import { trashMethods } from './trash.ts';

const MAX_STRIP = 4096;
const MAX_PAGE = 1000;

const statuses = z.array(z.enum(DOWNLOAD_STATUSES));
const page = {
  offset: z.number().int().min(0).default(0),
  limit: z.number().int().min(0).max(MAX_PAGE).default(100),
};

export function millraceMethods(options: MillraceOptions): Map<string, Method> {
  return new Map([
    ...listingMethods(options),
    ...downloadMethods(options),
    ...trashMethods(options.manager),
    ...insideMethods(options),
    ...settingMethods(options.manager),
    ...exchangeMethods(options.manager),
    ...addingMethods(options),
    ...appMethods(options),
    ...offerMethods(options),
    ...connectionMethods(options),
  ]);
}

function listingMethods({ manager, live, version, state }: MillraceOptions): [string, Method][] {
  const startedAt = Date.now();
  const list = (query: Listing) => {
    const { total, records } = listRecords(manager, query);
    const downloads = records.map((record) => viewOf(manager, record));
    return { total, downloads, revision: live.revision };
  };
  return [
    method('info', z.strictObject({}), () => {
      const { active, line } = manager.queue;
      const count = (name: string) => line.filter((item) => item.state === name).length;
      const { effect, nextChangeAt } = manager.schedule();
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
        schedule: {
          now: typeof effect === 'number' ? 'limit' : effect,
          limit: typeof effect === 'number' ? effect : undefined,
          nextChangeAt,
        },
      };
    }),
    method('status', z.strictObject({ gid }), (p) => viewOf(manager, manager.get(p.gid))),
    method(
      'list',
      z.strictObject({
        status: statuses.optional(),
        category: z.string().optional(),
        host: z.string().optional(),
        text: z.string().max(1024).optional(),
        sort: z.enum(SORT_KEYS).optional(),
        descending: z.boolean().optional(),
        ...page,
      }),
      list,
    ),
    method(
      'search',
      z.strictObject({ text: z.string().max(1024), status: statuses.optional(), ...page }),
      list,
    ),
    method('expired', z.strictObject({}), () => {
      const filter = { states: ['error'] as const };
      const { records } = manager.store.history(filter, { offset: 0, limit: MAX_PAGE });
      const all = [...manager.unfinished(), ...records].map((record) => viewOf(manager, record));
      return { downloads: all.filter(({ expiredLink }) => expiredLink) };
    }),
  ];
}

function downloadMethods({ manager }: MillraceOptions): [string, Method][] {
  const many = z.strictObject({ gids: gids.optional() });
  const all = () => manager.unfinished().map((record) => record.gid);
  const each = (given: readonly string[] | undefined, work: (gid: string) => boolean) => {
    // All are found before the first is touched.
    const full = given?.map((one) => manager.get(one).gid) ?? all();
    return { gids: manager.atOnce(() => full.filter(work)) };
  };
  return [
    method('add', z.looseObject({}), (p) => ({ gid: manager.add(p as never).gid })),
    method('pause', many, (p) => each(p.gids, (one) => manager.pause(one))),
    method('resume', many, (p) => each(p.gids, (one) => manager.resume(one))),
    method('retry', z.strictObject({ gids }), (p) => each(p.gids, (one) => manager.retry(one))),
    method('change', z.looseObject({ gid }), ({ gid: one, ...rest }) => {
      const full = manager.get(one).gid;
      manager.change(full, rest as never);
      return viewOf(manager, manager.get(full));
    }),
    method(
      'move',
      z.strictObject({
        gid,
        position: z.number().int(),
        how: z.enum(['set', 'current', 'end']).default('set'),
      }),
      (p) => {
        const full = manager.get(p.gid).gid;
        const position = manager.move(full, p.position, p.how);
        if (position < 0) throw new MillraceError('wrong-state', `${full} is not in the queue`);
        return { position };
      },
    ),
    method('addUrl', z.strictObject({ gid, url: z.string() }), (p) => {
      const record = manager.get(p.gid);
      if (isFinished(record.state)) throw new MillraceError('wrong-state', 'it is finished');
      manager.setUrls(record.gid, [...record.request.urls, p.url]);
      return {};
    }),
    method('replaceUrl', z.strictObject({ gid, url: z.string() }), async (p) => {
      const full = manager.get(p.gid).gid;
      // One that is refused changes nothing.
      await manager.checkLink(full, p.url);
      manager.replaceUrl(full, p.url);
      return viewOf(manager, manager.get(full));
    }),
  ];
}

function insideMethods({ manager, streams }: MillraceOptions): [string, Method][] {
  return [
    method(
      'strip',
      z.strictObject({ gid, cells: z.number().int().min(1).max(MAX_STRIP).default(100) }),
      (p) => {
        const { state, length, gid: full } = manager.get(p.gid);
        const progress = manager.running(full)?.progress();
        const whole = Array.from({ length: p.cells }, () => 1);
        const cells = state === 'complete' ? whole : (progress?.strip(p.cells) ?? []);
        return { length: progress?.length ?? length, cells };
      },
    ),
    method('stream', z.strictObject({ gid }), async (p) => ({
      url: await streams.open(manager.get(p.gid).gid),
    })),
    method('sources', z.strictObject({ gid }), (p) => {
      const { gid: full } = manager.get(p.gid);
      return { sources: manager.running(full)?.progress().sources ?? [] };
    }),
  ];
}

function connectionMethods({
  notifier,
  loginLink,
  loginPage,
  onShutdown,
}: MillraceOptions): [string, Method][] {
  return [
    method(
      'subscribe',
      z.strictObject({
        progressMs: z.number().int().min(200).max(60_000).default(1000),
        gids: gids.optional(),
      }),
      (p, context) => {
        const wanted = p.gids === undefined ? undefined : new Set(p.gids);
        notifier.subscribe(subscriberOf(context), p.progressMs, wanted);
        return {};
      },
    ),
    method('unsubscribe', z.strictObject({}), (_, context) => {
      notifier.unsubscribe(subscriberOf(context));
      return {};
    }),
    method('loginLink', z.strictObject({}), (_, { token }) => {
      if (token !== true) throw new RpcError(UNAUTHORIZED);
      return { url: loginLink() };
    }),
    method('loginPage', z.strictObject({}), async (_, { token }) => {
      if (token !== true) throw new RpcError(UNAUTHORIZED);
      return { path: await loginPage() };
    }),
    method('shutdown', z.strictObject({}), () => {
      setImmediate(onShutdown);
      return {};
    }),
  ];
}
