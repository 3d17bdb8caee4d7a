/** Metalink documents as downloads, one for each file. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { FileDescription } from '@millrace/shared/download/description';
import { parseMetalink } from '@millrace/shared/download/metalink';
import type { NewDownload } from '../daemon/new-download.ts';

export type ParseMetalink = (document: Uint8Array) => NewDownload[];

const MAX_URLS = 64;

/**
 * @throws MillraceError `bad-metalink`; `bad-url` for a file that nothing we speak can fetch
 */
export function parseMetalinkDownloads(document: Uint8Array): NewDownload[] {
  return parseMetalink(document).files.map((file) => {
    const download = downloadOfFile(file);
    if (download === undefined)
      throw new MillraceError('bad-url', `${file.name} has no HTTP(S) URL`);
    return download;
  });
}

/** @returns undefined for a file that nothing we speak can fetch */
export function downloadOfFile(file: FileDescription): NewDownload | undefined {
  const { name, digests, pieces, replicas } = file;
  const urls = replicas
    .filter(({ url }) => /^https?:/i.test(url))
    .sort((a, b) => a.priority - b.priority)
    .map(({ url }) => url);
  if (urls.length === 0) return undefined;
  const [piece] = pieces;
  return {
    urls: [...new Set(urls)].slice(0, MAX_URLS),
    file: name,
    digests: [...digests],
    ...(piece === undefined ? {} : { pieces: { ...piece, hexes: [...piece.hexes] } }),
  };
}
