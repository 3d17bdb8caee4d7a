/** Turns Metalink documents, torrents and magnet links into downloads, one for each file. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import type { FileDescription } from '@millrace/shared/download/metalink/description';
import { isImpersonal } from '@millrace/shared/download/request/edge-use';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { DescribedOptions } from '../described/read-described.ts';
import type { DownloadRecord } from '../store/record.ts';
import type { NewDownload } from './download-schema.ts';
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
  manager: { readonly draft: (asked: NewDownload) => Pick<DownloadRecord, 'request'> },
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

/**
 * Makes the downloads of the files that a downloaded description names: in its folder, with its options, at
 * the head of the queue, as aria2 does. What it was fetched with goes no further than to its own server.
 */
export function followedDownloads(
  files: readonly NewDownload[],
  { gid, request, options, priority }: DownloadRecord,
): NewDownload[] {
  const { origin } = new URL(request.urls[0] as string);
  const { dir, cookieFile, netrc, proxy, sidecars, keys, direct } = request;
  const { connections, connectionsPerHost, loci, limit, timeoutMs, retryForMs } = request;
  // These are about the description alone.
  const {
    gid: _gid,
    out: _out,
    checksum: _checksum,
    pause: _pause,
    ...aria2
  } = options.aria2 ?? {};
  return files.map((file, position) => {
    const isOwn = new URL(file.urls[0] as string).origin === origin;
    const headers = Object.entries(request.headers).filter(([name]) => isOwn || isImpersonal(name));
    const more: Partial<NewDownload> = {
      ...{ dir, cookieFile, netrc, proxy, sidecars, direct, useEdges: request.edges.length > 0 },
      ...{ connections, connectionsPerHost, limit, timeoutMs, retryForMs },
      ...(loci === undefined ? {} : { loci }),
      ...(keys === undefined ? {} : { keys: [...keys] }),
      headers: Object.fromEntries(headers),
      ...(isOwn && request.login !== undefined ? { login: request.login } : {}),
      ...{ position, priority, rename: options.rename, maxTries: options.maxTries },
      // Only a client of aria2 has asked for that: a stranger's description must replace no file.
      ...(options.aria2?.['allow-overwrite'] === 'true' ? { overwrite: true } : {}),
      ...(options.aria2 === undefined ? {} : { aria2 }),
      after: options.after,
      following: gid,
    };
    return withOptions(file, more);
  });
}
