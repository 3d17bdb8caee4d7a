/** Lists the downloads that a Metalink document describes. */

import { MillraceError } from '@millrace/shared/base/errors';
import { chooseFiles, requestOf } from '@millrace/shared/download/metalink/described-request';
import { parseMetalink } from '@millrace/shared/download/metalink/metalink';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { readMetalink } from './fetch-metalink.ts';

/**
 * Reads a metalink into a request per file.
 *
 * @param given URL, or path relative to `cwd`
 * @param asked the user's options; files must have their digests besides those of the metalink
 * @throws MillraceError as `readMetalink`; `bad-metalink`, `bad-option`
 */
export async function describedDownloads(
  given: string,
  asked: DownloadRequest,
  cwd: string,
  signal: AbortSignal,
): Promise<DownloadRequest[]> {
  const base = /^https?:/i.test(given) ? given : undefined;
  const document = await readMetalink(given, cwd, signal);
  const files = chooseFiles(parseMetalink(document, base));
  const { urls: _, digests, ...settings } = asked;
  if (files.length > 1 && settings.file !== undefined) {
    throw new MillraceError('bad-option', `-o names one file, ${given} has ${files.length}`);
  }
  return files.map((file) => {
    const request = requestOf(file, settings, Date.now());
    return { ...request, digests: [...request.digests, ...digests] };
  });
}
