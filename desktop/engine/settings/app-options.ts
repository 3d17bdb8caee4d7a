/** What page and shell are set to, and what new downloads are like: checked, with defaults. */

import { MillraceError } from '@millrace/shared/base/errors';
import {
  DEFAULT_APPEARANCE,
  DEFAULT_DOWNLOADS,
  DENSITIES,
  type SettingsChange,
  THEMES,
} from '@millrace/shared/bridge/rpc/settings-api';
import { DEFAULT_TRASH, MAX_TRASH_DAYS } from '@millrace/shared/download/queue/trash';
import { MAX_PER_HOST } from '@millrace/shared/download/transfer/host-limits';
import { tryRead } from '@millrace/shared/schema/read';
import { z } from 'zod';
import { parseProxy } from '../net/proxy-settings.ts';

const MAX_PREFERENCES = 64;
const MAX_PREFERENCE_CHARS = 2048;

const preference = z.union([z.string().max(MAX_PREFERENCE_CHARS), z.number(), z.boolean()]);
const preferenceName = z.string().min(1).max(64);

const appearance = z.object({ theme: z.enum(THEMES), density: z.enum(DENSITIES) });
const downloads = z.object({
  useEdges: z.boolean(),
  connections: z.number().int().min(1).max(MAX_PER_HOST),
  sidecars: z.boolean(),
});
const trash = z.object({
  days: z.number().int().min(0).max(MAX_TRASH_DAYS),
  maxBytes: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
});
const language = z.string().regex(/^(?:system|[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8})*)$/);
const proxy = z.string().min(1).max(2048).nullable();

/** What is taken for limits that cannot be read: nothing is deleted that the user may want to keep. */
const LONGEST_TRASH = { days: MAX_TRASH_DAYS, maxBytes: Number.MAX_SAFE_INTEGER };

/** As it is kept; a member that is missing, or that an older version does not know, is the usual. */
export const appSchema = z.object({
  proxy: proxy.catch(null),
  defaults: downloads.catch(DEFAULT_DOWNLOADS),
  appearance: appearance.catch(DEFAULT_APPEARANCE),
  trash: trash.default(DEFAULT_TRASH).catch(LONGEST_TRASH),
  browserFolder: z.boolean().catch(true),
  language: language.catch('system'),
  preferences: z.record(preferenceName, preference).catch({}),
});

/** Names of members that are there and cannot be read. */
export function damagedParts(kept: unknown): string[] {
  const parts = {
    proxy,
    defaults: downloads,
    appearance,
    trash,
    browserFolder: z.boolean(),
    language,
  };
  const preferences = z.record(preferenceName, preference);
  const members = Object.entries({ ...parts, preferences });
  return members.flatMap(([name, schema]) => {
    const value = (kept as Record<string, unknown> | null)?.[name];
    return value === undefined || tryRead(schema, value).success ? [] : name;
  });
}

export type AppOptions = Readonly<z.infer<typeof appSchema>>;

/** Changes as a client gives them. */
export const appChangeSchema = z.strictObject({
  proxy: proxy.optional(),
  defaults: z.strictObject(downloads.shape).partial().optional(),
  appearance: z.strictObject(appearance.shape).partial().optional(),
  trash: z.strictObject(trash.shape).partial().optional(),
  browserFolder: z.boolean().optional(),
  language: language.optional(),
  preferences: z.record(preferenceName, preference.nullable()).optional(),
});

type AppChange = Pick<SettingsChange, keyof z.infer<typeof appChangeSchema>>;

/** @throws MillraceError `bad-option` for too many preferences, or a proxy that is none */
export function changedApp(now: AppOptions, change: AppChange): AppOptions {
  const preferences = { ...now.preferences };
  for (const [name, value] of Object.entries(change.preferences ?? {})) {
    if (value === null) delete preferences[name];
    else preferences[name] = value;
  }
  if (Object.keys(preferences).length > MAX_PREFERENCES) {
    throw new MillraceError('bad-option', `at most ${MAX_PREFERENCES} preferences are kept`);
  }
  return {
    proxy: change.proxy === undefined ? now.proxy : checkProxy(change.proxy),
    defaults: { ...now.defaults, ...change.defaults },
    appearance: { ...now.appearance, ...change.appearance },
    trash: { ...now.trash, ...change.trash },
    browserFolder: change.browserFolder ?? now.browserFolder,
    language: change.language ?? now.language,
    preferences,
  };
}

function checkProxy(text: string | null): string | null {
  if (text !== null && text !== 'direct') parseProxy(text, 'proxy');
  return text;
}
