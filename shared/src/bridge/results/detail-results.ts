/** One download in detail: its map of blocks, sources, speed, log and digests. */

import * as z from 'zod';
import { SOURCE_KINDS } from '../../download/request/source-kinds.ts';
import { totals } from './download-results.ts';
import { count, gid, named, rate, time } from './named.ts';
import { appSettings } from './settings-results.ts';
import { LOG_EVENTS } from './values.ts';

export const blockMap = named('BlockMap', 'The file cut into equal parts, the cells.', {
  length: count
    .optional()
    .describe('Bytes; absent while it is not known: the lists are empty then.'),
  stored: z.array(z.number()).describe('How much of each cell is stored, 0 to 100.'),
  by: z
    .array(z.int())
    .describe(
      'Index in `sources` of the source that brought most of each cell; -1: nothing is stored, or an earlier run brought it.',
    ),
  arriving: z.array(count).describe('Cells in which bytes are arriving now.'),
});

const source = {
  label: z.string().describe('The edge’s address, or the host.'),
  url: z.string().describe('URL of the file at the origin or mirror.'),
  kind: z.enum(SOURCE_KINDS),
  state: z.enum(['trying', 'used', 'resting', 'quarantined']),
  reason: z.string().optional().describe('Why it rests or is not used any more, in English.'),
  reasonCode: z.string().optional().describe('The same as a code of the table of errors.'),
  rttMs: z.number().optional().describe('Shortest time to an answer, milliseconds.'),
  bytesPerSecond: rate,
  receivedBytes: count,
  connections: count.describe('Requests under way.'),
  resets: count.describe('Connections that broke after bytes had come; the download continued.'),
};
export const sourceStatus = named('SourceStatus', 'A source of a running download.', source);
export const sources = named('Sources', 'The sources of a download; none while it rests.', {
  sources: z.array(sourceStatus),
});
export const sourceView = named('SourceView', 'A source of a download, with its share.', {
  ...source,
  share: z.number().describe('Its part of the bytes that all sources of this run brought, 0 to 1.'),
});

export const speedHistory = named(
  'SpeedHistory',
  'One sample of the speed per second, oldest first; at most ten minutes.',
  {
    endsAt: time.describe('When the last sample was taken, Unix milliseconds; 0 without samples.'),
    stepMs: count,
    bytesPerSecond: z.array(z.number()),
  },
);

export const logEntry = named('LogEntry', 'A line of a download’s log.', {
  seq: count.describe('Rises by one with each entry of a download.'),
  at: time,
  event: z.enum(LOG_EVENTS),
  text: z
    .string()
    .optional()
    .describe('note: its English text; phase: its name; failed, retry: the message of the error.'),
  note: z.string().optional().describe('note: its code in the table of notes.'),
  values: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .optional()
    .describe('note: values for the places in its text.'),
  code: z.string().optional().describe('failed, retry: a code of the table of errors.'),
  retryAt: time.optional().describe('retry: when it is tried again, Unix milliseconds.'),
});

export const digestView = named('DigestView', 'A digest that somebody states.', {
  algorithm: z.string(),
  hex: z.string(),
  by: z.string().describe('`user`, or the label or URL of a source.'),
  state: z
    .enum(['expected', 'verified', 'mismatch'])
    .describe('verified: the file has it; mismatch: the file did not have it.'),
});

export const downloadDetail = named('DownloadDetail', 'One download in detail.', {
  gid,
  running: z
    .boolean()
    .describe('False: the members describe the end of the last run, as far as is known.'),
  map: blockMap,
  sources: z.array(sourceView),
  speed: speedHistory,
  log: z.array(logEntry).describe('At most the last 200 entries.'),
  digests: z.array(digestView),
  pieces: count.describe('Pieces with a digest each.'),
  headers: z
    .record(z.string(), z.string())
    .describe('Request fields; values of cookies and credentials are shown as “…”.'),
  proxy: z.string().optional(),
  edges: z.array(z.string()),
  resolved: z
    .strictObject({
      by: z.string().describe('Name of the resolver.'),
      url: z.string().describe('The link that it got, without a log-in.'),
      expires: time.optional().describe('End of the links, Unix milliseconds.'),
    })
    .optional()
    .describe('Who has found the links; absent: they were given.'),
});

export const watchResult = named('WatchResult', 'The state at which updates begin.', {
  revision: count,
  totals,
  settings: appSettings,
  speed: speedHistory.describe('Speed over all downloads, last ten minutes.'),
  detail: downloadDetail.optional(),
});
