/** Methods for limits, schedule and categories. */

import {
  DAYS,
  MAX_WINDOWS,
  parseMinute,
  type ScheduleWindow,
} from '@millrace/shared/download/queue/schedule';
import { MAX_PER_HOST } from '@millrace/shared/download/transfer/host-limits';
import { z } from 'zod';
import type { Manager } from '../../downloads/manager.ts';
import { limitsSchema } from '../../settings/settings.ts';
import { formatWindow } from '../../views/app-settings.ts';
import { scheduleNow } from '../../views/totals.ts';
import type { Method } from '../calls/dispatcher.ts';
import { method } from './params.ts';

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
    limit: z.number().int().min(1).optional(),
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
  );

export const categoriesSchema = z.array(
  z.strictObject({ name: z.string(), folder: z.string(), extensions: z.array(z.string()) }),
);

export function settingMethods(manager: Manager): [string, Method][] {
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
  return [
    method('getLimits', z.strictObject({}), limits),
    method(
      'setLimits',
      z.strictObject({
        limit: limitsSchema.shape.limit.unwrap().nullable().optional(),
        concurrent: limitsSchema.shape.concurrent.optional(),
        perHost: limitsSchema.shape.perHost.unwrap().nullable().optional(),
        forgetHosts: z.boolean().optional(),
        forgetHost: z.string().max(300).optional(),
      }),
      ({ limit, concurrent, perHost, forgetHosts, forgetHost }) => {
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
    ),
    method('getSchedule', z.strictObject({}), () => scheduleOf(manager)),
    method('setSchedule', z.strictObject({ windows: windowsSchema }), ({ windows }) => {
      manager.settings.windows = windows;
      manager.settingsChanged();
      return scheduleOf(manager);
    }),
    method('getCategories', z.strictObject({}), () => ({
      categories: manager.settings.categories,
    })),
    method(
      'setCategories',
      z.strictObject({
        categories: categoriesSchema,
      }),
      ({ categories }) => {
        manager.settings.categories = categories;
        manager.settingsChanged();
        return { categories: manager.settings.categories };
      },
    ),
  ];
}

function scheduleOf(manager: Manager) {
  return { windows: manager.settings.windows.map(formatWindow), ...scheduleNow(manager) };
}
