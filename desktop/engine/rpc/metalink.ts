/** Metalink documents as downloads, one for each file. */

import type { Millis } from '@millrace/shared/base/clock';
import type { NewDownload } from '../daemon/new-download.ts';

/** @param now Unix milliseconds */
export type ParseMetalink = (document: Uint8Array, now: Millis) => Promise<NewDownload[]>;

/**
 * @throws MillraceError `bad-metalink`, also for a file that nothing we speak can fetch
 */
export async function parseMetalinkDownloads(
  document: Uint8Array,
  now: Millis,
): Promise<NewDownload[]> {
  // With the first document: the daemon starts faster without it.
  const [{ parseMetalink }, { requestOf }] = await Promise.all([
    import('@millrace/shared/download/metalink'),
    import('@millrace/shared/download/described-request'),
  ]);
  return parseMetalink(document).files.map((described) => {
    const { urls, file, length, digests, pieces } = requestOf(described, { dir: '.' }, now);
    return {
      urls: [...urls],
      file,
      digests: [...digests],
      ...(length === undefined ? {} : { length }),
      ...(pieces === undefined ? {} : { pieces: { ...pieces, hexes: [...pieces.hexes] } }),
    };
  });
}
