/** Methods for removing downloads, and for the trash. */

import { z } from 'zod';
import type { Emptied, RemovalSummary, TrashPage } from '../rpc/trash-api.ts';
import { gids, page } from './params.ts';
import { type Rows, told } from './row.ts';

const FINISHED = ['complete', 'error', 'removed'] as const;

interface Gids {
  readonly gids: readonly string[];
}

export const TRASH_ROWS = {
  'millrace.remove': {
    summary: 'Removes downloads: into the trash, or for good.',
    params: z.strictObject({
      gids,
      deletePartial: z.boolean().default(true).describe('What unfinished ones have so far.'),
      deleteFile: z.boolean().default(false).describe('Files of complete ones.'),
      forget: z.boolean().default(false).describe('Out of the history as well.'),
      now: z.boolean().default(false).describe('For good, instead of into the trash.'),
    }),
    result: told<Gids & { readonly undo?: string }>(
      'Removed',
      'The downloads, and what to give to `undoRemove`, unless it was for good.',
    ),
  },
  'millrace.removalSummary': {
    summary: 'What a removal would take away, for asking before it.',
    params: z.strictObject({ gids }),
    result: told<RemovalSummary>('RemovalSummary', 'How many, of which kind, and their bytes.'),
  },
  'millrace.undoRemove': {
    summary: 'Brings back a removal; what was added anew under the same name keeps its bytes.',
    params: z.strictObject({ undo: z.string().optional().describe('Default: the last one.') }),
    result: told<Gids>('Gids', 'Those that are back.'),
  },
  'millrace.purge': {
    summary: 'Takes finished downloads out of the history, into the trash.',
    params: z.strictObject({
      status: z.array(z.enum(FINISHED)).optional().describe('Default: all.'),
      before: z.number().int().optional().describe('Finished before it, Unix milliseconds.'),
    }),
    result: told<{ readonly count: number; readonly undo?: string }>(
      'Purged',
      'How many, and what to give to `undoRemove`.',
    ),
  },
  'millrace.trash': {
    summary: 'A page of the trash.',
    params: z.strictObject(page),
    result: told<TrashPage>('TrashPage', 'The page, newest first, with totals over all.'),
  },
  'millrace.restoreTrash': {
    summary: 'Brings downloads back out of the trash.',
    params: z.strictObject({ gids }),
    result: told<Gids>('Gids', 'Those that are back.'),
  },
  'millrace.emptyTrash': {
    summary: 'Deletes what is in the trash for good.',
    params: z.strictObject({ gids: gids.optional().describe('Default: all.') }),
    result: told<Emptied>('Emptied', 'How many downloads, and bytes that are free again.'),
  },
} as const satisfies Rows;
