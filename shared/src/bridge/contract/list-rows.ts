/** Methods that show downloads. */

import { z } from 'zod';
import { type DaemonInfo, DOWNLOAD_STATUSES, type DownloadView } from '../rpc/daemon-api.ts';
import type { SourceStatus } from '../rpc/detail-api.ts';
import { type ListPage, SORT_KEYS } from '../rpc/list-api.ts';
import { gid, nothing, page } from './params.ts';
import { type Rows, told } from './row.ts';

const MAX_STRIP = 4096;

const statuses = z.array(z.enum(DOWNLOAD_STATUSES)).optional().describe('Default: all.');
const text = z
  .string()
  .max(1024)
  .describe('Words that must all be in name, URLs, category or error.');

const listPage = told<ListPage>('ListPage', 'The downloads of the page, and how many match.');

export const LIST_ROWS = {
  'millrace.info': {
    summary: 'Tells what the daemon is, and how much it has to do.',
    params: nothing,
    result: told<DaemonInfo>('DaemonInfo', 'Version, process, folders and counts.'),
  },
  'millrace.status': {
    summary: 'Shows one download.',
    params: z.strictObject({ gid }),
    result: told<DownloadView>('DownloadView', 'The download; sizes in bytes, times in Unix ms.'),
  },
  'millrace.list': {
    summary: 'A page of the downloads.',
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
    summary: 'A page of the downloads that have all words.',
    params: z.strictObject({ text, status: statuses, ...page }),
    result: listPage,
  },
  'millrace.expired': {
    summary: 'Downloads that need a new URL.',
    params: nothing,
    result: told<{ readonly downloads: readonly DownloadView[] }>('Expired', 'The downloads.'),
  },
  'millrace.strip': {
    summary: 'How much of each part of a file is stored.',
    params: z.strictObject({ gid, cells: z.number().int().min(1).max(MAX_STRIP).default(100) }),
    result: told<{ readonly length: number | undefined; readonly cells: readonly number[] }>(
      'Strip',
      'Bytes of the file as far as known, and 0 to 1 for each part; no parts while it rests.',
    ),
  },
  'millrace.sources': {
    summary: 'The sources of a running download.',
    params: z.strictObject({ gid }),
    result: told<{ readonly sources: readonly SourceStatus[] }>(
      'Sources',
      'One object for each source; none while it rests.',
    ),
  },
} as const satisfies Rows;
