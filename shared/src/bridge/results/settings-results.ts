/** The daemon's settings, limits and schedule, as it shows them. */

import * as z from 'zod';
import { depotEntry, edgeEntry } from './edge-results.ts';
import { count, digest, named, rate, time } from './named.ts';
import { DENSITIES, PROXY_SOURCES, PROXY_WAYS, THEMES, WEEKDAYS } from './values.ts';

export const scheduleNow = named('ScheduleNow', 'The present effect of the schedule.', {
  now: z.enum(['free', 'pause', 'limit']),
  limit: rate.optional(),
  nextChangeAt: time.optional(),
});

export const categoryView = named('CategoryView', 'A category of files.', {
  name: z.string(),
  folder: z
    .string()
    .describe('Relative to the download folder, or absolute; empty: the download folder itself.'),
  extensions: z.array(z.string()).describe('Lower case, without the dot.'),
});
export const categories = named('Categories', 'All categories.', {
  categories: z.array(categoryView),
});

export const windowView = named(
  'WindowView',
  'A time of the week, local. If the end is not after the beginning, it is on the next day.',
  {
    days: z.array(z.enum(WEEKDAYS)),
    from: z.string().describe('HH:MM'),
    to: z.string().describe('HH:MM'),
    pause: z.boolean().optional().describe('Downloads wait. Either this, or `limit`.'),
    limit: rate.optional(),
  },
);
export const schedule = named('Schedule', 'The schedule, and its present effect.', {
  ...scheduleNow.shape,
  windows: z.array(windowView),
});

export const limitsView = named('LimitsView', 'Limits over all downloads.', {
  limit: rate.nullable().describe('Bytes per second over all downloads; null: none.'),
  concurrent: count.describe('Downloads at a time.'),
  perHost: count.nullable().describe('Downloads at a time from one host; null: no limit.'),
});

export const appearance = named('Appearance', 'Appearance of the page.', {
  theme: z.enum(THEMES),
  density: z.enum(DENSITIES),
});
export const downloadDefaults = named(
  'DownloadDefaults',
  'Options of downloads that are added from now on, unless they say otherwise.',
  {
    useEdges: z.boolean(),
    connections: z.int().describe('At a time, 1 to 32.'),
    sidecars: z.boolean().describe('Look beside files for SHA256SUMS and the like.'),
  },
);
const trashLimits = named('TrashLimits', 'Limits of the trash.', {
  days: count.describe('Days that removed downloads are kept.'),
  maxBytes: count.describe('Bytes on disk that are kept; the oldest go first.'),
});

export const appSettings = named('AppSettings', 'All settings.', {
  dir: z.string().describe('Download folder, absolute.'),
  categories: z.array(categoryView),
  edges: z.array(edgeEntry),
  depots: z.array(depotEntry),
  limits: limitsView,
  windows: z.array(windowView),
  proxy: z
    .string()
    .nullable()
    .describe(
      'http://, https:// or socks5:// URL; `direct`: none; null or `system`: by environment and system.',
    ),
  defaults: downloadDefaults,
  appearance,
  trash: trashLimits,
  browserFolder: z
    .boolean()
    .describe('Save files that a browser hands over where it would have, unless `dir` was chosen.'),
  house: z
    .boolean()
    .describe(
      'Use edges that are found on the local network, for files whose digest is known: they get to know which files are downloaded.',
    ),
  language: z.string().describe('Language tag such as `en`; `system`: that of the browser.'),
  preferences: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .describe('At most 64 small values that the page or the window keep.'),
});

export const systemProxy = named('SystemProxy', 'What environment and system say about proxies.', {
  source: z
    .enum(PROXY_SOURCES)
    .describe('Where that is written; `none`: this system has no such settings.'),
  way: z
    .enum(PROXY_WAYS)
    .describe(
      '`direct`: no proxy; `servers`; `script`: PAC; `discovery`: WPAD, which is not followed.',
    ),
  servers: z.array(z.string()).describe('Addresses of the proxies, without log-ins.'),
  script: z.string().optional().describe('Address of the script, without a log-in.'),
  problem: z
    .string()
    .optional()
    .describe(
      'Why the settings or the script cannot be used; requests then go without a proxy if `way` is `direct`, and fail otherwise.',
    ),
});

export const learnedHost = named('LearnedHost', 'The learned limit of a host.', {
  host: z.string().describe('With its port, as `URL.host` has it.'),
  limit: count.describe('Requests at a time.'),
  restsUntil: time.optional().describe('The host asked for a pause until then, Unix milliseconds.'),
  learnedAt: time.describe('When the limit was changed last, Unix milliseconds.'),
});
export const learnedLimits = named('Limits', 'The limits, and those learned of hosts.', {
  limit: rate.optional().describe('Bytes per second over all downloads; absent: none.'),
  concurrent: count.describe('Downloads at a time.'),
  perHost: count.optional().describe('Downloads at a time from one host; absent: no limit.'),
  hosts: z.array(learnedHost).describe('Hosts whose learned limit is still valid.'),
});

export const keyList = named('KeyList', 'Keys that may vouch for files.', {
  keys: z
    .array(
      named('OwnKey', 'A key that the user trusts.', {
        fingerprint: z.string().describe('Upper-case hexadecimal; of minisign: the key’s id.'),
        name: z.string(),
        patterns: z
          .array(z.string())
          .describe('Links that it is for; none: all whose signatures are looked for.'),
      }),
    )
    .describe('The user’s own.'),
  shipped: z
    .array(
      named('ShippedKeys', 'A publisher whose keys come with Millrace.', {
        name: z.string(),
        fingerprints: z.array(z.string()),
      }),
    )
    .describe('Those that come with Millrace.'),
});

export const resolvers = named('Resolvers', 'Programs of the user that find links to files.', {
  resolvers: z
    .array(
      named('Resolver', 'A program that finds links to files.', {
        name: z.string(),
        args: z.array(z.string()).describe('Program and arguments.'),
        patterns: z
          .array(z.string())
          .describe('Links that it is for; none: only where it is named.'),
        seconds: count.describe('Longest time that it may run.'),
        prints: z.enum(['answer', 'yt-dlp']).describe('Form of its output.'),
        off: z.literal(true).optional().describe('It is not asked.'),
      }),
    )
    .describe('The first one that is for a link is asked.'),
  ytDlp: z.string().optional().describe('Path of a yt-dlp on PATH that is not set up.'),
});

export const resolverTest = named('ResolverTest', 'What a resolver answers about a link.', {
  by: z.string().optional().describe('Its name; absent: none is for the link.'),
  urls: z.array(z.string()),
  name: z.string().optional().describe('Name of the file.'),
  length: count.optional().describe('Bytes.'),
  digests: z.array(digest),
  fields: z.array(z.string()).describe('Names of request fields; their values may be secret.'),
  expires: time.optional().describe('End of the links, Unix milliseconds.'),
  note: z.string().optional(),
});
