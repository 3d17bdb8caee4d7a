/** Methods for sending files, and for the depots that store them. */

import * as z from 'zod';
import { WEEK_MS } from '../../base/clock.ts';
import { nothing as done } from '../results/download-results.ts';
import {
  depotCheck,
  depots,
  invitation,
  outgoing,
  shareHealth,
  shares,
  shareView,
} from '../results/share-results.ts';
import { MAX_DEPOTS } from '../rpc/share-api.ts';
import { nothing } from './params.ts';
import type { Rows } from './row.ts';

/** Longest time to store a file that can be asked for, seconds: ten years. */
const MAX_SECONDS = 10 * 365 * 86_400;
/** Largest file that can be sent, in bytes, as an exNode can describe it. */
const MAX_FILE_BYTES = 2 ** 48;

const url = z.string().max(2048).describe('Address; without a scheme, http.');
const id = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .describe('32 hexadecimal digits.');
const seconds = z.int().min(60).max(MAX_SECONDS).describe('Time from now to store the file.');
const path = z.string().min(1).max(4096).describe('Absolute path of the file or folder.');
const name = z.string().min(1).max(255);
const one = z.strictObject({ id });

export const SHARE_ROWS = {
  'millrace.setDepot': {
    summary: 'Adds a depot, or changes its name or token.',
    params: z.strictObject({
      url,
      name: z.string().max(64).optional(),
      token: z
        .string()
        .regex(/^[\x21-\x7e]{1,512}$/, 'must be one word')
        .optional()
        .describe('Token of its owner. Needed for a new depot; never told again.'),
    }),
    result: depots,
  },
  'millrace.removeDepot': {
    summary: 'Removes a depot and its token; what it stores stays there.',
    params: z.strictObject({ url }),
    result: depots,
  },
  'millrace.checkDepot': {
    summary: 'Asks a depot that is set up what it allows.',
    params: z.strictObject({ url }),
    result: depotCheck,
    waits: true,
  },
  'millrace.invite': {
    summary: 'Reserves space in a depot for a file of a guest, who needs no token.',
    params: z.strictObject({
      url,
      bytes: z.int().min(1).max(MAX_FILE_BYTES).describe('Most bytes of the file.'),
      seconds,
    }),
    result: invitation,
    waits: true,
  },
  'millrace.offerFile': {
    summary: 'Names a file or a folder that may be sent, for a page that cannot name paths itself.',
    params: z.strictObject({ path }),
    result: outgoing,
    needs: 'token',
  },
  'millrace.stageFile': {
    summary: 'Makes room for a copy of a file, which the page then sends to `/outgoing/FILE`.',
    params: z.strictObject({ name, bytes: z.int().min(0).max(MAX_FILE_BYTES) }),
    result: outgoing,
  },
  'millrace.dropFile': {
    summary: 'Deletes the copy of a file that is not to be sent after all.',
    params: z.strictObject({ file: id }),
    result: done,
  },
  'millrace.share': {
    summary:
      'Sends a file, or a folder as a tar: `path`, for which the token is needed, or a `file` that was offered.',
    params: z
      .strictObject({
        path: path.optional(),
        file: id.optional(),
        name: name.optional().describe('Default: that of the file.'),
        seconds: seconds.default(WEEK_MS / 1000),
        depots: z
          .array(url)
          .min(1)
          .max(MAX_DEPOTS)
          .optional()
          .describe('Depots to store it; default: all that are set up.'),
        encrypt: z
          .boolean()
          .optional()
          .describe('True: depots get neither its bytes nor its name; the link ends in its key.'),
        copies: z
          .int()
          .min(1)
          .max(MAX_DEPOTS)
          .optional()
          .describe('Default: one at each. More: others in their networks are found.'),
      })
      .refine((p) => (p.path === undefined) !== (p.file === undefined), 'has either path or file'),
    result: shareView,
  },
  'millrace.shares': {
    summary: 'Lists the files that were sent, and invitations.',
    params: nothing,
    result: shares,
  },
  'millrace.pauseShare': {
    summary: 'Pauses an upload; what is stored stays.',
    params: one,
    result: shareView,
  },
  'millrace.resumeShare': {
    summary: 'Continues an upload that was paused or has failed.',
    params: one,
    result: shareView,
  },
  'millrace.checkShare': {
    summary: 'Asks the depots of a file how its copies do: which can be read, and until when.',
    params: one,
    result: shareHealth,
    waits: true,
  },
  'millrace.repairShare': {
    summary:
      'Stores copies that are lost at other depots that are set up, or at others of their networks. The depots are asked after the answer; a restart of the daemon does not end it.',
    params: one,
    result: shareView,
  },
  'millrace.stopRepair': {
    summary:
      'Stops the repair of a file. Copies that it has stored stay, and the next repair goes on from there.',
    params: one,
    result: shareView,
  },
  'millrace.extendShare': {
    summary: 'Extends the leases of a file. The depots are asked after the answer.',
    params: z.strictObject({ id, seconds }),
    result: shareView,
  },
  'millrace.revokeShare': {
    summary:
      'Revokes a file, or ends an invitation: it is deleted at all depots ten seconds later, and asked for again where that fails.',
    params: one,
    result: shareView,
  },
  'millrace.undoRevoke': {
    summary: 'Takes a revocation back, while it has not begun.',
    params: one,
    result: shareView,
  },
  'millrace.forgetShare': {
    summary: 'Removes a file from the list. What depots still store stays until its lease ends.',
    params: one,
    result: done,
  },
} as const satisfies Rows;
