/** Methods for the native host: downloads that a browser offers. */

import { z } from 'zod';
import type { NativeOffer, NativeOfferState } from '../native/native-api.ts';
import { type Nothing, type Rows, told } from './row.ts';

const named = z.strictObject({ handOff: z.string().describe('UUID of the offer.') });
const done = told<Nothing>('Nothing', 'An empty object.');

export const OFFER_ROWS = {
  'millrace.offer': {
    summary: 'Offers a download; answered once the offer is shown to be the same file.',
    params: z.looseObject({}),
    asked: told<NativeOffer>('NativeOffer', 'What the browser knows of the download.'),
    result: done,
  },
  'millrace.commitOffer': {
    summary: 'Makes an offer that was shown to be right a download, once.',
    params: named,
    result: told<{ readonly gid: string }>('Added', 'The download.'),
  },
  'millrace.withdrawOffer': { summary: 'Takes an offer back.', params: named, result: done },
  'millrace.offerState': {
    summary: 'Tells how far an offer is.',
    params: named,
    result: told<NativeOfferState>('OfferState', 'The state; of a committed one, its download.'),
  },
} as const satisfies Rows;
