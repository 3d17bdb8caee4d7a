/** Methods that act on existing downloads. */

import * as z from 'zod';
import { changeRequest } from '../params/download-params.ts';
import * as results from '../results/download-results.ts';
import { gid, gids } from './params.ts';
import type { Rows } from './row.ts';

const many = z.strictObject({ gids: gids.optional().describe('Default: all.') });
const retry = z.boolean().optional().describe('Try failed ones again with the change.');
/** Result of methods that change several downloads. */
const changed = { result: results.gids, gives: 'Downloads that were changed.' } as const;
const now = { result: results.downloadView, gives: 'The download as it is now.' } as const;

export const DOWNLOAD_ROWS = {
  'millrace.change': {
    summary: 'Changes a download; a running one is restarted if the change needs it.',
    params: z.looseObject({ gid }),
    asked: changeRequest.extend({ gid }),
    ...now,
  },
  'millrace.changeMany': {
    summary: 'Changes downloads; finished ones only in their category, or with `retry`.',
    params: z.looseObject({ gids, retry }),
    asked: changeRequest.extend({ gids, retry }),
    ...changed,
  },
  'millrace.pause': { summary: 'Pauses downloads.', params: many, ...changed },
  'millrace.resume': { summary: 'Resumes paused downloads.', params: many, ...changed },
  'millrace.retry': {
    summary: 'Tries failed, removed and waiting downloads again.',
    params: z.strictObject({ gids }),
    ...changed,
  },
  'millrace.move': {
    summary: 'Moves a download in the queue.',
    params: z.strictObject({
      gid,
      position: z.number().int(),
      how: z
        .enum(['set', 'current', 'end'])
        .default('set')
        .describe('set: from the beginning; current: from its place; end: from the end.'),
    }),
    result: results.position,
  },
  'millrace.place': {
    summary: 'Moves downloads, in this order, before another one in the queue.',
    params: z.strictObject({ gids, before: gid.nullable().describe('null: at the end.') }),
    ...changed,
  },
  'millrace.addUrl': {
    summary: 'Adds a URL of the same file to a download.',
    params: z.strictObject({ gid, url: z.string() }),
    result: results.nothing,
  },
  'millrace.replaceUrl': {
    summary: 'Replaces the expired link of a download, if the new URL has the same file.',
    params: z.strictObject({ gid, url: z.string() }),
    ...now,
    waits: true,
  },
  'millrace.repair': {
    summary:
      'Downloads the wrong parts of a complete file again. It is replaced once the new one has a known digest.',
    params: z.strictObject({ gid }),
    ...now,
  },
  'millrace.stream': {
    summary: 'Opens a download for a media player.',
    params: z.strictObject({ gid }),
    result: results.stream,
  },
} as const satisfies Rows;
