/** Methods for adding downloads, and for the questions of the dialog before that. */

import * as z from 'zod';
import { MAX_URL_CHARS } from '../../base/limits.ts';
import { MAX_DEPTH } from '../../download/listing/page-link.ts';
import { MAX_LINKS, MAX_TEXT_CHARS } from '../../download/request/links-in-text.ts';
import { addExnode, addMetalink, addRequest } from '../params/download-params.ts';
import {
  addManyResult,
  duplicates,
  exnodeFile,
  metalinkFiles,
  pageLinks,
  parsedText,
  probedLinks,
} from '../results/adding-results.ts';
import { added, gids } from '../results/download-results.ts';
import type { Rows } from './row.ts';

const MAX_ADDED = 1000;
const MAX_PROBED = 16;
const MAX_DIALOG_CHARS = 64;
const MAX_MIRRORS = 32;
const depth = z
  .int()
  .min(0)
  .max(MAX_DEPTH)
  .optional()
  .describe('Levels of folders below a listing to look into. Default: 0.');
const dialog = z
  .string()
  .max(MAX_DIALOG_CHARS)
  .optional()
  .describe(
    'For a dialog that asks by itself, its name: an answer of the last minute will do, and another call with the name on the same WebSocket, which may be one without downloads, gives up this one.',
  );
const exnode = z.string().describe('The document, in base64, with its key if it is encrypted.');
const metalink = z
  .string()
  .describe('A Metalink document, a torrent, or the text of a magnet link, in base64.');
const mirrors = z
  .array(z.string().max(MAX_URL_CHARS))
  .max(MAX_MIRRORS)
  .optional()
  .describe(
    'Further URLs by the user: of the one file, or web seeds of a torrent (BEP 19), folders with a / at their end.',
  );

export const ADDING_ROWS = {
  'millrace.add': {
    summary: 'Adds a download. A link to an exNode adds the file that it describes.',
    params: z.looseObject({}),
    asked: addRequest,
    result: added,
    waits: true,
  },
  'millrace.addMany': {
    summary:
      'Adds those downloads that can be added, many in short turns. The queue takes them up together.',
    params: z.strictObject({
      downloads: z.array(z.unknown()).max(MAX_ADDED).describe('As for `millrace.add`.'),
    }),
    asked: z.strictObject({ downloads: z.array(addRequest).max(MAX_ADDED) }),
    result: addManyResult,
    waits: true,
  },
  'millrace.addMetalink': {
    summary: 'Adds the files that a Metalink document, a torrent or a magnet link describes.',
    params: z.looseObject({
      metalink,
      only: z
        .array(z.number().int().min(0))
        .optional()
        .describe('Places of the files that are wanted, from 0. Default: all.'),
      mirrors,
    }),
    asked: addMetalink,
    result: gids,
    waits: true,
  },
  'millrace.addExnode': {
    summary: 'Adds the file that an exNode describes.',
    params: z.looseObject({ exnode }),
    asked: addExnode,
    result: added,
  },
  'millrace.readExnode': {
    summary: 'Shows the file that an exNode describes.',
    params: z.strictObject({ exnode }),
    result: exnodeFile,
  },
  'millrace.readMetalink': {
    summary: 'Shows the files that a Metalink document, a torrent or a magnet link describes.',
    params: z.strictObject({
      metalink: metalink.optional(),
      url: z
        .string()
        .max(MAX_URL_CHARS)
        .optional()
        .describe('URL of the document, in its place: it is fetched, 8 MiB at most.'),
    }),
    result: metalinkFiles,
    waits: true,
  },
  'millrace.parseText': {
    summary:
      'Finds the links in a text. A line `http://h/f[01-20].zip` stands for each of its URLs, and `curl …` for its downloads.',
    params: z.strictObject({ text: z.string().max(MAX_TEXT_CHARS) }),
    result: parsedText,
  },
  'millrace.probe': {
    summary:
      'Asks the servers of downloads about their files, without adding them. Takes 10 s at most.',
    params: z.strictObject({
      downloads: z.array(z.unknown()).max(MAX_PROBED).describe('As for `millrace.add`.'),
      dialog,
    }),
    asked: z.strictObject({ downloads: z.array(addRequest).max(MAX_PROBED), dialog }),
    result: probedLinks,
    waits: true,
  },
  'millrace.readPage': {
    summary:
      'Finds the links of a web page, or the files of a listing of a folder, without adding them. Takes 30 s at most.',
    params: z.looseObject({ depth }),
    asked: z.looseObject({ ...addRequest.shape, depth }),
    result: pageLinks,
    waits: true,
  },
  'millrace.checkDuplicates': {
    summary: 'Finds downloads of the same URLs.',
    params: z.strictObject({ urls: z.array(z.string()).max(MAX_LINKS) }),
    result: duplicates,
  },
} as const satisfies Rows;
