/** Methods for the native host: downloads that a browser offers. */

import * as z from 'zod';
import type { NativeOffer } from '../native/native-api.ts';
import { added, nothing as done } from '../results/download-results.ts';
import { gid, named, withName } from '../results/named.ts';
import type { Rows } from './row.ts';

const handOff = z.string().describe('UUID of the offer.');
const which = z.strictObject({ handOff });

/** The native host checks an offer itself, so that extensions need no library for it. */
const nativeOffer = named('NativeOffer', 'A download of a browser, as the browser knows it.', {
  handOff,
  url: z.string(),
  finalUrl: z.string().describe('After redirects.'),
  fileName: z.string(),
  path: z
    .string()
    .optional()
    .describe('Absolute path that the browser would save to; followed if it is allowed.'),
  length: z.int().min(0).describe('Bytes.'),
  etag: z.string().optional(),
  lastModified: z.string().optional(),
  contentType: z.string().optional(),
  headers: z.record(z.string(), z.string()),
  edges: z.array(z.string()),
  onlyRenews: z
    .boolean()
    .optional()
    .describe('Only an earlier download may continue with it; none is added.'),
}) satisfies z.ZodType<NativeOffer, NativeOffer>;

const offerState = withName(
  'OfferState',
  z
    .union([
      z.strictObject({ state: z.enum(['unknown', 'proving', 'proven']) }),
      z.strictObject({ state: z.literal('committed'), gid }),
    ])
    .describe('State of an offer; once it is committed, its download.'),
);

export const OFFER_ROWS = {
  'millrace.offer': {
    summary: 'Offers a download; answers once the daemon has shown that it gets the same file.',
    params: z.looseObject({}),
    asked: nativeOffer,
    result: done,
  },
  'millrace.commitOffer': {
    summary: 'Turns a proven offer into a download, once.',
    params: which,
    result: added,
  },
  'millrace.withdrawOffer': { summary: 'Withdraws an offer.', params: which, result: done },
  'millrace.offerState': {
    summary: 'Shows the state of an offer.',
    params: which,
    result: offerState,
  },
} as const satisfies Rows;
