/** Reads the small bodies of log-ins. */

import type { IncomingMessage } from 'node:http';
import { readOrThrow } from '@millrace/shared/schema/read';
import type * as z from 'zod';

const MAX_BODY_BYTES = 4096;

/**
 * Reads a JSON body.
 *
 * @returns undefined if it is too long, of another form, or of a content type that forms of other
 *   sites can send
 */
export async function readSmallJson<T>(
  req: IncomingMessage,
  schema: z.ZodType<T>,
): Promise<T | undefined> {
  const text = await readSmall(req);
  if (!/^application\/json\b/i.test(req.headers['content-type'] ?? '')) return undefined;
  try {
    return readOrThrow(schema, JSON.parse(text ?? ''));
  } catch {
    return undefined;
  }
}

async function readSmall(req: IncomingMessage): Promise<string | undefined> {
  let text = '';
  try {
    for await (const piece of req.setEncoding('utf8') as AsyncIterable<string>) {
      text += piece;
      if (text.length > MAX_BODY_BYTES) return undefined;
    }
  } catch {
    return undefined; // the client is gone
  }
  return text;
}
