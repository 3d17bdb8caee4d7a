/** Asks an origin for a file that cannot be cut into chunks, for one client. */

import type { IncomingMessage } from 'node:http';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { ENCODED, isEncodedPart, tunnelRequestHeaders } from '../../agent/tunnel.ts';
import type { OriginClient, OriginRequest } from '../../egress/origin-client.ts';

/** Statuses of origins that do not know HEAD (RFC 9110 15.5.6, 15.6.2). */
const NO_HEAD: ReadonlySet<number> = new Set([405, 501]);

/**
 * Asks the origin with the client's method: the body that a GET brings would be for nobody. Only
 * an origin that does not know HEAD is asked by GET. A preflight needs the header alone. Of an
 * encoded file no part is asked for.
 *
 * @param reason one word: why the file cannot be cut into chunks
 * @param discard gives an answer up for which the client is charged
 * @throws MillraceError for anything that prevents an answer
 */
export async function openTunnel(
  client: OriginClient,
  { method, headers }: IncomingMessage,
  asked: Omit<OriginRequest, 'method' | 'headers'>,
  reason: string,
  discard: (response: HttpResponse) => void,
): Promise<HttpResponse> {
  if (method !== 'GET') {
    const fields = tunnelRequestHeaders('HEAD', headers);
    const head = await client.open({ ...asked, method: 'HEAD', headers: fields });
    if (!NO_HEAD.has(head.status)) return head;
    head.discard();
    // Without a range as well: the answer to a HEAD is that to a GET of the whole file.
    return client.open({ ...asked, headers: fields });
  }
  const get = (ranges: boolean) =>
    client.open({ ...asked, headers: tunnelRequestHeaders('GET', headers, ranges) });
  const response = await get(reason !== ENCODED);
  if (!isEncodedPart(response)) return response;
  discard(response);
  return get(false);
}
