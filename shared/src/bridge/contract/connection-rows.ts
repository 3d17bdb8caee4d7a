/** Methods for the connection to the daemon, and for the daemon itself. */

import * as z from 'zod';
import { MAX_URL_CHARS } from '../../base/limits.ts';
import { MAX_OFFERED_URLS } from '../page/session-api.ts';
import { downloadDetail, watchResult } from '../results/detail-results.ts';
import { nothing as done } from '../results/download-results.ts';
import { named } from '../results/named.ts';
import { MAX_CELLS } from '../rpc/detail-api.ts';
import { gid, gids, nothing } from './params.ts';
import type { Rows } from './row.ts';

const DEFAULT_CELLS = 400;
const cells = z
  .number()
  .int()
  .min(1)
  .max(MAX_CELLS)
  .default(DEFAULT_CELLS)
  .describe('Parts of the map of the file.');
const loginLink = named('LoginLink', 'A link that logs in to the page.', {
  url: z.string().describe('Logs in the browser that opens it. Works once, for a minute.'),
});
const loginPage = named('LoginPage', 'A file that logs in to the page.', {
  path: z.string().describe('A page that only the user can read; it opens the interface.'),
});

export const CONNECTION_ROWS = {
  'millrace.watch': {
    summary: 'Asks for live updates by `millrace.onUpdate`, and replaces an earlier request.',
    params: z.strictObject({
      list: z.boolean().default(true).describe('Changed rows, totals and settings.'),
      detail: gid.optional(),
      cells,
    }),
    result: watchResult,
    needs: 'socket',
  },
  'millrace.unwatch': {
    summary: 'Ends live updates.',
    params: nothing,
    result: done,
    needs: 'socket',
  },
  'millrace.detail': {
    summary: 'Shows one download in detail: map, sources, speed, log and digests.',
    params: z.strictObject({ gid, cells }),
    result: downloadDetail,
  },
  'millrace.subscribe': {
    summary: 'Asks for notifications of progress.',
    params: z.strictObject({
      progressMs: z.number().int().min(200).max(60_000).default(1000).describe('Milliseconds.'),
      gids: gids.optional().describe('Default: all.'),
    }),
    result: done,
    needs: 'socket',
  },
  'millrace.unsubscribe': {
    summary: 'Ends notifications of progress.',
    params: nothing,
    result: done,
    needs: 'socket',
  },
  'millrace.loginLink': {
    summary: 'Makes a link that logs in to the page, once.',
    params: nothing,
    result: loginLink,
    needs: 'token',
  },
  'millrace.loginPage': {
    summary:
      'Writes such a link into a page that only the user can read. The page’s path may stand on a command line.',
    params: z.strictObject({
      urls: z
        .array(z.string().max(MAX_URL_CHARS))
        .max(MAX_OFFERED_URLS)
        .default([])
        .describe('Links that the page offers for download: nothing starts by itself.'),
    }),
    result: loginPage,
    needs: 'token',
  },
  'millrace.shutdown': { summary: 'Ends the daemon.', params: nothing, result: done },
} as const satisfies Rows;
