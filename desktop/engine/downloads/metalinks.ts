/** Turns Metalink documents, torrents and magnet links into downloads, one for each file. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import type { FileDescription } from '@millrace/shared/download/metalink/description';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { DescribedOptions } from '../described/read-described.ts';
import type { NewDownload } from './download-schema.ts';
import type { Manager } from './manager.ts';
import { cleanUrls } from './new-download.ts';

/** Reads a document into the downloads to add. @param now Unix milliseconds */
export type ParseMetalink = (
  document: Uint8Array,
  now: Millis,
  options?: MetalinkOptions,
) => Promise<NewDownload[]>;

export type MetalinkOptions = Pick<DescribedOptions, 'mirrors' | 'proxy' | 'base'>;

/** A file that a document describes. */
export interface DescribedDownload {
  readonly file: FileDescription;
  /** Undefined if the file has no URL that we can fetch. */
  readonly download: NewDownload | undefined;
}

/** Longest time to read a document: the torrent of a magnet link is fetched. */
const LONGEST_MS: Millis = 60_000;

/**
 * Returns a download for each file of a document.
 *
 * @throws MillraceError as `readDescribed`, also if a file has no URL that we can fetch
 */
export const parseMetalinkDownloads: ParseMetalink = async (document, now, options = {}) => {
  const { files, downloadFor } = await read(document, now, options);
  return files.map(downloadFor);
};

/**
 * Returns all files of a document.
 *
 * @param now Unix milliseconds
 * @throws MillraceError as `readDescribed`; `no-web-seed` for a torrent that no file can be downloaded of
 */
export async function readMetalink(
  document: Uint8Array,
  now: Millis,
  options: MetalinkOptions = {},
): Promise<DescribedDownload[]> {
  const { files, downloadFor } = await read(document, now, options);
  return files.map((file) => {
    try {
      return { file, download: downloadFor(file) };
    } catch (error) {
      if (isMillraceError(error, 'bad-metalink')) return { file, download: undefined };
      throw error;
    }
  });
}

/**
 * Fetches a document as a download of it would be fetched.
 *
 * @param listed true if the URL may not lead into this machine's own network
 * @throws MillraceError `bad-url`; as `fetchDocument`
 */
export async function fetchMetalink(
  manager: Pick<Manager, 'draft'>,
  url: string,
  listed: boolean,
): Promise<Buffer> {
  const { urls, proxy } = manager.draft({ urls: [url] }).request;
  const { DESCRIPTION, fetchDocument } = await import('../stored/fetch-document.ts');
  const signal = AbortSignal.timeout(LONGEST_MS);
  return fetchDocument(DESCRIPTION, urls[0] as string, signal, proxy, listed);
}

/**
 * Reads a document. The readers are loaded with the first document: the daemon starts faster without
 * them.
 */
async function read(document: Uint8Array, now: Millis, options: MetalinkOptions) {
  const [{ readDescribed }, { requestOf }] = await Promise.all([
    import('../described/read-described.ts'),
    import('@millrace/shared/download/metalink/described-request'),
  ]);
  const signal = AbortSignal.timeout(LONGEST_MS);
  const { files, named, together } = await readDescribed(document, { ...options, signal });
  const downloadFor = (file: FileDescription): NewDownload => ({
    ...downloadOf(requestOf(file, { dir: '.' }, now), named),
    // The folders of categories would part files that belong together.
    ...(together ? { dir: '.' } : {}),
    ...(file.shared === undefined ? {} : { shared: file.shared.map((piece) => ({ ...piece })) }),
  });
  return { files, downloadFor };
}

function downloadOf(
  { urls, file, length, digests, pieces, signatures }: DownloadRequest,
  named: ReadonlySet<string>,
): NewDownload {
  return {
    urls: [...urls],
    file,
    within: '.',
    listed: named.size === 0 ? true : cleanUrls(urls.filter((url) => !named.has(url))).urls,
    digests: [...digests],
    ...(signatures === undefined ? {} : { signatures: [...signatures] }),
    ...(length === undefined ? {} : { length }),
    ...(pieces === undefined ? {} : { pieces: { ...pieces, hexes: [...pieces.hexes] } }),
  };
}

/** Adds options to the download of a described file: what the description says comes first, but for the folder. */
export function withOptions<T extends Partial<NewDownload>>(
  file: NewDownload,
  options: T,
): T & NewDownload {
  const { dir, category } = options;
  const isPlaced = dir !== undefined || category !== undefined;
  return { ...options, ...file, ...(isPlaced ? { dir } : {}) };
}
