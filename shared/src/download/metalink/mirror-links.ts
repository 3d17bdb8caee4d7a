/**
 * Reads the mirrors and descriptions that a server names in its answer: Metalink/HTTP (RFC 6249).
 * They are hints: a mirror is used only after it has been shown to hold the same file.
 */

import { MAX_URL_CHARS } from '../../base/limits.ts';
import type { Headers } from '../../http/fields/headers.ts';
import { type Link, parseLinks } from '../../http/urls/link.ts';
import { isMetalinkType } from '../request/document-name.ts';
import { isFetchable } from '../request/source-kinds.ts';
import { LAST_PRIORITY, type Replica } from './description.ts';

const MAX_MIRRORS = 64;
const MAX_DESCRIPTIONS = 8;

interface Mirror extends Replica {
  /** True if the mirror shares the entity tags of the server that names it (RFC 6249, 3.3). */
  readonly preferred: boolean;
  /** Number of folders from the end of the path that are the same for all files (RFC 6249, 3.4). */
  readonly depth?: number | undefined;
}

export interface MirrorLinks {
  /** Mirrors, best first, at most 64. */
  readonly mirrors: readonly Mirror[];
  /** URLs of Metalink documents, at most 8. */
  readonly metalinks: readonly string[];
}

/**
 * Reads the links of an answer.
 *
 * @param url URL of the request after redirects, the base of relative links
 */
export function parseMirrorLinks(headers: Headers, url: string): MirrorLinks {
  const mirrors: Mirror[] = [];
  const metalinks: string[] = [];
  const seen = new Set<string>([new URL(url).href]);
  for (const link of parseLinks(headers)) {
    const target = fetchable(link, url);
    if (target === undefined || seen.has(target)) continue;
    if (link.rel.includes('duplicate')) {
      mirrors.push(mirror(target, link.parameters));
    } else if (link.rel.includes('describedby') && isMetalink(link)) metalinks.push(target);
    else continue;
    seen.add(target);
  }
  const rank = ({ preferred, priority }: Mirror) => (preferred ? 0 : LAST_PRIORITY) + priority;
  return {
    mirrors: mirrors.sort((a, b) => rank(a) - rank(b)).slice(0, MAX_MIRRORS),
    metalinks: metalinks.slice(0, MAX_DESCRIPTIONS),
  };
}

function isMetalink({ parameters }: Link): boolean {
  return isMetalinkType(parameters.get('type'));
}

function mirror(url: string, parameters: ReadonlyMap<string, string>): Mirror {
  const location = parameters.get('geo')?.toLowerCase() ?? '';
  const depth = parameters.get('depth') ?? '';
  return {
    url,
    priority: priority(parameters.get('pri')),
    preferred: parameters.has('pref'),
    ...(/^[a-z]{2}$/.test(location) ? { location } : {}),
    ...(/^\d{1,3}$/.test(depth) ? { depth: Number(depth) } : {}),
  };
}

function priority(text: string | undefined): number {
  const number = Number(text);
  return /^\d{1,6}$/.test(text ?? '') && number >= 1 ? number : LAST_PRIORITY;
}

/** Returns the target of a link if the link is about the requested file and can be fetched. */
function fetchable({ target, parameters }: Link, base: string): string | undefined {
  if (target === '' || target.length > MAX_URL_CHARS) return undefined;
  try {
    // A link with another anchor is about another resource (RFC 8288, 3.2).
    const anchor = parameters.get('anchor');
    if (anchor !== undefined && new URL(anchor, base).href !== new URL(base).href) return undefined;
    const url = new URL(target, base);
    url.hash = '';
    const { username, password, href } = url;
    return isFetchable(href) && username + password === '' && href.length <= MAX_URL_CHARS
      ? href
      : undefined;
  } catch {
    return undefined;
  }
}
