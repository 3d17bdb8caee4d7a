/**
 * Parameters that describe downloads. The engine checks them itself, with the errors of the table,
 * because they reach it in other ways as well: these schemas only give the types and the document.
 */

import * as z from 'zod';
import { afterChoice } from '../results/after-results.ts';
import { digest, named } from '../results/named.ts';

const headers = z.record(z.string(), z.string()).optional().describe('Request fields.');
const limit = z.number().describe('Bytes per second.');
const startAt = z.number().describe('Not before this time, Unix milliseconds.');
const connections = z.int().optional().describe('Connections at a time, 1 to 32.');
const proxy = z
  .string()
  .optional()
  .describe('http://, https:// or socks5:// URL; `direct`: none; `system`: the system’s.');
const priority = z.int().optional().describe('-100 to 100, higher ones first.');
const digests = z.array(digest).optional().describe('Digests that the whole file must have.');
const file = z.string().optional().describe('Name to save it under.');

const older = z.strictObject({
  path: z.string().describe('Its path on the daemon’s machine.'),
  zsync: z
    .string()
    .optional()
    .describe('URL of the list of blocks of the wanted file. Default: URL.zsync beside it.'),
});

/** Options that downloads of a Metalink document may have as well. */
const options = {
  dir: z.string().optional().describe('Folder to save in.'),
  category: z.string().optional().describe('Category, which may choose the folder.'),
  useEdges: z
    .boolean()
    .optional()
    .describe('True: use the edges that are switched on in the settings; false: none.'),
  edges: z.array(z.string()).optional().describe('Edges by URL, in place of `useEdges`.'),
  sidecars: z.boolean().optional().describe('Look beside the file for SHA256SUMS and the like.'),
  headers,
  login: z
    .strictObject({ user: z.string(), password: z.string() })
    .optional()
    .describe('Log-in at the server of the file.'),
  proxy,
  limit: limit.optional(),
  connections,
  priority: priority.describe('-100 to 100, higher ones first. Default: 0.'),
  position: z.int().optional().describe('Place in the queue, from 0.'),
  paused: z.boolean().optional().describe('Add without starting.'),
  startAt: startAt.optional(),
  overwrite: z.boolean().optional().describe('Replace a file of that name.'),
  rename: z.boolean().optional().describe('Take another name if the name is taken. Default: true.'),
  after: afterChoice
    .optional()
    .describe('Actions when it is complete. Default: those of the settings; {}: none.'),
};

const kind = z.union([z.boolean(), z.literal('mem')]);
const follow = z
  .union([kind, z.strictObject({ torrent: kind, metalink: kind })])
  .describe(
    'If the file turns out to be a torrent or a Metalink document, by its name or its Content-Type: true: its files are added once it is complete; `mem`: likewise, and it is not kept; false: it is a file like others. Default: true.',
  );

const keys = z
  .array(z.string())
  .optional()
  .describe('Public keys that may sign the file: OpenPGP, armored or in base64, or minisign.');
const signatures = z
  .array(z.string())
  .optional()
  .describe('Signatures of the whole file: OpenPGP, armored or in base64, or minisign.');

export const addRequest = named('AddRequest', 'A download to add.', {
  urls: z.array(z.string()).describe('URLs of one and the same file, best first.'),
  resolver: z
    .union([z.string(), z.literal(false)])
    .optional()
    .describe(
      'Resolver that finds links to the file, on the daemon’s own machine only; false: none. Default: the first one whose patterns match.',
    ),
  file,
  digests,
  keys,
  signatures,
  follow: follow.optional(),
  older: older
    .optional()
    .describe('Older version of the file: what both have in common is taken from it.'),
  ...options,
});

export const addMetalink = named(
  'AddMetalink',
  'A description of files to add, and options of its files.',
  {
    metalink: z
      .string()
      .describe('A Metalink document, a torrent, or the text of a magnet link, in base64.'),
    mirrors: z.array(z.string()).optional().describe('Further URLs, or web seeds of a torrent.'),
    only: z
      .array(z.int().min(0))
      .optional()
      .describe('Indexes of the wanted files, from 0. Default: all.'),
    ...options,
  },
);

export const addExnode = named('AddExnode', 'An exNode to add, and options of its file.', {
  exnode: z.string().describe('The document, in base64, with its key if it is encrypted.'),
  file,
  digests,
  older: older.optional().describe('Older version of the file, whose blocks are taken.'),
  ...options,
});

export const changeRequest = named('ChangeRequest', 'Members to change.', {
  priority,
  limit: limit.nullable().optional().describe('Bytes per second; null: none.'),
  category: z
    .string()
    .nullable()
    .optional()
    .describe('Also of finished downloads, if nothing else is changed.'),
  startAt: startAt
    .nullable()
    .optional()
    .describe('Not before this time, Unix milliseconds; null: any time.'),
  dir: options.dir,
  file,
  headers,
  connections,
  proxy,
  digests,
  older: older.nullable().optional().describe('Older version of the file; null: none.'),
  after: afterChoice
    .nullable()
    .optional()
    .describe('Actions when it is complete; null: those of the settings.'),
});
