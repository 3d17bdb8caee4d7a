/**
 * The daemon's settings: limits, schedule, categories. They are checked when read, and stored when
 * changed.
 */

import { MAX_EDGES } from '@millrace/shared/bridge/rpc/edge-api';
import { MAX_CONCURRENT } from '@millrace/shared/bridge/rpc/settings-api';
import { MAX_DEPOTS } from '@millrace/shared/bridge/rpc/share-api';
import { DAYS, MAX_WINDOWS, type ScheduleWindow } from '@millrace/shared/download/queue/schedule';
import {
  type Category,
  checkCategories,
  DEFAULT_CATEGORIES,
} from '@millrace/shared/download/request/category';
import { readList, readOrThrow, tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { SettingStore } from '../store/small-stores.ts';
import { type AfterSettings, afterSchema, NO_AFTER } from './after-settings.ts';
import { type AppOptions, appSchema, damagedParts } from './app-options.ts';
import { depotSchema, type KeptDepot } from './kept-depots.ts';
import { edgeSchema, type KeptEdge } from './kept-edges.ts';

export interface Limits {
  /** Bytes per second over all downloads; undefined for no limit. */
  readonly limit?: number | undefined;
  /** Most downloads at a time. */
  readonly concurrent: number;
  /** Most downloads at a time from one host; undefined for no limit. */
  readonly perHost?: number | undefined;
}

const DEFAULT_LIMITS: Limits = { concurrent: 5 };

const limitsSchema = z.object({
  limit: z.number().int().min(1).optional(),
  concurrent: z.number().int().min(1).max(MAX_CONCURRENT),
  perHost: z.number().int().min(1).max(MAX_CONCURRENT).optional(),
});

const minute = z.number().int().min(0).max(1439);
const windowSchema = z.object({
  days: z.array(z.enum(DAYS)).min(1).max(7),
  fromMinute: minute,
  toMinute: minute,
  effect: z.union([z.literal('pause'), z.number().int().min(1)]),
});

const categorySchema = z.object({
  name: z.string(),
  folder: z.string(),
  extensions: z.array(z.string()),
});

const optionsSchema = z.record(z.string(), z.string());

export class Settings {
  readonly #store: SettingStore;
  #limits: Limits;
  #windows: readonly ScheduleWindow[];
  #categories: readonly Category[];
  #aria2: Readonly<Record<string, string>>;
  #dir: string | undefined;
  #edges: readonly KeptEdge[];
  #depots: readonly KeptDepot[];
  #app: AppOptions;
  #after: AfterSettings;

  constructor(store: SettingStore) {
    this.#store = store;
    this.#limits = read(store, 'limits', limitsSchema) ?? DEFAULT_LIMITS;
    this.#windows = readItems(store, 'schedule', windowSchema)?.slice(0, MAX_WINDOWS) ?? [];
    this.#categories = readItems(store, 'categories', categorySchema) ?? DEFAULT_CATEGORIES;
    this.#aria2 = read(store, 'aria2', optionsSchema) ?? {};
    this.#dir = read(store, 'dir', z.string());
    this.#edges = readItems(store, 'edges', edgeSchema)?.slice(0, MAX_EDGES) ?? [];
    this.#depots = readItems(store, 'depots', depotSchema)?.slice(0, MAX_DEPOTS) ?? [];
    this.#app = readApp(store);
    this.#after = read(store, 'after', afterSchema) ?? NO_AFTER;
  }

  get limits(): Limits {
    return this.#limits;
  }

  set limits(limits: Limits) {
    this.#limits = limits;
    this.#store.set('limits', limits);
  }

  get windows(): readonly ScheduleWindow[] {
    return this.#windows;
  }

  set windows(windows: readonly ScheduleWindow[]) {
    this.#windows = windows;
    this.#store.set('schedule', windows);
  }

  get categories(): readonly Category[] {
    return this.#categories;
  }

  /** @throws MillraceError `bad-option` */
  set categories(categories: readonly Category[]) {
    this.#categories = checkCategories(categories);
    this.#store.set('categories', this.#categories);
  }

  /** aria2's global options, as clients have set them. */
  get aria2(): Readonly<Record<string, string>> {
    return this.#aria2;
  }

  set aria2(options: Readonly<Record<string, string>>) {
    this.#aria2 = options;
    this.#store.set('aria2', options);
  }

  /** Edges that the user has set up. */
  get edges(): readonly KeptEdge[] {
    return this.#edges;
  }

  set edges(edges: readonly KeptEdge[]) {
    this.#edges = edges;
    this.#store.set('edges', edges);
  }

  /** Depots that the user has set up, with the user's tokens. */
  get depots(): readonly KeptDepot[] {
    return this.#depots;
  }

  set depots(depots: readonly KeptDepot[]) {
    this.#depots = depots;
    this.#store.set('depots', depots);
  }

  /** Settings of the page and the shell, and defaults of new downloads. */
  get app(): AppOptions {
    return this.#app;
  }

  set app(options: AppOptions) {
    this.#app = options;
    this.#store.set('app', options);
  }

  /** Rules, commands and the webhook for the time after downloads, with the webhook's secret. */
  get after(): AfterSettings {
    return this.#after;
  }

  set after(after: AfterSettings) {
    this.#after = after;
    this.#store.set('after', after);
  }

  /** Download folder that a client has chosen; undefined for the one given at the start. */
  get dir(): string | undefined {
    return this.#dir;
  }

  set dir(dir: string | undefined) {
    this.#dir = dir;
    this.#store.set('dir', dir);
  }
}

function read<T>(store: SettingStore, name: string, schema: z.ZodType<T>): T | undefined {
  const value = store.get(name);
  // `null` is the stored form of undefined.
  if (value === undefined || value === null) return undefined;
  const result = tryRead(schema, value);
  if (!result.success) store.isDamaged(name, 'it is as if it had never been set');
  return result.success ? result.data : undefined;
}

/**
 * Reads the app's options. Unreadable limits of the trash become the longest, because shorter ones
 * would delete entries.
 */
function readApp(store: SettingStore): AppOptions {
  const damaged = store.has('app') ? { trash: null } : {};
  const kept = store.get('app') ?? damaged;
  const parts = damagedParts(kept);
  if (parts.length > 0) store.isDamaged('app', parts.join(', '));
  return tryRead(appSchema, kept).data ?? readOrThrow(appSchema, damaged);
}

/** Reads a list and drops its damaged items; undefined if there is no list. */
function readItems<S extends z.ZodType>(
  store: SettingStore,
  name: string,
  item: S,
): z.output<S>[] | undefined {
  const value = store.get(name);
  if (value === undefined || value === null) return undefined;
  const { items, refused } = readList(item, value);
  if (refused > 0) store.isDamaged(name, `${refused} of its entries`);
  return Array.isArray(value) ? items : undefined;
}
