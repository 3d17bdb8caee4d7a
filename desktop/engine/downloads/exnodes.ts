/** Turns exNodes, and links to them, into downloads. */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import { isExnodeLink } from '@millrace/shared/download/request/document-name';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { MAX_URLS } from '@millrace/shared/download/request/request';
import type { Exnode, ReadableExnode } from '@millrace/shared/exnode/exnode';
import { inParallel } from '../sync/in-parallel.ts';
import type { NewDownload } from './download-schema.ts';

/** Longest time to read the exNodes that links lead to, and how many are read at a time. */
const LONGEST_MS: Millis = 60_000;
const FETCHES = 8;

/** Options of a download whose sources an exNode names. */
export type ExnodeOptions = Omit<NewDownload, 'urls' | 'exnode' | 'listed'>;

/** An exNode as a form shows it. */
export interface DescribedFile {
  readonly name: string;
  readonly size: number;
  readonly isEncrypted: boolean;
  /** Addresses of its places. */
  readonly urls: readonly string[];
}

/**
 * Replaces a link to an exNode by the download that the exNode describes; other downloads stay as
 * they are. The key of the link stays out of all URLs.
 *
 * @throws MillraceError as `fetchExnode`, `openExnode`; `bad-option`
 */
export async function withExnode(
  asked: NewDownload,
  signal = AbortSignal.timeout(LONGEST_MS),
): Promise<NewDownload> {
  const [link = '', ...mirrors] = Array.isArray(asked?.urls) ? asked.urls : [];
  if (typeof link !== 'string' || !isExnodeLink(link) || asked.exnode !== undefined) return asked;
  const { fetchExnode } = await engine();
  const exnode = await fetchExnode(link, signal, asked.proxy);
  return downloadOf(exnode, asked, { link: link.replace(/#.*/s, ''), mirrors: mirrors.length });
}

/**
 * Replaces links to exNodes as `withExnode` does, several at a time.
 *
 * @returns a download for each one, or why there is none, in their order
 */
export async function withExnodes(
  downloads: readonly NewDownload[],
): Promise<(NewDownload | MillraceError)[]> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  const read: (NewDownload | MillraceError)[] = [...downloads];
  await inParallel([...downloads.entries()], { atATime: FETCHES }, async ([index, download]) => {
    read[index] = await withExnode(download, signal).catch(asMillraceError);
  });
  return read;
}

/**
 * Makes the download that an exNode describes.
 *
 * @param document its text, as bytes
 * @throws MillraceError `bad-exnode`, `wrong-key`, `bad-option`
 */
export async function exnodeDownload(
  document: Uint8Array,
  asked: ExnodeOptions,
): Promise<NewDownload> {
  const { readExnodeText } = await engine();
  return downloadOf(readExnodeText(new TextDecoder().decode(document)), asked);
}

/** Reads an exNode, to show what it describes. @throws MillraceError `bad-exnode`, `wrong-key` */
export async function describeExnode(document: Uint8Array): Promise<DescribedFile> {
  const { readExnodeText, openExnode, placeUrls } = await engine();
  const exnode = openExnode(readExnodeText(new TextDecoder().decode(document)));
  const { name, size, sealed } = exnode;
  const isEncrypted = sealed !== undefined;
  return { name: safeFileName(name), size, isEncrypted, urls: placeUrls(exnode) };
}

async function downloadOf(
  read: Exnode,
  asked: ExnodeOptions,
  { link, mirrors = 0 }: { readonly link?: string; readonly mirrors?: number } = {},
): Promise<NewDownload> {
  const { openExnode, placeUrls, keptExnode, checkForExnode } = await engine();
  const exnode: ReadableExnode = openExnode(read);
  checkForExnode(asked, mirrors);
  const places = placeUrls(exnode);
  const named = link === undefined ? [] : [link];
  const { useEdges: _, file, ...rest } = asked;
  return {
    ...rest,
    // A name that the exNode gives leads nowhere else, and replaces no other file's.
    ...(file === undefined
      ? { file: safeFileName(exnode.name), within: '.', rename: asked.rename ?? true }
      : { file }),
    urls: [...new Set([...named, ...places])].slice(0, MAX_URLS),
    listed: places,
    edges: [],
    length: exnode.size,
    exnode: keptExnode(read),
  };
}

/** Loads what reads exNodes with the first one: the daemon starts faster without it. */
async function engine() {
  const [reading, { openExnode }] = await Promise.all([
    import('../stored/read-exnode.ts'),
    import('../seal/sealed-head.ts'),
  ]);
  return { ...reading, openExnode };
}
