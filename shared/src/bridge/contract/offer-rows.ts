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
    .describe('Where the browser will have it, absolute. A wish, followed where it may be.'),
  length: z.int().min(0).describe('Bytes.'),
  etag: z.string().optional(),
  lastModified: z.string().optional(),
  contentType: z.string().optional(),
  headers: z.record(z.string(), z.string()),
  edges: z.array(z.string()),
}) satisfies z.ZodType<NativeOffer, NativeOffer>;

const offerState = withName(
  'OfferState',
  z
    .union([
      z.strictObject({ state: z.enum(['unknown', 'proving', 'proven']) }),
      z.strictObject({ state: z.literal('committed'), gid }),
    ])
    .describe('How far an offer is; once it is committed, its download.'),
);

export const OFFER_ROWS = {
  'millrace.offer': {
    summary: 'Offers a download; answered once the offer is shown to be the same file.',
    params: z.looseObject({}),
    asked: nativeOffer,
    result: done,
  },
  'millrace.commitOffer': {
    summary: 'Makes an offer that was shown to be right a download, once.',
    params: which,
    result: added,
  },
  'millrace.withdrawOffer': { summary: 'Takes an offer back.', params: which, result: done },
  'millrace.offerState': {
    summary: 'Tells how far an offer is.',
    params: which,
    result: offerState,
  },
} as const satisfies Rows;
