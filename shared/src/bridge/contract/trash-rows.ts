/** Methods for removing downloads, and for the trash. */

import * as z from 'zod';
import { gids as restored } from '../results/download-results.ts';
import {
  emptied,
  forgotten,
  removalSummary,
  removed,
  trashPage,
} from '../results/trash-results.ts';
import { gids, page } from './params.ts';
import type { Rows } from './row.ts';

const FINISHED = ['complete', 'error', 'removed'] as const;

const back = { result: restored, gives: 'Downloads that are back.' } as const;

export const TRASH_ROWS = {
  'millrace.remove': {
    summary: 'Removes downloads: into the trash, or for good.',
    params: z.strictObject({
      gids,
      deletePartial: z
        .boolean()
        .default(true)
        .describe('Delete the partial data of unfinished ones.'),
      deleteFile: z.boolean().default(false).describe('Delete the files of complete ones.'),
      forget: z.boolean().default(false).describe('Remove them from the history as well.'),
      now: z.boolean().default(false).describe('For good, instead of into the trash.'),
    }),
    result: removed,
  },
  'millrace.removalSummary': {
    summary: 'Counts what a removal would delete, to ask the user first.',
    params: z.strictObject({ gids }),
    result: removalSummary,
  },
  'millrace.undoRemove': {
    summary:
      'Undoes a removal; a download that was added since under the same name keeps its data.',
    params: z.strictObject({ undo: z.string().optional().describe('Default: the last one.') }),
    ...back,
  },
  'millrace.purge': {
    summary: 'Moves finished downloads from the history to the trash.',
    params: z.strictObject({
      status: z.array(z.enum(FINISHED)).optional().describe('Default: all.'),
      before: z.number().int().optional().describe('Finished before it, Unix milliseconds.'),
    }),
    result: forgotten,
  },
  'millrace.trash': {
    summary: 'Lists the trash, page by page.',
    params: z.strictObject(page),
    result: trashPage,
  },
  'millrace.restoreTrash': {
    summary: 'Restores downloads from the trash.',
    params: z.strictObject({ gids }),
    ...back,
  },
  'millrace.emptyTrash': {
    summary: 'Deletes downloads in the trash for good.',
    params: z.strictObject({ gids: gids.optional().describe('Default: all.') }),
    result: emptied,
  },
} as const satisfies Rows;
