/** Fetches a metalink: a small document, unlike what it describes. */

import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';

export const MAX_METALINK_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** @throws MillraceError `origin-...`, or `malformed-response` if it is too large */
export async function fetchMetalink(url: string, signal: AbortSignal): Promise<Buffer> {
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
