/** Methods for limits, schedule and categories. */

import {
  DAYS,
  formatMinute,
  MAX_WINDOWS,
  parseMinute,
  type ScheduleWindow,
} from '@millrace/shared/download/schedule';
import { z } from 'zod';
import type { Manager } from '../daemon/manager.ts';
import { limitsSchema } from '../daemon/settings.ts';
import type { Method } from './dispatcher.ts';
import { method } from './millrace-methods.ts';

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

export function settingMethods(manager: Manager): [string, Method][] {
  const limits = () => ({
    ...manager.settings.limits,
    hosts: manager.hosts.known.map(({ host, limit, restsUntil, changedAt }) => ({
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
      }),
      ({ limit, concurrent, perHost, forgetHosts }) => {
        const now = manager.settings.limits;
        manager.setLimits({
          concurrent: concurrent ?? now.concurrent,
          limit: limit === undefined ? now.limit : (limit ?? undefined),
          perHost: perHost === undefined ? now.perHost : (perHost ?? undefined),
        });
        if (forgetHosts === true) manager.hosts.forgetAll();
        return limits();
      },
    ),
    method('getSchedule', z.strictObject({}), () => scheduleOf(manager)),
    method(
      'setSchedule',
      z.strictObject({ windows: z.array(windowSchema).max(MAX_WINDOWS) }),
      ({ windows }) => {
        manager.settings.windows = windows.map((w) => ({
          days: w.days,
          fromMinute: w.from,
          toMinute: w.to,
          effect: w.limit ?? 'pause',
        }));
        manager.settingsChanged();
        return scheduleOf(manager);
      },
    ),
    method('getCategories', z.strictObject({}), () => ({
      categories: manager.settings.categories,
    })),
    method(
      'setCategories',
      z.strictObject({
        categories: z.array(
          z.strictObject({
            name: z.string(),
            folder: z.string(),
            extensions: z.array(z.string()),
          }),
        ),
      }),
      ({ categories }) => {
        manager.settings.categories = categories;
        return { categories: manager.settings.categories };
      },
    ),
  ];
}

function scheduleOf(manager: Manager) {
  const { effect, nextChangeAt } = manager.schedule();
  return {
    windows: manager.settings.windows.map(formatWindow),
    now: typeof effect === 'number' ? 'limit' : effect,
    limit: typeof effect === 'number' ? effect : undefined,
    nextChangeAt,
  };
}

function formatWindow({ days, fromMinute, toMinute, effect }: ScheduleWindow) {
  const times = { days, from: formatMinute(fromMinute), to: formatMinute(toMinute) };
  return effect === 'pause' ? { ...times, pause: true } : { ...times, limit: effect };
}
