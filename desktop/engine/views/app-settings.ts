/** All settings as one object, for the page and the shell, and changes of some of them. */

import { isAbsolute } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { EdgeEntry } from '@millrace/shared/bridge/rpc/edge-api';
import type {
  AppSettings,
  SettingsChange,
  WindowView,
} from '@millrace/shared/bridge/rpc/settings-api';
import { formatMinute, type ScheduleWindow } from '@millrace/shared/download/queue/schedule';
import { localEdge } from '../../local/local-edge.ts';
import type { Manager } from '../downloads/manager.ts';
import { changedApp } from '../settings/app-options.ts';
import type { Settings } from '../settings/settings.ts';

/**
 * Returns all settings.
 *
 * @param local address of the edge that runs on this machine for its user; undefined if none runs
 */
export function settingsOf(manager: Manager, local: string | undefined): AppSettings {
  const { limits, windows, categories, app } = manager.settings;
  return {
    dir: manager.dir,
    categories,
    edges: edgesOf(manager.settings, local),
    // Without their tokens.
    depots: manager.settings.depots.map(({ url, name }) => ({ url, name })),
    limits: {
      limit: limits.limit ?? null,
      concurrent: limits.concurrent,
      perHost: limits.perHost ?? null,
    },
    windows: windows.map(formatWindow),
    ...app,
  };
}

export function edgesOf({ edges }: Settings, local: string | undefined): EdgeEntry[] {
  const known = edges.map((edge) => ({ ...edge, local: edge.url === local }));
  if (local === undefined || known.some((edge) => edge.local)) return known;
  return [{ url: local, name: '', enabled: true, local: true }, ...known];
}

/** Returns the addresses of the edges that are switched on. */
export function usableEdges(settings: Settings, local: string | undefined): string[] {
  return edgesOf(settings, local).flatMap(({ url, enabled }) => (enabled ? url : []));
}

export function formatWindow({ days, fromMinute, toMinute, effect }: ScheduleWindow): WindowView {
  const times = { days, from: formatMinute(fromMinute), to: formatMinute(toMinute) };
  return effect === 'pause' ? { ...times, pause: true } : { ...times, limit: effect };
}

/** A change of settings whose windows have been parsed. */
export type Change = Omit<SettingsChange, 'windows'> & {
  readonly windows?: readonly ScheduleWindow[] | undefined;
};

/** Makes a change. @throws MillraceError `bad-option`; nothing has been changed then */
export function changeSettings(manager: Manager, change: Change): void {
  const { settings } = manager;
  if (typeof change.dir === 'string' && !isAbsolute(change.dir)) {
    throw new MillraceError('bad-option', { code: 'dir-not-absolute' });
  }
  // Check everything that can be refused before any of it is stored.
  const app = changedApp(settings.app, change);
  if (change.categories !== undefined) settings.categories = change.categories;
  settings.app = app;
  if (change.dir !== undefined) settings.dir = change.dir ?? undefined;
  if (change.windows !== undefined) settings.windows = change.windows;
  const { limit, concurrent, perHost } = change.limits ?? {};
  const now = settings.limits;
  settings.limits = {
    limit: limit === undefined ? now.limit : (limit ?? undefined),
    concurrent: concurrent ?? now.concurrent,
    perHost: perHost === undefined ? now.perHost : (perHost ?? undefined),
  };
  manager.settingsChanged();
}

/** Keeps the address of the local edge, so that other code need not wait for a look-up. */
export class LocalEdge {
  url: string | undefined;

  /** Looks up the local edge. @returns whether it has started, stopped or moved */
  async refresh(): Promise<boolean> {
    const before = this.url;
    this.url = await localEdge();
    return this.url !== before;
  }
}
