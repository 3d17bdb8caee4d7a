/** Gets the manifest that a command of `millrace sync` names. */

import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Digest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_MANIFEST_BYTES } from '@millrace/shared/base/limits';
import { type Manifest, parseManifest } from '@millrace/shared/sync/manifest';
import type { SyncFetcher } from '../../../engine/sync/fetcher.ts';

/** Reads a manifest from a file. @throws MillraceError */
export async function readManifest(path: string, checksum: Digest | undefined): Promise<Manifest> {
  const body = await stat(path)
    .then(({ size }) => {
      if (size > MAX_MANIFEST_BYTES) throw new MillraceError('bad-manifest', 'it is too large');
      return readFile(path);
    })
    .catch((cause: unknown) => {
      if (cause instanceof MillraceError) throw cause;
      throw new MillraceError('bad-option', `${path} cannot be read`, { cause });
    });
  if (checksum !== undefined) {
    const found = createHash('sha256').update(body).digest('hex');
    if (found !== checksum.hex) throw new MillraceError('checksum-mismatch', `sha-256=${found}`);
  }
  return parse(body);
}

/**
 * Fetches a manifest.
 *
 * @param checksum digest that it must have
 * @throws MillraceError
 */
export async function fetchManifest(
  url: string,
  checksum: Digest | undefined,
  fetcher: SyncFetcher,
  signal: AbortSignal,
): Promise<Manifest> {
  // With a digest, the manifest is fetched like any other file; without one, it must be current.
  if (checksum === undefined) return parse(await fetcher.current(url, MAX_MANIFEST_BYTES, signal));
  const content = { size: MAX_MANIFEST_BYTES, sha256: checksum.hex };
  return parse(await fetcher.small(url, content, signal));
}

function parse(body: Buffer): Manifest {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new MillraceError('bad-manifest', 'it is no Unicode text');
  }
  return parseManifest(text, process.platform === 'win32');
}
