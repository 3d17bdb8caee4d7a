/** Methods for the daemon's settings. */

import { SETTINGS_ROWS } from '@millrace/shared/bridge/contract/settings-rows';
import {
  type KeyList,
  type Resolvers,
  type ScheduleView,
  YT_DLP,
} from '@millrace/shared/bridge/rpc/settings-api';
import { SIGNERS } from '@millrace/shared/download/signatures/signers';
import { MAX_PER_HOST } from '@millrace/shared/download/transfer/host-limits';
import { findProgram } from '../../after/programs.ts';
import type { Manager } from '../../downloads/manager.ts';
import { systemProxyState } from '../../proxy/system-ways.ts';
import { addKeys, readKeyList, removeKey } from '../../signatures/key-list.ts';
import { changeSettings, formatWindow, settingsOf } from '../../views/app-settings.ts';
import { scheduleNow } from '../../views/totals.ts';
import type { Method } from '../calls/dispatcher.ts';
import { type MillraceOptions, methodsOf } from './params.ts';

export function settingMethods({ manager, local, state }: MillraceOptions): [string, Method][] {
  const limits = () => ({
    ...manager.settings.limits,
    hosts: manager.hosts.known
      .filter(({ limit, restsUntil }) => limit < MAX_PER_HOST || restsUntil > Date.now())
      .map(({ host, limit, restsUntil, changedAt }) => ({
        host,
        limit,
        restsUntil: restsUntil > Date.now() ? restsUntil : undefined,
        learnedAt: changedAt,
      })),
  });
  const all = async () => {
    await local.refresh();
    return settingsOf(manager, local.url);
  };
  return methodsOf(SETTINGS_ROWS, {
    'millrace.getSettings': all,
    'millrace.setSettings': (change) => {
      changeSettings(manager, change);
      return all();
    },
    'millrace.getResolvers': () => resolversOf(manager),
    'millrace.setResolvers': async ({ resolvers }) => {
      await manager.resolvedLinks.set(resolvers);
      return resolversOf(manager);
    },
    'millrace.testResolver': async ({ url, resolver }) => {
      const found = await manager.resolvedLinks.test(url, resolver);
      if (found === undefined) return { urls: [], digests: [], fields: [] };
      const { headers, ...answer } = found.answer;
      return { by: found.by, ...answer, fields: Object.keys(headers) };
    },
    'millrace.getKeys': () => keysOf(state),
    'millrace.addKey': async (asked) => {
      await addKeys(state, asked);
      return keysOf(state);
    },
    'millrace.removeKey': async ({ fingerprint }) => {
      await removeKey(state, fingerprint);
      return keysOf(state);
    },
    'millrace.getSystemProxy': () => systemProxyState(process.env),
    'millrace.getLimits': limits,
    'millrace.setLimits': ({ limit, concurrent, perHost, forgetHosts, forgetHost }) => {
      const now = manager.settings.limits;
      manager.setLimits({
        concurrent: concurrent ?? now.concurrent,
        limit: limit === undefined ? now.limit : (limit ?? undefined),
        perHost: perHost === undefined ? now.perHost : (perHost ?? undefined),
      });
      if (forgetHosts === true) manager.hosts.forgetAll();
      if (forgetHost !== undefined) manager.hosts.forget(forgetHost);
      return limits();
    },
    'millrace.getSchedule': () => scheduleOf(manager),
    'millrace.setSchedule': ({ windows }) => {
      manager.settings.windows = windows;
      manager.settingsChanged();
      return scheduleOf(manager);
    },
    'millrace.getCategories': () => ({ categories: manager.settings.categories }),
    'millrace.setCategories': ({ categories }) => {
      manager.settings.categories = categories;
      manager.settingsChanged();
      return { categories: manager.settings.categories };
    },
  });
}

async function resolversOf(manager: Manager): Promise<Resolvers> {
  const resolvers = await manager.resolvedLinks.list();
  const isSet = resolvers.some(({ name }) => name === YT_DLP.name);
  const ytDlp = isSet ? undefined : await findProgram(YT_DLP.args);
  return { resolvers, ...(ytDlp === undefined ? {} : { ytDlp }) };
}

async function keysOf(state: string): Promise<KeyList> {
  const keys = await readKeyList(state);
  return {
    keys: keys.map(({ fingerprint, name, patterns }) => ({
      fingerprint,
      name,
      patterns: [...patterns],
    })),
    shipped: SIGNERS.map(({ name, fingerprints }) => ({ name, fingerprints: [...fingerprints] })),
  };
}

function scheduleOf(manager: Manager): ScheduleView {
  return { windows: manager.settings.windows.map(formatWindow), ...scheduleNow(manager) };
}
