/** Reads documents that users name, such as metalinks, from files or URLs. */

import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { Connections } from '../../engine/sources/connections.ts';
import { readSmallFile } from '../../engine/sources/small-file.ts';

/** A kind of document. */
export interface NamedDocument {
  /** Its name in messages, with its article. */
  readonly what: string;
  /** Accept field of the request for it. */
  readonly accept: string;
  readonly maxBytes: number;
}

const TIMEOUT_MS = 30_000;

/**
 * Reads a document.
 *
 * @param given URL, or path relative to `cwd`
 * @throws MillraceError `bad-option` for a file that cannot be read, `origin-...`,
 *   `wrong-length`
 */
export async function readNamedDocument(
  kind: NamedDocument,
  given: string,
  cwd: string,
  signal: AbortSignal,
): Promise<Buffer> {
  if (/^https?:\/\//i.test(given)) return fetchDocument(kind, given, signal);
  const path = resolve(cwd, given);
  try {
    if ((await stat(path)).size > kind.maxBytes) {
      throw new MillraceError('bad-option', `${given} is too large for ${kind.what}`);
    }
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw new MillraceError('bad-option', `${given} cannot be read`, { cause });
  }
}

/**
 * Fetches a document as downloads are fetched: through the proxy, and without redirects into the
 * user's own network.
 *
 * @throws MillraceError `origin-...`, `wrong-length` if the document is too large
 */
async function fetchDocument(
  { accept, maxBytes }: NamedDocument,
  url: string,
  signal: AbortSignal,
): Promise<Buffer> {
  const asked = { ...REQUEST_DEFAULTS, urls: [url], dir: '', headers: { accept } };
  const connections = await Connections.open(asked);
  try {
    const source = connections.source('origin', connections.urls[0] as string, Math.random);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    return (await readSmallFile(source, maxBytes, limited)).body;
  } catch (cause) {
    if (signal.aborted) throw new MillraceError('interrupted');
    if (isMillraceError(cause)) throw cause;
    const timedOut = cause instanceof Error && cause.name === 'TimeoutError';
    throw new MillraceError(timedOut ? 'origin-timeout' : 'origin-unreachable', '', { cause });
  } finally {
    await connections.close();
  }
}
