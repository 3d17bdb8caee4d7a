/** Methods that act on downloads that are there. */

import { z } from 'zod';
import type { ChangeRequest, DownloadView } from '../rpc/daemon-api.ts';
import { gid, gids } from './params.ts';
import { type Nothing, type Rows, told } from './row.ts';

const changed = told<{ readonly gids: readonly string[] }>('Gids', 'Those that were changed.');
const many = z.strictObject({ gids: gids.optional().describe('Default: all.') });

const oneChange = told<ChangeRequest & { readonly gid: string }>(
  'Change',
  'The download, and what is to be changed; null: none.',
);
const manyChanges = told<
  ChangeRequest & { readonly gids: readonly string[]; readonly retry?: boolean }
>('Changes', 'The downloads, and what is to be changed; null: none.');

export const DOWNLOAD_ROWS = {
  'millrace.change': {
    summary: 'Changes a download; a running one starts anew where it has to.',
    params: z.looseObject({ gid }),
    asked: oneChange,
    result: told<DownloadView>('DownloadView', 'The download as it is now.'),
  },
  'millrace.changeMany': {
    summary: 'Changes downloads; finished ones only in their category, or with `retry`.',
    params: z.looseObject({
      gids,
      retry: z.boolean().optional().describe('Failed ones are tried again with the change.'),
    }),
    asked: manyChanges,
    result: changed,
  },
  'millrace.pause': { summary: 'Pauses downloads.', params: many, result: changed },
  'millrace.resume': { summary: 'Lets paused downloads go on.', params: many, result: changed },
  'millrace.retry': {
    summary: 'Tries failed, removed and waiting downloads again.',
    params: z.strictObject({ gids }),
    result: changed,
  },
  'millrace.move': {
    summary: 'Moves a download in the queue.',
    params: z.strictObject({
      gid,
      position: z.number().int(),
      how: z
        .enum(['set', 'current', 'end'])
        .default('set')
        .describe('What the position is counted from.'),
    }),
    result: told<{ readonly position: number }>('Position', 'Its place in the queue, from 0.'),
  },
  'millrace.place': {
    summary: 'Puts downloads, in this order, before another of the queue.',
    params: z.strictObject({ gids, before: gid.nullable().describe('null: at the end.') }),
    result: changed,
  },
  'millrace.addUrl': {
    summary: 'Adds a URL of the same file to a download.',
    params: z.strictObject({ gid, url: z.string() }),
    result: told<Nothing>('Nothing', 'An empty object.'),
  },
  'millrace.replaceUrl': {
    summary: 'Gives a download whose link has expired a new URL, if that has the same file.',
    params: z.strictObject({ gid, url: z.string() }),
    result: told<DownloadView>('DownloadView', 'The download as it is now.'),
  },
  'millrace.stream': {
    summary: 'Opens a download for a media player.',
    params: z.strictObject({ gid }),
    result: told<{ readonly url: string }>('Stream', 'Address for the player.'),
  },
} as const satisfies Rows;
