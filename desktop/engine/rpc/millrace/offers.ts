/** Methods for the native host: downloads that a browser offers. */

import { parseHandOff, parseNativeOffer } from '@millrace/shared/bridge/native/native-request';
import { z } from 'zod';
import type { Offers } from '../../offers/offers.ts';
import type { Method } from '../calls/dispatcher.ts';
import { method } from './params.ts';

/**
 * `millrace.offer` is answered when the offer is proven. A connection is served one call at a time:
 * it should have one of its own.
 */
export function offerMethods({ offers }: { readonly offers: Offers }): [string, Method][] {
  const named = z.strictObject({ handOff: z.string() });
  return [
    method('offer', z.looseObject({}), async (p) => {
      await offers.offer(parseNativeOffer(p));
      return {};
    }),
    method('commitOffer', named, (p) => ({ gid: offers.commit(parseHandOff(p.handOff)) })),
    method('withdrawOffer', named, async (p) => {
      await offers.withdraw(parseHandOff(p.handOff));
      return {};
    }),
    method('offerState', named, (p) => offers.state(parseHandOff(p.handOff))),
  ];
}
