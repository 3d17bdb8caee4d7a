/** The header of an origin's answer as the client gets it, whatever the answer was kept or passed through as. */

import { leadPages } from '@millrace/shared/http/urls/link-rebuild';
import type { Exchange } from '../../clients/exchanges.ts';
import type { LocalAccess } from '../../policy/local-access.ts';
import type { OriginPolicy } from '../../policy/policy.ts';
import { ownBase } from '../own-address.ts';
import { forPages } from './other-sites.ts';
import { targetOf } from './send-moved.ts';

export interface ForClientOptions {
  readonly policy: OriginPolicy;
  /** Set if the edge runs for one user. */
  readonly localAccess?: LocalAccess | undefined;
  /** Address that clients know; undefined: the one that they have asked. */
  readonly publicUrl: string | undefined;
}

/**
 * Returns the header of an answer: without allowances for other sites if the edge is of one user, and with
 * links to further pages of a list that lead through the edge, as the link to this page did.
 */
export function forClient(
  o: ForClientOptions,
  exchange: Exchange,
  headers: Record<string, string>,
): Record<string, string> {
  const { link, ...others } = forPages(o, headers);
  if (link === undefined) return others;
  const lead = (page: URL) => {
    const target = targetOf(page, exchange, o.policy);
    return target === undefined ? undefined : `${ownBase(exchange.req, o.publicUrl)}${target}`;
  };
  return { ...others, link: leadPages(link, lead) };
}
