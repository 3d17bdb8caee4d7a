/** Methods that show downloads. */

import * as z from 'zod';
import { sources } from '../results/detail-results.ts';
import {
  daemonInfo,
  downloads,
  downloadView,
  listPage,
  strip,
} from '../results/download-results.ts';
import { DOWNLOAD_STATUSES } from '../rpc/daemon-api.ts';
import { SORT_KEYS } from '../rpc/list-api.ts';
import { gid, nothing, page } from './params.ts';
import type { Rows } from './row.ts';

const MAX_STRIP = 4096;

const statuses = z.array(z.enum(DOWNLOAD_STATUSES)).optional().describe('Default: all.');
const text = z
  .string()
  .max(1024)
  .describe('Words that must all be in name, URLs, category or error.');

export const LIST_ROWS = {
  'millrace.info': {
    summary: 'Shows the daemon, and the number of its downloads.',
    params: nothing,
    result: daemonInfo,
  },
  'millrace.status': {
    summary: 'Shows one download.',
    params: z.strictObject({ gid }),
    result: downloadView,
  },
  'millrace.list': {
    summary: 'Lists downloads, page by page.',
    params: z.strictObject({
      status: statuses,
      category: z.string().optional(),
      host: z.string().optional(),
      text: text.optional(),
      sort: z.enum(SORT_KEYS).optional().describe('Default: queue.'),
      descending: z.boolean().optional(),
      ...page,
    }),
    result: listPage,
  },
  'millrace.search': {
    summary: 'Finds downloads that have all words, page by page.',
    params: z.strictObject({ text, status: statuses, ...page }),
    result: listPage,
  },
  'millrace.expired': {
    summary: 'Lists downloads that need a new URL.',
    params: nothing,
    result: downloads,
  },
  'millrace.strip': {
    summary: 'Shows how much of each part of a file is stored.',
    params: z.strictObject({ gid, cells: z.number().int().min(1).max(MAX_STRIP).default(100) }),
    result: strip,
  },
  'millrace.sources': {
    summary: 'Lists the sources of a running download.',
    params: z.strictObject({ gid }),
    result: sources,
  },
} as const satisfies Rows;
