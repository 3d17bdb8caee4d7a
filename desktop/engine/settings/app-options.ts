/**
 * Settings of the page and the shell, and defaults of new downloads: their checks and default
 * values.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { appParts } from '@millrace/shared/bridge/contract/settings-schema';
import {
  DEFAULT_APPEARANCE,
  DEFAULT_DOWNLOADS,
  type SettingsChange,
} from '@millrace/shared/bridge/rpc/settings-api';
import { DEFAULT_TRASH, MAX_TRASH_DAYS } from '@millrace/shared/download/queue/trash';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { parseProxy } from '../proxy/proxy-settings.ts';

const MAX_PREFERENCES = 64;

const { proxy, defaults, appearance, trash, browserFolder, house, language, preferences } =
  appParts;

/**
 * Limits that replace unreadable ones, so that the trash deletes nothing the user may want to keep.
 */
const LONGEST_TRASH = { days: MAX_TRASH_DAYS, maxBytes: Number.MAX_SAFE_INTEGER };

/** The stored form. A missing or unreadable field gets its default. */
export const appSchema = z.object({
  proxy: proxy.catch(null),
  defaults: defaults.catch(DEFAULT_DOWNLOADS),
  appearance: appearance.catch(DEFAULT_APPEARANCE),
  trash: trash.default(DEFAULT_TRASH).catch(LONGEST_TRASH),
  browserFolder: browserFolder.catch(true),
  house: house.catch(false),
  language: language.catch('system'),
  preferences: preferences.catch({}),
});

/** Returns the names of fields that are present and unreadable. */
export function damagedParts(kept: unknown): string[] {
  const members = Object.entries(appParts);
  return members.flatMap(([name, schema]) => {
    const value = (kept as Record<string, unknown> | null)?.[name];
    return value === undefined || tryRead(schema, value).success ? [] : name;
  });
}

export type AppOptions = Readonly<z.infer<typeof appSchema>>;

type AppChange = Pick<SettingsChange, keyof typeof appParts>;

/**
 * Returns the options after a change.
 *
 * @throws MillraceError `bad-option` for too many preferences, or an invalid proxy
 */
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
    house: change.house ?? now.house,
    language: change.language ?? now.language,
    preferences,
  };
}

function checkProxy(text: string | null): string | null {
  if (text !== null && text !== 'direct' && text !== 'system') parseProxy(text, 'proxy');
  return text;
}
