/** Sends interim answers of an origin on to a client (RFC 9110 15.2). */

import type { Http2ServerResponse } from 'node:http2';
import type { Exchange } from '../../clients/exchanges.ts';
import type { OnInterim } from '../../files/path.ts';
import type { LocalAccess } from '../../policy/local-access.ts';
import { changeFields } from '../../policy/origin-rules.ts';
import type { OriginPolicy } from '../../policy/policy.ts';
import { forPages } from './other-sites.ts';

// An import of node:http would load its whole client.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

export interface InterimOptions {
  readonly policy: OriginPolicy;
  readonly localAccess?: LocalAccess | undefined;
}

/** Returns what sends interim answers to the client; undefined for one that cannot read them. */
export function interimTo(o: InterimOptions, { req, res, url }: Exchange): OnInterim | undefined {
  // Clients of HTTP/1.0 would take it for the answer.
  if (url === undefined || req.httpVersionMajor < 1 || req.httpVersion === '1.0') return undefined;
  return ({ status, fields }) => {
    if (res.headersSent || res.destroyed) return;
    const { dropFields, passLabels } = o.policy.rule(url);
    const changed = { ...fields };
    changeFields({ dropFields, passLabels }, changed, undefined);
    const sent = forPages(o, changed);
    if (req.httpVersionMajor >= 2) {
      const { stream } = res as unknown as Http2ServerResponse;
      if (!stream.destroyed) stream.additionalHeaders({ ':status': status, ...sent });
      return;
    }
    const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`;
    // Without a socket, the answers to earlier requests of the connection come first.
    res.socket?.write(head, 'latin1');
  };
}
