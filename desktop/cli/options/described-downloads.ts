/** Lists the downloads that a Metalink document, a torrent or a magnet link describes. */

import { readFile, rm } from 'node:fs/promises';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { chooseFiles, requestOf } from '@millrace/shared/download/metalink/described-request';
import type { SharedPiece } from '@millrace/shared/download/metalink/description';
import { isMagnetLink } from '@millrace/shared/download/request/document-name';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { readDescribed } from '../../engine/described/read-described.ts';
import { DESCRIPTION } from '../../engine/stored/fetch-document.ts';
import { readDescription } from './fetch-description.ts';

/** A file of a description. */
export interface DescribedFile {
  readonly request: DownloadRequest;
  /** Pieces that it has in common with other files. */
  readonly shared: readonly SharedPiece[];
}

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
): Promise<DescribedFile[]> {
  return downloadsIn(await readDescription(given, cwd, signal), given, asked, signal);
}

/**
 * Reads a complete file as a description of others, and removes it unless it is to be kept or has replaced
 * another.
 *
 * @param keeps true to keep it: the user's name and digests are its own then, not those of its files
 * @returns undefined if it describes no files: it stays
 * @throws MillraceError as `describedDownloads`, also if no server is known that has the files
 */
export async function followedDownloads(
  { path, bytes, url }: { readonly path: string; readonly bytes: number; readonly url: string },
  asked: DownloadRequest,
  keeps: boolean,
  signal: AbortSignal,
): Promise<DescribedFile[] | undefined> {
  if (bytes > DESCRIPTION.maxBytes) return undefined;
  try {
    const [first = url] = asked.urls;
    const own = { ...asked, urls: [first], file: undefined, digests: [] };
    const requests = await downloadsIn(await readFile(path), url, keeps ? own : asked, signal);
    if (!keeps && !asked.overwrite) await rm(path, { force: true });
    return requests;
  } catch (error) {
    if (isMillraceError(error, 'bad-metalink')) return undefined;
    throw error;
  }
}

/**
 * Reads a description that has been fetched already.
 *
 * @param given its URL, path or magnet link; the rest as for `describedDownloads`
 */
async function downloadsIn(
  document: Uint8Array,
  given: string,
  asked: DownloadRequest,
  signal: AbortSignal,
): Promise<DescribedFile[]> {
  const base = /^https?:/i.test(given) ? given : undefined;
  const { urls, digests, ...settings } = asked;
  const [, ...mirrors] = urls;
  const { proxy } = settings;
  const described = await readDescribed(document, { base, mirrors, proxy, signal });
  const files = chooseFiles({ files: described.files, extra: [] });
  if (files.length > 1 && settings.file !== undefined) {
    const shown = isMagnetLink(given) ? 'the magnet link' : given;
    throw new MillraceError('bad-option', `-o names one file, ${shown} has ${files.length}`);
  }
  return files.map((file) => {
    const request = requestOf(file, settings, Date.now());
    const listed = request.urls.filter((url) => !described.named.has(url));
    return {
      request: { ...request, listed, digests: [...request.digests, ...digests] },
      shared: file.shared ?? [],
    };
  });
}
