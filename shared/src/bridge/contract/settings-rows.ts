/** Methods for the daemon's settings. */

import * as z from 'zod';
import { MAX_URL_CHARS } from '../../base/limits.ts';
import { MAX_KEY_CHARS } from '../../download/request/request.ts';
import {
  MAX_RESOLVER_SECONDS,
  MAX_RESOLVERS,
  RESOLVER_SECONDS,
} from '../../download/resolve/resolved.ts';
import { MAX_KEY_PATTERNS } from '../../download/signatures/own-key.ts';
import {
  categories,
  keyList,
  learnedLimits as limits,
  resolvers,
  resolverTest,
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

/** A resolver as callers give it; the engine checks its words and patterns. */
const resolverGiven = z.strictObject({
  name: z.string(),
  args: z.array(z.string()).describe('Program and arguments: no shell reads them.'),
  patterns: z.array(z.string()).default([]).describe('Links that it is for.'),
  seconds: z.number().int().min(1).max(MAX_RESOLVER_SECONDS).default(RESOLVER_SECONDS),
  prints: z.enum(['answer', 'yt-dlp']).default('answer'),
  off: z.literal(true).optional().describe('It is not asked.'),
});

export const SETTINGS_ROWS = {
  'millrace.getSettings': { summary: 'Shows all settings.', params: nothing, result: settings },
  'millrace.setSettings': {
    summary: 'Changes settings; lists are replaced as a whole.',
    params: settingsChange,
    result: settings,
  },
  'millrace.getResolvers': {
    summary: 'Shows the programs that find links to files. Only on the daemon’s own machine.',
    params: nothing,
    result: resolvers,
  },
  'millrace.setResolvers': {
    summary:
      'Replaces the programs that find links to files, and their order. Only on the daemon’s own machine.',
    params: z.strictObject({ resolvers: z.array(resolverGiven).max(MAX_RESOLVERS) }),
    result: resolvers,
  },
  'millrace.testResolver': {
    summary:
      'Asks a resolver about a link, and downloads nothing. Only on the daemon’s own machine.',
    params: z.strictObject({
      url: z.string().min(1).max(MAX_URL_CHARS),
      resolver: z.string().max(64).optional().describe('Default: the first one that is for it.'),
    }),
    result: resolverTest,
    waits: true,
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
