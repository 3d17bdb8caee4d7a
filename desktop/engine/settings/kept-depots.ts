/** The depots that the user has set up, with the tokens of their owner: stored form and changes. */

import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_DEPOTS } from '@millrace/shared/bridge/rpc/share-api';
import * as z from 'zod';
import { edgeAddress } from './kept-edges.ts';

export const depotSchema = z.object({
  url: z.string(),
  name: z.string().max(64),
  /** Never leaves the daemon, except to this depot. */
  token: z.string().min(1),
});

export type KeptDepot = Readonly<z.infer<typeof depotSchema>>;

/**
 * Returns the list with a depot added or changed.
 *
 * @throws MillraceError `bad-url`; `owner-token-required` for a new one without; `bad-option` if
 *   the list is full
 */
export function withDepot(
  depots: readonly KeptDepot[],
  given: {
    readonly url: string;
    readonly name?: string | undefined;
    readonly token?: string | undefined;
  },
): KeptDepot[] {
  const url = edgeAddress(given.url);
  const known = depots.find((depot) => depot.url === url);
  const token = given.token ?? known?.token;
  if (token === undefined) throw new MillraceError('owner-token-required', url);
  if (known === undefined && depots.length >= MAX_DEPOTS) {
    throw new MillraceError('bad-option', { code: 'depots-at-most', values: { most: MAX_DEPOTS } });
  }
  const depot = { url, name: (given.name ?? known?.name ?? '').trim(), token };
  return known === undefined
    ? [...depots, depot]
    : depots.map((one) => (one === known ? depot : one));
}

/** Returns the list without a depot. @throws MillraceError `bad-option` if it is not in the list */
export function withoutDepot(depots: readonly KeptDepot[], text: string): KeptDepot[] {
  const { url } = findDepot(depots, text);
  return depots.filter((depot) => depot.url !== url);
}

/** Finds a depot. @throws MillraceError `bad-option` if it is not in the list */
export function findDepot(depots: readonly KeptDepot[], text: string): KeptDepot {
  const url = edgeAddress(text);
  const found = depots.find((depot) => depot.url === url);
  if (found === undefined)
    throw new MillraceError('bad-option', { code: 'not-a-depot', values: { url } });
  return found;
}
