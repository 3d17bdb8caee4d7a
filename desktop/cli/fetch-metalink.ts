/** Metalinks that users name: files, or small documents that are fetched. */

import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';

const MAX_METALINK_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/**
 * Reads a metalink.
 *
 * @param given URL, or path relative to `cwd`
 * @throws MillraceError `bad-option` for a file that cannot be read, `origin-...`,
 *   `malformed-response`
 */
export async function readMetalink(
  given: string,
  cwd: string,
  signal: AbortSignal,
): Promise<Buffer> {
  if (/^https?:\/\//i.test(given)) return fetchMetalink(given, signal);
  const path = resolve(cwd, given);
  try {
    if ((await stat(path)).size > MAX_METALINK_BYTES) {
      throw new MillraceError('bad-option', `${given} is too large for a metalink`);
    }
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw new MillraceError('bad-option', `${given} cannot be read`, { cause });
  }
}

/** @throws MillraceError `origin-...`, or `malformed-response` if it is too large */
async function fetchMetalink(url: string, signal: AbortSignal): Promise<Buffer> {
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/metalink4+xml, application/metalink+xml, */*;q=0.5' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (response.status === 404) throw new MillraceError('origin-not-found');
    if (!response.ok) throw new MillraceError('origin-error', `it answered ${response.status}`);
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of response.body ?? []) {
      bytes += piece.length;
      if (bytes > MAX_METALINK_BYTES) {
        throw new MillraceError('malformed-response', 'it is too large for a metalink');
      }
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } catch (cause) {
    if (signal.aborted) throw new MillraceError('interrupted');
    if (isMillraceError(cause)) throw cause;
    const timedOut = cause instanceof Error && cause.name === 'TimeoutError';
    throw new MillraceError(timedOut ? 'origin-timeout' : 'origin-unreachable', '', { cause });
  }
}
