/** Describes what a client has taken of a file with one request, for the counts of downloads. */

import type { MillraceError } from '@millrace/shared/base/errors';
import { singleField } from '@millrace/shared/http/fields/headers';
import { hideSecrets } from '@millrace/shared/http/urls/depot-link';
import type { TakenBytes } from '../figures/download-counter.ts';
import type { Exchange } from './exchanges.ts';

/** Most separate ranges of one request that are counted. */
const MAX_RANGES = 1000;
/** Longest text by which programs of one address are told apart. */
const MAX_AGENT_CHARS = 200;

/**
 * Describes a request that has ended.
 *
 * @param failure why the answer is not whole; undefined: it is
 * @returns undefined for a request that took nothing, or nothing that is public
 */
export function takenBytes(
  { req, res, clientKey, scope, url, taken, sentBytes }: Exchange,
  failure: MillraceError | undefined,
): Omit<TakenBytes, 'country'> | undefined {
  if (taken === undefined || url === undefined || scope === 'private') return undefined;
  if (taken.ranges.bytes === 0) return undefined;
  const agent = singleField(req.headers, 'user-agent') ?? '';
  return {
    client: `${clientKey} ${agent.slice(0, MAX_AGENT_CHARS)}`,
    file: hideSecrets(`${url.origin}${url.pathname}`),
    version: `${url.search} ${taken.version}`,
    length: taken.length,
    ranges: taken.ranges.ranges.slice(0, MAX_RANGES),
    sent: sentBytes,
    isWhole: failure === undefined && res.statusCode === 200,
  };
}
