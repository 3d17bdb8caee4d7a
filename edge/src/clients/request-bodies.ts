/** Bodies of requests, in any version of HTTP. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { streamOf } from './connection.ts';

/** Returns true for requests of HTTP/1.1 with a body. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Returns false for a body whose end is only that of its connection or stream. */
export function isWhole(req: IncomingMessage, res: ServerResponse): boolean {
  const stream = streamOf(res);
  if (stream === undefined) return req.complete;
  return !stream.aborted && !stream.closed;
}
