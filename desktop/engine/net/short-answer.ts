/** Parts of requests to depots whose answers are short, with Node's own client. */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { MillraceError } from '@millrace/shared/base/errors';

/**
 * Names the error of an answer without a problem in its body: HEAD has none, and neither have other
 * servers on the way. Only to HEAD, a 404 or 410 is taken for the depot's.
 */
export function refusalOf(status: number, method: string): MillraceError | undefined {
  if ((status === 404 || status === 410) && method !== 'HEAD') return undefined;
  if (status === 404) return new MillraceError('no-such-allocation');
  if (status === 409 && method === 'HEAD') return new MillraceError('upload-running');
  if (status === 410) return new MillraceError('allocation-expired');
  if (status === 429) return new MillraceError('too-many-requests');
  if (status === 503) return new MillraceError('draining');
  return status === 502 || status === 504 ? new MillraceError('origin-error') : undefined;
}

/** Resolves when a request takes more bytes. */
export function drained(req: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    req.once('drain', resolve);
  });
}

/** Reads a short answer. @throws MillraceError `malformed-response` if it is longer */
export async function textOf(res: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of res as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBytes) throw new MillraceError('malformed-response', 'it is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
