/** Finds out why a server cannot be reached: its port, its name, or our network. */

import { MillraceError } from '@millrace/shared/base/errors';
import { errorCodes, networkAddresses, networkSeemsAway } from './network-watch.ts';

/**
 * Distinguishes `origin-refused`, `origin-unknown` and `network-away` from other reasons why a
 * server is out of reach.
 *
 * @param error of an attempt to connect
 * @param addresses returns the number of this machine's addresses
 * @returns the same error unless it is `origin-unreachable` and its cause says more
 */
export function whyUnreachable(
  error: unknown,
  addresses = () => networkAddresses().length,
): unknown {
  if (!(error instanceof MillraceError) || error.code !== 'origin-unreachable') return error;
  const codes = errorCodes(error);
  const say = (code: 'origin-refused' | 'origin-unknown' | 'network-away') =>
    error.as(code, { cause: error.cause });
  // If one of several addresses has answered, even with a refusal, there is a network.
  if (codes.includes('ECONNREFUSED')) return say('origin-refused');
  if (networkSeemsAway(error, addresses())) return say('network-away');
  return codes.includes('ENOTFOUND') ? say('origin-unknown') : error;
}
