/** Lists the downloads that a Metalink document, a torrent or a magnet link describes. */

import { MillraceError } from '@millrace/shared/base/errors';
import { chooseFiles, requestOf } from '@millrace/shared/download/metalink/described-request';
import { isMagnetLink } from '@millrace/shared/download/request/document-name';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { readDescribed } from '../../engine/described/read-described.ts';
import { readDescription } from './fetch-description.ts';

/**
 * Reads a description into a request per file.
 *
 * @param given URL, path relative to `cwd`, or magnet link
 * @param asked the user's options; files must have their digests besides those of the description. Its
 *   URLs but the first one are further ones of the files
 * @throws MillraceError as `readDescription`, `readDescribed`; `bad-metalink`, `bad-option`
 */
export async function describedDownloads(
  given: string,
  asked: DownloadRequest,
  cwd: string,
  signal: AbortSignal,
): Promise<DownloadRequest[]> {
  const base = /^https?:/i.test(given) ? given : undefined;
  const { urls, digests, ...settings } = asked;
  const [, ...mirrors] = urls;
  const document = await readDescription(given, cwd, signal);
  const { proxy } = settings;
  const described = await readDescribed(document, { base, mirrors, proxy, signal });
  const files = chooseFiles({ files: described.files, extra: [] });
  if (files.length > 1 && settings.file !== undefined) {
    const shown = isMagnetLink(given) ? 'the magnet link' : given;
    throw new MillraceError('bad-option', `-o names one file, ${shown} has ${files.length}`);
  }
  return files.map((file) => {
    const request = requestOf(file, settings, Date.now());
    return {
      ...request,
      listed: request.urls.filter((url) => !described.named.has(url)),
      digests: [...request.digests, ...digests],
    };
  });
}
