/** Reads the listing of an S3 bucket (`ListBucketResult`, API versions 1 and 2). */

import { childElements, XmlDocument, type XmlNode } from '../metalink/xml-tree.ts';
import { safeFileName } from '../request/file-name.ts';
import type { PageLink } from './page-link.ts';
import { decodedPath, encodedPath, isPlainPath, linkUrl } from './page-url.ts';

export interface BucketListing {
  readonly links: readonly PageLink[];
  /** True if the server says that the bucket has more: each answer has 1000 entries at most. */
  readonly truncated: boolean;
}

/** Returns the files and folders of a listing at this URL; undefined if the text is not one. */
export function readBucket(url: string, text: string): BucketListing | undefined {
  let root: XmlNode;
  try {
    ({ root } = new XmlDocument(text));
  } catch {
    return undefined;
  }
  if (root.local !== 'ListBucketResult') return undefined;
  const isEncoded = childText(root, 'EncodingType') === 'url';
  const read = (value: string) => (isEncoded ? decodedPath(value.replaceAll('+', ' ')) : value);
  const prefix = read(childText(root, 'Prefix') ?? '');
  const below = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  const bucket = bucketUrl(url, childText(root, 'Name'));
  const links: PageLink[] = [];
  for (const node of childElements(root)) {
    const size = Number(childText(node, 'Size') ?? Number.NaN);
    const key = read(childText(node, node.local === 'Contents' ? 'Key' : 'Prefix') ?? '');
    if (node.local === 'Contents') {
      const parts = key.slice(below.length).split('/');
      if (!key.startsWith(below) || !isPlainPath(parts)) continue;
      const target = linkUrl(encodedPath(key.split('/')), bucket);
      if (target === undefined || !isPlainPath(key.split('/'))) continue;
      const folder = parts.slice(0, -1).map(safeFileName).join('/');
      const link = { url: target.href, isFolder: false, folder };
      links.push(Number.isSafeInteger(size) && size >= 0 ? { ...link, size } : link);
    } else if (node.local === 'CommonPrefixes' && key.startsWith(below) && key !== below) {
      const page = new URL(url);
      page.searchParams.set('prefix', key);
      const target = linkUrl(page.href, url);
      if (target !== undefined) links.push({ url: target.href, isFolder: true, folder: '' });
    }
  }
  return { links, truncated: childText(root, 'IsTruncated') === 'true' };
}

/** Returns the URL that keys are relative to: servers name the bucket in the host or in the path. */
function bucketUrl(url: string, name: string | undefined): string {
  const first = new URL(url).pathname.split('/')[1] ?? '';
  const isInPath = first !== '' && decodedPath(first) === name;
  return new URL(isInPath ? `/${first}/` : '/', url).href;
}

function childText(node: XmlNode, local: string): string | undefined {
  const found = childElements(node).find((one) => one.local === local);
  return found?.content.filter((part) => typeof part === 'string').join('');
}
