/** Methods for the connection to the daemon, and for the daemon itself. */

import * as z from 'zod';
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
const loginLink = named('LoginLink', 'A log-in of the page.', {
  url: z.string().describe('Lets whoever opens it in, once.'),
});
const loginPage = named('LoginPage', 'A log-in of the page, in a file.', {
  path: z.string().describe('A page that only the user can read; it opens the interface.'),
});

export const CONNECTION_ROWS = {
  'millrace.watch': {
    summary: 'Asks for live updates by `millrace.onUpdate`, in place of what was asked for before.',
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
    summary: 'One download in detail: map, sources, speed, log and digests.',
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
    summary: 'Makes an address that lets whoever opens it in, once.',
    params: nothing,
    result: loginLink,
    needs: 'token',
  },
  'millrace.loginPage': {
    summary: 'The same, as a page that only the user can read: for the command line of a browser.',
    params: nothing,
    result: loginPage,
    needs: 'token',
  },
  'millrace.shutdown': { summary: 'Ends the daemon.', params: nothing, result: done },
} as const satisfies Rows;
