/** Turns Metalink documents into downloads, one for each file. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import type { FileDescription } from '@millrace/shared/download/metalink/description';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { NewDownload } from './download-schema.ts';

/** Parses a Metalink document into the downloads to add. @param now Unix milliseconds */
export type ParseMetalink = (document: Uint8Array, now: Millis) => Promise<NewDownload[]>;

/** A file in a Metalink document. */
export interface DescribedDownload {
  readonly file: FileDescription;
  /** Undefined if the file has no URL that we can fetch. */
  readonly download: NewDownload | undefined;
}

/**
 * Returns a download for each file of a document.
 *
 * @throws MillraceError `bad-metalink`, also if a file has no URL that we can fetch
 */
export const parseMetalinkDownloads: ParseMetalink = async (document, now) => {
  const { files, requestOf } = await read(document);
  return files.map((file) => downloadOf(requestOf(file, { dir: '.' }, now)));
};

/**
 * Returns all files of a document.
 *
 * @param now Unix milliseconds
 * @throws MillraceError `bad-metalink`
 */
export async function readMetalink(
  document: Uint8Array,
  now: Millis,
): Promise<DescribedDownload[]> {
  const { files, requestOf } = await read(document);
  return files.map((file) => {
    try {
      return { file, download: downloadOf(requestOf(file, { dir: '.' }, now)) };
    } catch (error) {
      if (isMillraceError(error, 'bad-metalink')) return { file, download: undefined };
      throw error;
    }
  });
}

/**
 * Parses a document. The parser is loaded with the first document: the daemon starts faster without
 * it.
 */
async function read(document: Uint8Array) {
  const [{ parseMetalink }, { requestOf }] = await Promise.all([
    import('@millrace/shared/download/metalink/metalink'),
    import('@millrace/shared/download/metalink/described-request'),
  ]);
  return { files: parseMetalink(document).files, requestOf };
}

function downloadOf({
  urls,
  file,
  length,
  digests,
  pieces,
  signatures,
}: DownloadRequest): NewDownload {
  return {
    urls: [...urls],
    file,
    within: '.',
    listed: true,
    digests: [...digests],
    ...(signatures === undefined ? {} : { signatures: [...signatures] }),
    ...(length === undefined ? {} : { length }),
    ...(pieces === undefined ? {} : { pieces: { ...pieces, hexes: [...pieces.hexes] } }),
  };
}
