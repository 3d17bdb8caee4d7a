/** Turns exNodes, and links to them, into downloads. */

import { isExnodeLink } from '@millrace/shared/download/request/document-name';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import type { Exnode, ReadableExnode } from '@millrace/shared/exnode/exnode';
import { MAX_URLS, type NewDownload } from './new-download.ts';

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
export async function withExnode(asked: NewDownload, signal: AbortSignal): Promise<NewDownload> {
  const [link = '', ...mirrors] = Array.isArray(asked?.urls) ? asked.urls : [];
  if (typeof link !== 'string' || !isExnodeLink(link) || asked.exnode !== undefined) return asked;
  const { fetchExnode } = await engine();
  const exnode = await fetchExnode(link, signal, asked.proxy);
  return downloadOf(exnode, asked, { link: link.replace(/#.*/s, ''), mirrors: mirrors.length });
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
