/** Answers to the dialog for adding downloads, and to lists that are imported. */

import * as z from 'zod';
import { apart, status } from './download-results.ts';
import { count, digest, gid, named, particulars } from './named.ts';
import { DELICATE_KINDS } from './values.ts';

export const addManyResult = named('AddManyResult', 'Downloads that were added, and the rest.', {
  gids: z.array(gid),
  failed: z
    .array(
      z.strictObject({
        index: count.describe('Index in `downloads`.'),
        code: z.string(),
        message: z.string(),
        detail: z.string(),
        particulars: particulars.optional(),
      }),
    )
    .describe('Downloads that could not be added; all others were.'),
  renewed: z
    .array(gid)
    .describe('Those of `gids` that were there already. The links continue them.'),
  apart: z.array(apart).describe('Earlier downloads that looked the same. They stay as they were.'),
});

export const duplicate = named('Duplicate', 'An earlier download of the same URL.', {
  url: z.string(),
  same: z
    .enum(['url', 'path'])
    .describe('path: the URLs differ only after “?”, as signed links do.'),
  gid,
  name: z.string(),
  status,
  path: z.string().optional(),
});
export const duplicates = named('Duplicates', 'Downloads of the same URLs.', {
  duplicates: z.array(duplicate),
});

export const linkOptions = named('LinkOptions', 'What a command of curl says of its download.', {
  file: z.string().optional().describe('Name to save it under.'),
  headers: z.record(z.string(), z.string()).optional().describe('Request fields.'),
  login: z.strictObject({ user: z.string(), password: z.string() }).optional(),
  proxy: z.string().optional(),
  limit: count.optional().describe('Bytes per second.'),
});

export const foundLink = named('FoundLink', 'A link in a text.', {
  url: z.string(),
  name: z.string().describe('File name, as far as the URL shows it.'),
  category: z.string().optional(),
  dir: z.string().describe('Folder that it would be saved in.'),
  metalink: z
    .boolean()
    .describe('By its name, the URL is that of a Metalink document or a torrent.'),
  exnode: z.boolean().describe('The URL leads to an exNode, whose file is added in its place.'),
  once: z.literal(true).optional().describe('By its looks, the URL works only once.'),
  duplicate: duplicate.optional(),
  options: linkOptions.optional().describe('Members for `millrace.add`, from a command of curl.'),
});
export const textFault = named('TextFault', 'Why a command of curl or a pattern was not taken.', {
  fault: z.string().describe('A code of the reason, such as `option-sends`.'),
  values: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .describe('Parts of the sentence, such as the option.'),
  text: z.string().describe('The sentence, in English.'),
});
export const parsedText = named('ParsedText', 'The links of a text.', {
  links: z.array(foundLink),
  truncated: z.boolean().describe('The text has more links than this.'),
  problems: z.array(textFault).describe('Why commands of curl or patterns were not taken.'),
});

export const pageLink = named('PageLink', 'A link of a page.', {
  ...foundLink.shape,
  size: count.optional().describe('Bytes, as the listing says, which may be rounded.'),
  folder: z.string().describe('Folder below the page that the file is in; empty: none.'),
  wanted: z
    .boolean()
    .describe(
      'True: it is a file of a listing, or its name is of a category. Others may be pages.',
    ),
});
export const pageLinks = named('PageLinks', 'The links of a page, or the files of a listing.', {
  url: z.string().describe('URL of the page, after redirects.'),
  listing: z.boolean().describe('The page lists a folder of its server.'),
  links: z.array(pageLink),
  folders: count.describe('Folders below the page that were not looked into.'),
  truncated: z.boolean().describe('The page or the folders below it have more links than these.'),
  unread: z
    .array(z.strictObject({ url: z.string(), code: z.string() }))
    .describe('Folders that could not be read, the first ones, with the error code.'),
});

export const probedLink = named('ProbedLink', 'What a server says of a link.', {
  name: z.string().optional().describe('File name, by the server.'),
  length: count.optional().describe('Bytes.'),
  type: z.string().optional().describe('Media type.'),
  resumable: z.boolean().describe('True: the server sends ranges of a version that it names.'),
  here: z
    .enum(['list', 'folder'])
    .optional()
    .describe('A download of the list, or a file in the folder, has this name and length.'),
  etag: z.string().optional(),
  lastModified: z.string().optional().describe('Date, as the server wrote it.'),
  digests: z.array(digest).optional().describe('Digests of the file that the answer states.'),
  problem: z.string().optional().describe('Error code, if the server does not give the file.'),
  resolver: z.string().optional().describe('The resolver that has found the link to the file.'),
  said: z.string().optional().describe('What the resolver says, such as why there is no file.'),
});
export const probedLinks = named('ProbedLinks', 'What servers say of links, in their order.', {
  links: z.array(probedLink),
});

export const metalinkFile = named('MetalinkFile', 'A file of a Metalink document.', {
  index: count.describe('Place in the document, for `only` of `millrace.addMetalink`.'),
  name: z.string().describe('Name, or path below the folder.'),
  size: count.optional().describe('Bytes.'),
  urls: z.array(z.string()),
  digests: z.array(digest),
  pieces: count.describe('Pieces with a digest each.'),
  category: z.string().optional(),
  dir: z.string(),
  usable: z.boolean().describe('False: it has no URL to download from.'),
  duplicate: duplicate.optional(),
});
export const metalinkFiles = named('MetalinkFiles', 'The files of a Metalink document.', {
  files: z.array(metalinkFile),
  metalink: z
    .string()
    .optional()
    .describe('The document in base64, if it was fetched, for `millrace.addMetalink`.'),
});

export const exnodeFile = named('ExnodeFile', 'The file that an exNode describes.', {
  name: z.string(),
  size: count.describe('Bytes.'),
  encrypted: z.boolean(),
  urls: z.array(z.string()).describe('Addresses of the places that have it.'),
  category: z.string().optional(),
  dir: z.string().describe('Folder that it would be saved in.'),
});

export const delicatePart = named(
  'DelicatePart',
  'A part of a listed download that is taken only from a trusted list.',
  {
    what: z.enum(DELICATE_KINDS),
    value: z.string().describe('The folder, the names of the header fields and so on; no secret.'),
  },
);
export const importEntry = named('ImportEntry', 'Download that an entry of a list would become.', {
  line: count.describe('A line of the list, or a number in the JSON.'),
  url: z.string(),
  name: z.string().describe('Name as far as it is known without asking the server.'),
  dir: z.string().describe('Folder that it would be saved in, absolute.'),
  length: count.optional().describe('Bytes, where the list says how many.'),
  finished: z.boolean().describe('It only goes into the history.'),
  delicate: z.array(delicatePart),
});
const skipped = z.array(
  z.strictObject({
    line: count,
    reason: z.string(),
    code: z.string().optional().describe('The reason as a code of the table of errors.'),
    detail: z.string().optional().describe('What the reason says of this entry.'),
    particulars: particulars.optional(),
  }),
);
export const importPreview = named('ImportPreview', 'Downloads that an import would add.', {
  entries: z.array(importEntry),
  skipped,
});
export const imported = named('Imported', 'Downloads of a list that were added, and the rest.', {
  gids: z.array(gid),
  skipped,
});
export const exported = named('Exported', 'A list of downloads.', { text: z.string() });
