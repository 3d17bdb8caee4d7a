/**
 * Reads the listing of an S3 bucket (`ListBucketResult`, of ListObjects and ListObjectsV2), as
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html describes it.
 */

import { childElements, type XmlNode } from '../metalink/xml-tree.ts';
import { safeFileName } from '../request/file-name.ts';
import type { PageLink } from './page-link.ts';
import { decodedPath, encodedPath, isPlainPath, linkUrl } from './page-url.ts';
import { elementText, xmlRoot } from './xml-page.ts';

export interface BucketListing {
  readonly links: readonly PageLink[];
  /** True if the server says that the bucket has more: each answer has 1000 entries at most. */
  readonly truncated: boolean;
  /** URL of the entries after these; undefined: there are none, or the answer does not tell where. */
  readonly next: string | undefined;
}

/** Parameters that say where a listing begins: one of a folder in it begins at that folder. */
const PLACES = /^(?:continuation-token|start-after|marker)(?:=|$)/;

/** Returns the files and folders of a listing at this URL; undefined if the text is not one. */
export function readBucket(url: string, text: string): BucketListing | undefined {
  const root = xmlRoot(text);
  if (root?.local !== 'ListBucketResult') return undefined;
  const read = keyReader(root);
  const below = folderOf(root, read);
  const bucket = bucketUrl(url, childText(root, 'Name'));
  const links: PageLink[] = [];
  for (const node of childElements(root)) {
    if (node.local === 'Contents') {
      const key = read(childText(node, 'Key') ?? '');
      const link = fileOf(key, below, bucket, childText(node, 'Size'));
      if (link !== undefined) links.push(link);
    } else if (node.local === 'CommonPrefixes') {
      for (const one of childElements(node)) {
        const key = read(elementText(one));
        if (one.local !== 'Prefix' || !key.startsWith(below) || key === below) continue;
        const target = linkUrl(pageOf(url, { prefix: key }), url);
        if (target !== undefined) links.push({ url: target.href, isFolder: true, folder: '' });
      }
    }
  }
  const truncated = childText(root, 'IsTruncated')?.trim() === 'true';
  return { links, truncated, next: truncated ? nextPage(url, root, read) : undefined };
}

/** Keys are URL-encoded where the request has asked for that; some servers write a space as "+". */
function keyReader(root: XmlNode): (value: string) => string {
  const isEncoded = childText(root, 'EncodingType')?.trim() === 'url';
  return (value) => (isEncoded ? decodedPath(value.replaceAll('+', ' ')) : value);
}

/**
 * Returns the folder that a listing is of, from the prefix of its keys. Not all servers encode the
 * prefix where they encode the keys.
 */
function folderOf(root: XmlNode, read: (value: string) => string): string {
  const written = childText(root, 'Prefix') ?? '';
  const first = childElements(root).find(({ local }) => local === 'Contents');
  const key = first === undefined ? undefined : read(childText(first, 'Key') ?? '');
  const isPlain = key?.startsWith(written) === true && !key.startsWith(read(written));
  const prefix = isPlain ? written : read(written);
  return prefix.slice(0, prefix.lastIndexOf('/') + 1);
}

function fileOf(
  key: string,
  below: string,
  bucket: string,
  size: string | undefined,
): PageLink | undefined {
  const parts = key.slice(below.length).split('/');
  if (!key.startsWith(below) || !isPlainPath(parts) || !isPlainPath(key.split('/'))) {
    return undefined;
  }
  const target = linkUrl(encodedPath(key.split('/')), bucket);
  if (target === undefined) return undefined;
  const folder = parts.slice(0, -1).map(safeFileName).join('/');
  const link = { url: target.href, isFolder: false, folder };
  const bytes = /^\s*\d+\s*$/.test(size ?? '') ? Number(size) : Number.NaN;
  return Number.isSafeInteger(bytes) ? { ...link, size: bytes } : link;
}

/**
 * Returns the URL of the next entries. ListObjectsV2 gives a token, which is never encoded;
 * ListObjects a marker, but only with a delimiter: without one the last key is the marker.
 */
function nextPage(url: string, root: XmlNode, read: (value: string) => string): string | undefined {
  const token = childText(root, 'NextContinuationToken');
  if (token) return pageOf(url, { 'continuation-token': token });
  if (new URL(url).searchParams.get('list-type') === '2') return undefined;
  const last = childElements(root).findLast(({ local }) => local === 'Contents');
  const marker = childText(root, 'NextMarker') ?? (last && childText(last, 'Key'));
  return marker ? pageOf(url, { marker: read(marker) }) : undefined;
}

/** Returns the URL of another page of a bucket, with these parameters. */
function pageOf(url: string, parameters: Readonly<Record<string, string>>): string {
  const page = new URL(url);
  const parts = page.search.slice(1).split('&');
  page.search = parts.filter((part) => !PLACES.test(part)).join('&');
  for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
  return page.href;
}

/** Returns the URL that keys are relative to: servers name the bucket in the host or in the path. */
function bucketUrl(url: string, name: string | undefined): string {
  const parts = new URL(url).pathname.split('/');
  const at = parts.findIndex((part) => part !== '' && decodedPath(part) === name);
  return new URL(at < 0 ? '/' : `${parts.slice(0, at + 1).join('/')}/`, url).href;
}

function childText(node: XmlNode, local: string): string | undefined {
  const found = childElements(node).find((one) => one.local === local);
  return found && elementText(found);
}
