/**
 * Protection of the operator's own network: an edge connects to public addresses only. The check
 * is made on the addresses that the connection is then made to, so that a name which resolves
 * differently the second time (DNS rebinding) gains nothing.
 */

import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import { ipLiteral, isPublicAddress } from '@millrace/shared/http/public-address';

/** Names that mean this machine wherever they are asked (RFC 6761 6.3). */
const LOOPBACK_NAME = /(?:^|\.)localhost\.?$/i;

/**
 * Refuses URLs whose host is a literal private address, or a name of this machine: for them no name
 * is looked up.
 *
 * @throws MillraceError `private-address`
 */
export function checkLiteral(url: URL): void {
  const literal = ipLiteral(url.hostname);
  const isPrivate =
    literal === undefined ? LOOPBACK_NAME.test(url.hostname) : !isPublicAddress(literal);
  if (isPrivate) {
    throw new MillraceError('private-address', url.hostname);
  }
}

/** A `lookup` for sockets that yields public addresses only, and fails where there are none. */
export function publicLookup(resolve: typeof dnsLookup = dnsLookup): LookupFunction {
  return (hostname: string, options: LookupOptions, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, '', 0);
      const open = addresses.filter((a) => isPublicAddress(a.address));
      const first = open[0];
      if (first === undefined) {
        return callback(new MillraceError('private-address', hostname), '', 0);
      }
      if (options.all === true) callback(null, open);
      else callback(null, first.address, first.family);
    });
  };
}
