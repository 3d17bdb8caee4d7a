/**
 * Rebuilds the Link field of an origin before an edge passes it on. Behind an edge the files of all
 * origins share one web origin: a relative link would lead to the edge, and a link that names edges
 * would apply to the files of all origins. The rebuilt field has only the parts that Metalink/HTTP
 * needs (RFC 6249), and those by which clients read a list that comes in pages.
 */

import { MAX_PASSED_FIELD_CHARS, MAX_URL_CHARS } from '../../base/limits.ts';
import type { Headers } from '../fields/headers.ts';
import { type Link, parseLinks } from './link.ts';

/** Relations of mirrors, and of Metalinks, torrents and signatures (RFC 6249, 3 and 4). */
const RELATIONS = ['duplicate', 'describedby'] as const;
/** Relations of pages of one list: without them a client takes the first page for the whole list. */
const PAGES = ['next', 'prev', 'previous', 'first', 'last'] as const;
/** Parameters of the relations of mirrors (RFC 6249, 3; RFC 8288, 3.4.1), with their allowed values. */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  pri: /^\d{1,6}$/,
  geo: /^[A-Za-z]{2}$/,
  pref: /^$/,
  depth: /^\d{1,3}$/,
  type: /^[A-Za-z0-9!#$&^_.+-]{1,127}\/[A-Za-z0-9!#$&^_.+-]{1,127}$/,
};
const MAX_LINKS = 64;

/**
 * Returns the Link field to pass on, or undefined if nothing of it remains. It has at most 64 links
 * and 4096 characters; further links are left out.
 *
 * @param url URL of the answer after redirects, the base of relative links
 */
export function rebuildLinks(headers: Headers, url: string): string | undefined {
  if (headers.link === undefined) return undefined;
  let field = '';
  let count = 0;
  for (const link of parseLinks(headers)) {
    const text = rebuilt(link, url);
    if (text === undefined) continue;
    const longer = field === '' ? text : `${field}, ${text}`;
    if (longer.length > MAX_PASSED_FIELD_CHARS) continue;
    field = longer;
    if (++count === MAX_LINKS) break;
  }
  return field === '' ? undefined : field;
}

function rebuilt({ target, rel, parameters }: Link, base: string): string | undefined {
  const relations = [...RELATIONS, ...PAGES].filter((relation) => rel.includes(relation));
  const href = relations.length === 0 ? undefined : absolute(target, base);
  if (href === undefined || !isAboutIt(parameters.get('anchor'), base)) return undefined;
  return written(href, relations, parameters);
}

/**
 * Leads the links of a rebuilt field to other pages of its list through an edge; clients take the targets
 * of these for absolute URLs.
 *
 * @param lead returns the URL by which a client reaches a page through the edge; undefined: it stays
 */
export function leadPages(field: string, lead: (page: URL) => string | undefined): string {
  const isPage = (relation: string) => (PAGES as readonly string[]).includes(relation);
  let changes = false;
  const links = parseLinks({ link: field }).map(({ target, rel, parameters }) => {
    const isLed = rel.length > 0 && rel.every(isPage) && URL.canParse(target);
    const led = isLed ? lead(new URL(target)) : undefined;
    changes ||= led !== undefined;
    return written(led ?? target, rel, parameters);
  });
  return changes ? links.join(', ') : field;
}

function written(
  href: string,
  relations: readonly string[],
  parameters: Link['parameters'],
): string {
  let text = `<${href}>; rel="${relations.join(' ')}"`;
  for (const [name, allowed] of Object.entries(PARAMETERS)) {
    const value = parameters.get(name);
    if (value === undefined || !allowed.test(value)) continue;
    text += value === '' ? `; ${name}` : `; ${name}="${value}"`;
  }
  return text;
}

/** Makes an absolute http(s) URL without fragment; undefined for any other or unsafe URL. */
function absolute(target: string, base: string): string | undefined {
  if (target === '' || target.length > MAX_URL_CHARS) return undefined;
  try {
    const url = new URL(target, base);
    url.hash = '';
    const { protocol, username, password, href } = url;
    const known = protocol === 'http:' || protocol === 'https:';
    return known && username + password === '' && /^[\x21-\x7e]+$/.test(href) ? href : undefined;
  } catch {
    return undefined; // not a URL
  }
}

/** Returns false for a link about another resource (RFC 8288, 3.2). */
function isAboutIt(anchor: string | undefined, base: string): boolean {
  return anchor === undefined || absolute(anchor, base) === absolute(base, base);
}
