/**
 * Decides who may load the page. It holds no secret, but other sites should not even learn that it
 * exists.
 */

import type { IncomingMessage } from 'node:http';
import { type GuardOptions, isOurs, isOwnOrigin, type Refusal } from './guard.ts';

/**
 * Refuses requests from other sites, except links to the page: they may come from anywhere, but no
 * other site may embed the page or parts of it.
 */
export function refusePage(req: IncomingMessage, options: GuardOptions): Refusal | undefined {
  if (!isOurs(req.headers.host, options)) {
    return { status: 403, reason: 'the Host field does not name this server' };
  }
  return refuseElsewhere(req, isOwnOrigin(req));
}

/**
 * Refuses pages of other sites.
 *
 * @param isOwn whether Origin is that of the page at this address
 */
export function refuseElsewhere(req: IncomingMessage, isOwn: boolean): Refusal | undefined {
  if (req.headers.origin !== undefined && !isOwn) {
    return { status: 403, reason: 'this Origin may not read this' };
  }
  const site = req.headers['sec-fetch-site'];
  if (site === undefined || site === 'none' || site === 'same-origin') return undefined;
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = req.headers;
  if (mode === 'navigate' && dest === 'document') return undefined;
  return { status: 403, reason: 'pages of other sites may not read this' };
}
