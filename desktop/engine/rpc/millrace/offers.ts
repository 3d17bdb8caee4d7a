/** Methods for the native host: downloads that a browser offers. */

import { OFFER_ROWS } from '@millrace/shared/bridge/contract/offer-rows';
import { parseHandOff, parseNativeOffer } from '@millrace/shared/bridge/native/native-request';
import type { Offers } from '../../offers/offers.ts';
import type { Method } from '../calls/dispatcher.ts';
import { methodsOf } from './params.ts';

/**
 * Makes the methods. `millrace.offer` is answered only once the offer is proven, and a connection
 * serves one call at a time, so this call should have a connection of its own.
 */
export function offerMethods({ offers }: { readonly offers: Offers }): [string, Method][] {
  return methodsOf(OFFER_ROWS, {
    'millrace.offer': async (p) => {
      await offers.offer(parseNativeOffer(p));
      return {};
    },
    'millrace.commitOffer': (p) => ({ gid: offers.commit(parseHandOff(p.handOff)) }),
    'millrace.withdrawOffer': async (p) => {
      await offers.withdraw(parseHandOff(p.handOff));
      return {};
    },
    'millrace.offerState': (p) => offers.state(parseHandOff(p.handOff)),
  });
}
