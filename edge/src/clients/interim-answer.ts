/** Interim answers to clients (RFC 9110 15.2), in any version of HTTP. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { UPLOAD_RESUMPTION } from '@millrace/shared/http/fields/upload-fields';
import { streamOf } from './connection.ts';

// An import of node:http would load its whole client.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/**
 * Sends an interim answer, if the client's version of HTTP has such answers and the final one has not
 * begun.
 */
export function sendInterimAnswer(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  fields: Readonly<Record<string, string>>,
): void {
  const stream = streamOf(res);
  if (stream !== undefined) {
    if (stream.closed || stream.destroyed || stream.headersSent) return;
    stream.additionalHeaders({ ':status': status, ...fields });
    return;
  }
  // Clients of HTTP/1.0 would take it for the answer.
  if (req.httpVersion === '1.0' || res.headersSent) return;
  const phrase =
    status === UPLOAD_RESUMPTION.status ? UPLOAD_RESUMPTION.phrase : (STATUS_CODES[status] ?? '');
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  // The connection is the response's own only while it is its turn.
  res.socket?.write(`HTTP/1.1 ${status} ${phrase}\r\n${lines.join('')}\r\n`, 'latin1');
}
