/** Methods for the daemon's settings. */

import * as z from 'zod';
import {
  categories,
  learnedLimits as limits,
  resolvers,
  schedule,
  appSettings as settings,
  systemProxy,
} from '../results/settings-results.ts';
import { nothing } from './params.ts';
import type { Rows } from './row.ts';
import {
  categoriesSchema,
  limitsChange,
  settingsChange,
  windowsSchema,
} from './settings-schema.ts';

export const SETTINGS_ROWS = {
  'millrace.getSettings': { summary: 'Shows all settings.', params: nothing, result: settings },
  'millrace.setSettings': {
    summary: 'Changes settings; lists are replaced as a whole.',
    params: settingsChange,
    result: settings,
  },
  'millrace.getResolvers': {
    summary:
      'Shows the programs that find links to files. The command line sets them up, no method does. Only on the daemon’s own machine.',
    params: nothing,
    result: resolvers,
  },
  'millrace.getSystemProxy': {
    summary: 'Shows what environment and system say about proxies.',
    params: nothing,
    result: systemProxy,
  },
  'millrace.getLimits': { summary: 'Shows the limits.', params: nothing, result: limits },
  'millrace.setLimits': {
    summary: 'Changes limits, or forgets the learned limits of hosts.',
    params: limitsChange.extend({
      forgetHosts: z.boolean().optional().describe('Forget the learned limits of all hosts.'),
      forgetHost: z.string().max(300).optional().describe('Forget the learned limit of this host.'),
    }),
    result: limits,
  },
  'millrace.getSchedule': { summary: 'Shows the schedule.', params: nothing, result: schedule },
  'millrace.setSchedule': {
    summary: 'Replaces the schedule.',
    params: z.strictObject({ windows: windowsSchema }),
    result: schedule,
  },
  'millrace.getCategories': {
    summary: 'Shows the categories.',
    params: nothing,
    result: categories,
  },
  'millrace.setCategories': {
    summary: 'Replaces the categories.',
    params: z.strictObject({ categories: categoriesSchema }),
    result: categories,
  },
} as const satisfies Rows;
