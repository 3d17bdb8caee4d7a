/** Methods for exporting and importing lists of downloads. */

import * as z from 'zod';
import { exported, imported, importPreview } from '../results/adding-results.ts';
import type { Rows } from './row.ts';

const format = z.enum(['json', 'urls', 'aria2']);

const list = z.strictObject({
  text: z.string(),
  format: format.optional().describe('Default: detected.'),
  paused: z.boolean().optional(),
  dir: z.string().min(1).optional().describe('Folder for all of them.'),
  trusted: z
    .boolean()
    .default(false)
    .describe(
      'The list is the user’s own: accept folders elsewhere, overwriting, log-ins and proxies.',
    ),
});

/** A list to import. */
export type ImportList = z.output<typeof list>;

export const EXCHANGE_ROWS = {
  'millrace.export': {
    summary: 'Writes downloads as a list.',
    params: z.strictObject({
      format,
      which: z.enum(['queue', 'history', 'all']).default('all'),
      secrets: z.boolean().default(false).describe('With log-ins and header fields.'),
    }),
    result: exported,
  },
  'millrace.previewImport': {
    summary: 'Shows the downloads that an import would add.',
    params: list,
    result: importPreview,
    waits: true,
  },
  'millrace.import': {
    summary: 'Adds the downloads of a list, many in short turns. The queue takes them up together.',
    params: list,
    result: imported,
    waits: true,
  },
} as const satisfies Rows;
