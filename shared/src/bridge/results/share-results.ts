/** Files that the user has sent, and the depots that store them. */

import * as z from 'zod';
import { failure } from './download-results.ts';
import { depotEntry, depotUrl } from './edge-results.ts';
import { count, named, time } from './named.ts';
import { HOLDER_STATES, SHARE_CHANGES, SHARE_STATES } from './values.ts';

export const depots = named('Depots', 'All depots that are set up.', {
  depots: z.array(depotEntry),
});
export const depotCheck = named('DepotCheck', 'What a depot allows.', {
  url: depotUrl,
  ok: z.boolean(),
  owner: z.string().optional().describe('Name of the owner that the token belongs to.'),
  bytesLeft: count.optional().describe('Bytes that may still be stored.'),
  eachBytes: count.optional().describe('Most bytes of one file; absent: no limit of its own.'),
  maxSeconds: count.optional().describe('Longest time that files are stored at a time.'),
  problem: failure.optional().describe('Why it is not ok.'),
});

const shareId = z.string().describe('32 hexadecimal digits.');

export const sharePlace = named('SharePlace', 'A depot that stores a file, or is to store it.', {
  depot: depotUrl,
  bytes: count.describe('Bytes of the file that it has, each counted once.'),
  expires: time.optional(),
});
export const shareView = named('ShareView', 'A file that the user has sent.', {
  id: shareId,
  name: z.string(),
  bytes: count.describe('Bytes of the file.'),
  state: z.enum(SHARE_STATES),
  changing: z.enum(SHARE_CHANGES).optional().describe('Depots are being asked for that.'),
  repair: z
    .strictObject({
      storedBytes: count.describe('Bytes of further copies that are stored.'),
      totalBytes: count,
    })
    .optional()
    .describe('While it is being repaired, once it is known what lacks.'),
  sentBytes: count.describe('Over all copies.'),
  totalBytes: count.describe('Over all copies.'),
  copies: z
    .strictObject({
      stored: count.describe('Copies of the whole file that are stored.'),
      wanted: count,
    })
    .optional()
    .describe('Of a file that is being sent, if there are to be several copies.'),
  seconds: count.describe('Time to store the file that was asked for.'),
  createdAt: time,
  link: z.string().optional().describe('The link to give away.'),
  invitation: z
    .boolean()
    .optional()
    .describe('True: space for a file of a guest, of at most `bytes`, who sends it by `link`.'),
  guestFile: z
    .string()
    .optional()
    .describe('Of an invitation: leads to the file, once all of it is there.'),
  encrypted: z.boolean(),
  wholeFile: z
    .boolean()
    .describe('True: `link` is the file itself, for any program. False: an exNode, for Millrace.'),
  expires: time.optional().describe('The first end of a lease, Unix milliseconds.'),
  revokeAt: time
    .optional()
    .describe('The file is revoked then, unless that is undone before; tried again then.'),
  places: z.array(sharePlace),
  trouble: failure.optional().describe('What went wrong last; it is tried again while sending.'),
});
const holder = named('ShareDepot', 'A depot that was to keep bytes of a file.', {
  depot: depotUrl,
  state: z
    .enum(HOLDER_STATES)
    .describe(
      'The worst of its spaces. `slow`: it was far slower than the others; `silent`: no answer; `failing`: it does not give the bytes; `expired`: its time is over; `lost`: it has deleted, cut or damaged them.',
    ),
  spaces: count.describe('Spaces that it was to keep for the file.'),
  readable: count.describe('How many of them can be read.'),
  bytes: count.describe('Of the spaces that can be read.'),
  expires: time.optional().describe('The first end of a space, Unix milliseconds.'),
  isLink: z.boolean().describe('True: `link` of the file leads there.'),
  rate: z.number().min(0).optional().describe('Bytes per second at which it took files before.'),
});
export const shareHealth = named('ShareHealth', 'How the copies of a file do.', {
  depots: z.array(holder),
  parts: z
    .array(
      z.strictObject({
        copies: count.describe('Copies that can be read, each at another depot.'),
        bytes: count,
      }),
    )
    .describe('Bytes of the file by the number of their copies, the fewest first.'),
  wantedCopies: count.describe('Copies that the user has asked for.'),
  missingBytes: count.describe('Bytes of the file that no depot gives.'),
  mayFail: count.describe('Depots of which any may fail without a byte missing.'),
  lacksCopies: z
    .boolean()
    .describe(
      'True: bytes have fewer copies than wanted; `millrace.repairShare` stores further ones.',
    ),
});
export const shares = named(
  'Shares',
  'All files that the user has sent, and invitations, newest first.',
  {
    shares: z.array(shareView),
  },
);
export const invitation = named(
  'Invitation',
  'Space that a guest may fill. It is among `millrace.shares` too.',
  {
    link: z.string().describe('For the guest, who uploads one file by it.'),
    file: z.string().describe('Leads to the file, once all of it is there.'),
    manage: z
      .string()
      .describe('Ends the invitation, or deletes the file (HTTP DELETE). It is told once.'),
    expires: z.string().describe('ISO 8601.'),
  },
);
export const outgoing = named('Outgoing', 'A file that may be sent.', {
  file: shareId,
  name: z.string(),
  bytes: count,
});
