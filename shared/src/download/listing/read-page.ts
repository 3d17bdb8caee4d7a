/**
 * Finds the links of a page: those of a listing of a folder, as Apache, nginx, lighttpd, Caddy,
 * Python's http.server, S3 and the like write them, or all links of any other web page.
 */

import { type BehindEdge, behindEdge, throughEdge } from './behind-edge.ts';
import { readBucket } from './bucket-listing.ts';
import { readHtml } from './html-page.ts';
import { readJsonListing } from './json-listing.ts';
import { listedSize } from './listed-size.ts';
import { MAX_PAGE_LINKS, type PageLink, type PageLinks } from './page-link.ts';
import { decodedPath, linkUrl } from './page-url.ts';
import { readXmlListing } from './xml-listing.ts';

/** A page as its server sent it. */
export interface SentPage {
  /** Its URL, after redirects. */
  readonly url: string;
  /** Media type without parameters, in lower case; undefined: the server did not say. */
  readonly type: string | undefined;
  readonly text: string;
}

const TITLES = /^(?:index of|directory listing (?:for|of)|listing of)\b/i;
const TYPES = /^(?:text\/(?:html|xml|plain)|application\/(?:json|xml|xhtml\+xml))$/;
/** Roots of listings in XML: of S3, and of nginx. */
const XML_LISTING = /^(?:<\?xml[^>]{0,200}>\s{0,20})?<(ListBucketResult|list)[\s>/]/;

/** Returns true for a media type whose documents may have links. */
export function isPageType(type: string | undefined): boolean {
  return type === undefined || TYPES.test(type);
}

/**
 * Finds the links of a page. Those of a page that came through an edge lead through it as well.
 *
 * @returns undefined for a document that is neither a web page nor a listing
 */
export function readPage(sent: SentPage): PageLinks | undefined {
  const way = behindEdge(sent.url);
  if (way === undefined) return readAt(sent, undefined);
  const read = readAt({ ...sent, url: way.inner }, way);
  if (read === undefined) return undefined;
  const links = read.links.map((link) => ({ ...link, url: throughEdge(way, link.url) }));
  const { next } = read;
  return { ...read, links, ...(next === undefined ? {} : { next: throughEdge(way, next) }) };
}

function readAt({ url, type, text }: SentPage, way: BehindEdge | undefined): PageLinks | undefined {
  const begin = text.slice(0, 1000).trimStart();
  if (begin.startsWith('[')) {
    const links = readJsonListing(url, text);
    return links && bounded(true, links, false);
  }
  const root = XML_LISTING.exec(begin)?.[1];
  if (root === 'list') {
    const links = readXmlListing(url, text);
    return links && bounded(true, links, false);
  }
  if (root !== undefined) {
    const bucket = readBucket(url, text);
    if (bucket === undefined) return undefined;
    const { links, truncated, next } = bucket;
    if (next === undefined) return bounded(true, links, truncated);
    return { ...bounded(true, links, false), next };
  }
  if (type !== undefined ? !type.includes('html') : !/^<(?:!doctype|html)/i.test(begin)) {
    return undefined;
  }
  const page = readHtml(text);
  const base = linkUrl(page.base ?? '', url)?.href ?? url;
  const own = linkUrl('', url)?.href;
  const here = new URL('.', url);
  const isListing = isListingTitle(page.title, here.pathname);
  const links = page.links.flatMap(({ href, after, bytes }) => {
    const written = href.startsWith('#') ? undefined : linkUrl(href, base);
    if (written === undefined) return [];
    // Edges may put themselves before the links of an index.
    const isOfEdge = written.origin === way?.edge;
    const target = isOfEdge ? new URL(behindEdge(written.href)?.inner ?? written.href) : written;
    if (target.href === own) return [];
    if (!isListing) return { url: target.href, isFolder: false, folder: '' };
    return listedLink(target, here, bytes ?? listedSize(after)) ?? [];
  });
  return bounded(isListing, links, page.truncated);
}

/** Returns what a link of a listing leads to; undefined for parents, sort links and other places. */
function listedLink(target: URL, here: URL, size: number | undefined): PageLink | undefined {
  if (target.origin !== here.origin || !target.pathname.startsWith(here.pathname)) return undefined;
  const rest = target.pathname.slice(here.pathname.length);
  if (!/^[^/]+\/?$/.test(rest)) return undefined;
  const isFolder = rest.endsWith('/');
  if (isFolder) target.search = '';
  const link = { url: target.href, isFolder, folder: '' };
  return isFolder || size === undefined ? link : { ...link, size };
}

/** A title names a listing by its words; Caddy's is the path or the folder alone. */
function isListingTitle(title: string, path: string): boolean {
  const plain = decodedPath(path);
  const folder = plain.split('/').at(-2);
  return TITLES.test(title) || (title !== '' && [plain, folder].includes(title));
}

function bounded(isListing: boolean, links: readonly PageLink[], truncated: boolean): PageLinks {
  const found = new Map<string, PageLink>();
  for (const link of links) if (!found.has(link.url)) found.set(link.url, link);
  const all = [...found.values()];
  return {
    isListing,
    links: all.slice(0, MAX_PAGE_LINKS),
    truncated: truncated || all.length > MAX_PAGE_LINKS,
  };
}
