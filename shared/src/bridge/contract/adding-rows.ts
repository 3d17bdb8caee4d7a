/** Methods for adding downloads, and for what the dialog asks before it. */

import { z } from 'zod';
import { MAX_LINKS, MAX_TEXT_CHARS } from '../../download/request/links-in-text.ts';
import type {
  AddManyResult,
  AddRequest,
  Duplicate,
  MetalinkFile,
  ParsedText,
} from '../rpc/adding-api.ts';
import { type Rows, told } from './row.ts';

const MAX_ADDED = 1000;
const metalink = z.string().describe('The document, in base64.');

export const ADDING_ROWS = {
  'millrace.add': {
    summary: 'Adds a download.',
    params: z.looseObject({}),
    asked: told<AddRequest>('AddRequest', 'The download; all but `urls` may be left out.'),
    result: told<{ readonly gid: string }>('Added', 'The download.'),
  },
  'millrace.addMany': {
    summary: 'Adds those downloads that can be added, as one change.',
    params: z.strictObject({
      downloads: z.array(z.unknown()).max(MAX_ADDED).describe('As for `millrace.add`.'),
    }),
    asked: told<{ readonly downloads: readonly AddRequest[] }>('AddRequests', 'The downloads.'),
    result: told<AddManyResult>('AddManyResult', 'Those that were added, and why others were not.'),
  },
  'millrace.addMetalink': {
    summary: 'Adds the files of a Metalink document.',
    params: z.looseObject({
      metalink,
      only: z
        .array(z.number().int().min(0))
        .optional()
        .describe('Places of the files that are wanted, from 0. Default: all.'),
    }),
    asked: told<
      Omit<AddRequest, 'urls' | 'file' | 'digests'> & {
        readonly metalink: string;
        readonly only?: readonly number[];
      }
    >('AddMetalink', 'The document, and what is asked for all of its files.'),
    result: told<{ readonly gids: readonly string[] }>('Gids', 'The downloads.'),
  },
  'millrace.readMetalink': {
    summary: 'Shows the files of a Metalink document.',
    params: z.strictObject({ metalink }),
    result: told<{ readonly files: readonly MetalinkFile[] }>('MetalinkFiles', 'The files.'),
  },
  'millrace.parseText': {
    summary: 'Finds the links in a text.',
    params: z.strictObject({ text: z.string().max(MAX_TEXT_CHARS) }),
    result: told<ParsedText>('ParsedText', 'The links, and where each would be saved.'),
  },
  'millrace.checkDuplicates': {
    summary: 'Finds downloads of the same URLs.',
    params: z.strictObject({ urls: z.array(z.string()).max(MAX_LINKS) }),
    result: told<{ readonly duplicates: readonly Duplicate[] }>('Duplicates', 'Those there are.'),
  },
} as const satisfies Rows;
