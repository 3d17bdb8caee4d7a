/** Methods for the daemon's settings. */

import * as z from 'zod';
import { MAX_KEY_CHARS } from '../../download/request/request.ts';
import { MAX_KEY_PATTERNS } from '../../download/signatures/own-key.ts';
import {
  categories,
  keyList,
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
  'millrace.getKeys': {
    summary: 'Shows the keys that may vouch for files.',
    params: nothing,
    result: keyList,
  },
  'millrace.addKey': {
    summary: 'Adds public keys that may vouch for files. Only on the daemon’s own machine.',
    params: z.strictObject({
      text: z.string().max(MAX_KEY_CHARS).describe('OpenPGP, armored or in base64, or minisign.'),
      fingerprint: z
        .string()
        .max(200)
        .optional()
        .describe('Only the key that has it is taken; absent: all in the text.'),
      name: z.string().max(200).optional().describe('Name to show; absent: that of the key.'),
      patterns: z.array(z.string().max(2048)).max(MAX_KEY_PATTERNS).default([]),
    }),
    result: keyList,
  },
  'millrace.removeKey': {
    summary: 'Removes a key of the user. Only on the daemon’s own machine.',
    params: z.strictObject({ fingerprint: z.string().max(200) }),
    result: keyList,
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
