/** Schemas of settings as callers give them, for the methods and for the stored settings. */

import * as z from 'zod';
import {
  DAYS,
  MAX_WINDOWS,
  parseMinute,
  type ScheduleWindow,
} from '../../download/queue/schedule.ts';
import { MAX_TRASH_DAYS } from '../../download/queue/trash.ts';
import { MAX_PER_HOST } from '../../download/transfer/host-limits.ts';
import { DENSITIES, MAX_CONCURRENT, THEMES } from '../rpc/settings-api.ts';

const MAX_PREFERENCE_CHARS = 2048;

const bytesPerSecond = z.number().int().min(1);
const downloadsAtATime = z.number().int().min(1).max(MAX_CONCURRENT);

const timeOfDay = z.string().transform((text, context) => {
  const minute = parseMinute(text);
  if (minute !== undefined) return minute;
  context.addIssue({ code: 'custom', message: 'is not a time of day such as 08:30' });
  return z.NEVER;
});

const windowSchema = z
  .strictObject({
    days: z.array(z.enum(DAYS)).min(1).max(DAYS.length),
    from: timeOfDay,
    to: timeOfDay,
    pause: z.boolean().optional(),
    limit: bytesPerSecond.optional(),
  })
  .refine((w) => (w.pause === true) !== (w.limit !== undefined), 'has either pause or limit');

export const windowsSchema = z
  .array(windowSchema)
  .max(MAX_WINDOWS)
  .transform((windows): ScheduleWindow[] =>
    windows.map((w) => ({
      days: w.days,
      fromMinute: w.from,
      toMinute: w.to,
      effect: w.limit ?? 'pause',
    })),
  )
  .describe('Times in which downloads wait or are limited: HH:MM, local.');

export const categoriesSchema = z.array(
  z.strictObject({ name: z.string(), folder: z.string(), extensions: z.array(z.string()) }),
);

/** Changes to the limits: members that are left out stay as they are. */
export const limitsChange = z.strictObject({
  limit: bytesPerSecond.nullable().optional().describe('Bytes per second over all; null: none.'),
  concurrent: downloadsAtATime.optional().describe('Downloads at a time.'),
  perHost: downloadsAtATime
    .nullable()
    .optional()
    .describe('Downloads at a time from one host; null: no limit.'),
});

const preference = z.union([z.string().max(MAX_PREFERENCE_CHARS), z.number(), z.boolean()]);
const preferenceName = z.string().min(1).max(64);

/** Settings of page and shell, and defaults of new downloads. */
export const appParts = {
  proxy: z.string().min(1).max(2048).nullable(),
  defaults: z.object({
    useEdges: z.boolean(),
    connections: z.number().int().min(1).max(MAX_PER_HOST),
    sidecars: z.boolean(),
  }),
  appearance: z.object({ theme: z.enum(THEMES), density: z.enum(DENSITIES) }),
  trash: z.object({
    days: z.number().int().min(0).max(MAX_TRASH_DAYS),
    maxBytes: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  }),
  browserFolder: z.boolean(),
  house: z.boolean(),
  language: z.string().regex(/^(?:system|[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8})*)$/),
  preferences: z.record(preferenceName, preference),
};

/** Changes to settings: members that are left out stay; lists are replaced as a whole. */
export const settingsChange = z.strictObject({
  proxy: appParts.proxy.optional(),
  defaults: z.strictObject(appParts.defaults.shape).partial().optional(),
  appearance: z.strictObject(appParts.appearance.shape).partial().optional(),
  trash: z.strictObject(appParts.trash.shape).partial().optional(),
  browserFolder: appParts.browserFolder.optional(),
  house: appParts.house.optional(),
  language: appParts.language.optional(),
  preferences: z.record(preferenceName, preference.nullable()).optional(),
  dir: z.string().min(1).max(4096).nullable().optional(),
  categories: categoriesSchema.optional(),
  limits: limitsChange.optional(),
  windows: windowsSchema.optional(),
});
