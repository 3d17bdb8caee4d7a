/** A download as lists show it, and the daemon's report on itself. */

import * as z from 'zod';
import { afterChoice, afterStep, whenDone } from './after-results.ts';
import { count, digest, gid, named, particulars, rate, time } from './named.ts';
import { scheduleNow } from './settings-results.ts';
import { DOWNLOAD_STATUSES } from './values.ts';

export const status = z
  .enum(DOWNLOAD_STATUSES)
  .describe('queued: its turn has not come; waiting: it is tried again at `retryAt`.');

export const failure = named('DownloadFailure', 'The reason why a download has failed.', {
  code: z.string().describe('A code of the table of errors.'),
  message: z.string(),
  detail: z.string().describe('Particular to this failure, in English; may be empty.'),
  particulars: particulars.optional(),
  advice: z.string(),
  retryable: z.boolean(),
  onePiece: z
    .boolean()
    .optional()
    .describe('True: the source sends the file in one piece, so the next run starts anew.'),
});

export const vouch = named('Vouch', 'A publisher whose pinned key has signed a file.', {
  by: z.string().describe('Name of the publisher.'),
  fingerprint: z.string().describe('Of the key, upper-case hexadecimal; minisign: the key’s id.'),
  url: z.string().optional().describe('The signature or signed list; absent if it was given.'),
  byList: z.boolean().describe('True: a list with the digest is signed; false: the file itself.'),
  signedAt: time.optional().describe('As the signature says, Unix milliseconds.'),
});

export const downloadView = named('DownloadView', 'A download.', {
  gid,
  status,
  phase: z.string().optional().describe('Finer than the status, while it is active.'),
  held: z
    .enum(['turn', 'host', 'schedule', 'retry', 'start'])
    .optional()
    .describe('Why a download that is not paused does not run.'),
  name: z.string().describe('File name as far as it is known.'),
  path: z.string().optional(),
  notKept: z
    .literal(true)
    .optional()
    .describe('It was only needed for the files that it describes, and has been deleted.'),
  dir: z.string(),
  urls: z.array(z.string()),
  length: count.optional().describe('Bytes of the file; absent while it is not known.'),
  storedBytes: count,
  receivedBytes: count,
  bytesPerSecond: rate,
  etaMs: z.number().optional().describe('Milliseconds that are left.'),
  connections: count,
  limit: rate.optional(),
  priority: z.int(),
  position: count.optional().describe('Place in the queue, from 0.'),
  category: z.string().optional(),
  createdAt: time,
  startAt: time.optional().describe('It does not run before this time, Unix milliseconds.'),
  startedAt: time.optional(),
  finishedAt: time.optional(),
  activeMs: z
    .number()
    .optional()
    .describe('Milliseconds of its ended runs, without the time that it waited or was paused.'),
  attempts: count,
  retryAt: time.optional(),
  error: failure.optional(),
  expiredLink: z.boolean().describe('A new URL would help.'),
  digest: digest.optional().describe('Digest that the whole file was shown to have.'),
  page: z.string().optional().describe('Page that the link was on, if it is known.'),
  resolver: z.string().optional().describe('The resolver that has found the links.'),
  renewedAt: time.optional().describe('When a new link last took the place of an old one.'),
  vouch: vouch.optional().describe('Absent if nobody vouches for the file.'),
  chosenAfter: afterChoice
    .optional()
    .describe('Actions chosen for this download; absent: those of the settings.'),
  after: z
    .array(afterStep)
    .optional()
    .describe('Actions after the download and how far they are, once it is complete.'),
});

export const downloads = named('Downloads', 'Downloads.', { downloads: z.array(downloadView) });
export const apart = named('Apart', 'An earlier download that a link does not continue.', {
  gid: gid.describe('The earlier download.'),
  name: z.string(),
  why: z.string().describe('Why the file is not shown to be the same one.'),
});
export const added = named('Added', 'A download that was added, or that continues.', {
  gid,
  renewed: z
    .boolean()
    .optional()
    .describe('True: nothing was added. The link continues an earlier download of the same file.'),
  apart: apart.optional().describe('An earlier download that looked the same. It stays as it was.'),
});
export const gids = named('Gids', 'Downloads, by their ids.', { gids: z.array(gid) });
export const nothing = named('Nothing', 'An empty object.', {});

export const listPage = named('ListPage', 'A page of downloads.', {
  total: count.describe('Downloads that match, on all pages.'),
  downloads: z.array(downloadView),
  revision: count.describe('While it stays the same, other pages of the same query fit this one.'),
});

export const totals = named('Totals', 'Figures over all downloads.', {
  byStatus: z.record(status, count),
  byCategory: z
    .record(z.string(), count)
    .describe('Downloads of each category that has any, in all states.'),
  bytesPerSecond: rate,
  activeBytes: z
    .strictObject({ stored: count, length: count })
    .describe('Over the running downloads whose length is known.'),
  limit: rate.optional(),
  trash: z
    .strictObject({ count, bytes: count })
    .describe('Downloads in the trash, and bytes on disk that are kept for them.'),
  schedule: scheduleNow,
  whenDone: whenDone.optional().describe('Absent: nothing was asked for.'),
});

export const daemonInfo = named('DaemonInfo', 'The daemon.', {
  version: z.string(),
  pid: count,
  state: z.string().describe('State folder.'),
  dir: z.string().describe('Download folder.'),
  startedAt: time,
  platform: z.string().describe('As of `process.platform` of Node.js.'),
  counts: z
    .strictObject({ active: count, queued: count, waiting: count, paused: count, stopped: count })
    .describe('Downloads; stopped: complete, failed and removed ones.'),
  bytesPerSecond: rate,
  limit: rate.optional(),
  schedule: scheduleNow,
});

export const strip = named('Strip', 'Stored share of each part of a file.', {
  length: count.optional().describe('Bytes of the file, as far as known.'),
  cells: z.array(z.number()).describe('0 to 1 for each part; empty while the download rests.'),
});

export const position = named('Position', 'A place in the queue.', {
  position: z.int().describe('From 0.'),
});
export const stream = named('Stream', 'A download that a player can read.', {
  url: z.string().describe('Address for the player. It is a secret.'),
});
