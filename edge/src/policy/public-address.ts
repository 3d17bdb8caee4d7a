/**
 * Protection of the operator's own network: an edge connects to public addresses only, and not to
 * its own machine, at any of its addresses. The check is made on the addresses that the connection
 * is then made to, so that a name that resolves differently the second time (DNS rebinding) gains
 * nothing.
 */

import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  ipLiteral,
  isCloudServiceName,
  isPublicAddress,
} from '@millrace/shared/http/urls/public-address';
import type { OwnAddresses } from './own-addresses.ts';

/** Names that mean this machine wherever they are looked up (RFC 6761 6.3). */
const LOOPBACK_NAME = /(?:^|\.)localhost\.?$/i;

/**
 * Refuses URLs whose host is a literal private address, or a name of this machine or of a service
 * of its cloud. No name is looked up.
 *
 * @param own addresses of this machine, if they are known
 * @throws MillraceError `private-address`
 */
export function checkLiteral(url: URL, own?: OwnAddresses): void {
  const { hostname } = url;
  const literal = ipLiteral(hostname);
  const isPrivate =
    literal === undefined
      ? LOOPBACK_NAME.test(hostname) ||
        isCloudServiceName(hostname) ||
        own?.hasName(hostname) === true
      : !isOpen(literal, own);
  if (isPrivate) {
    throw new MillraceError('private-address', url.hostname);
  }
}

/** Makes a `lookup` for sockets that yields public addresses only, and fails if there are none. */
export function publicLookup(
  resolve: typeof dnsLookup = dnsLookup,
  own?: OwnAddresses,
): LookupFunction {
  return (hostname: string, options: LookupOptions, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, '', 0);
      const open = addresses.filter(({ address }) => isOpen(address, own));
      const first = open[0];
      if (first === undefined) {
        return callback(new MillraceError('private-address', hostname), '', 0);
      }
      if (options.all === true) callback(null, open);
      else callback(null, first.address, first.family);
    });
  };
}

function isOpen(address: string, own: OwnAddresses | undefined): boolean {
  return isPublicAddress(address) && own?.has(address) !== true;
}
