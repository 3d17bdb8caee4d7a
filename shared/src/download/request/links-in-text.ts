/** Finds links in any pasted text: plain text, lists, HTML, Markdown. */

import { MAX_URL_CHARS } from '../../base/limits.ts';
import { isExnodeLink } from './document-name.ts';

/** Most links of one text; any more are ignored. */
export const MAX_LINKS = 1000;
/** Longest text that is searched, in characters; the rest is ignored. */
export const MAX_TEXT_CHARS = 4 * 1024 * 1024;

/** A link, up to a character that no URL has: white space, quotes, angle or curly brackets. */
const LINK = /\bhttps?:\/\/[^\s"<>`^{|}\\\u0000-\u001f]+/gi;
/** Punctuation after a link that is not part of it. */
const TRAILING = new Set(".,;:!?'*_~]");
/** Longest text of one link, in characters: each `&` may be written as `&amp;`. */
const MAX_FOUND_CHARS = 5 * MAX_URL_CHARS;

export interface LinksInText {
  /** The links, each once, in the order of the text, without fragments, unless these are of exNodes. */
  readonly urls: readonly string[];
  /** True if links or text beyond the limits were ignored. */
  readonly truncated: boolean;
}

export function linksInText(text: string): LinksInText {
  const urls = new Set<string>();
  for (const [found] of text.slice(0, MAX_TEXT_CHARS).matchAll(LINK)) {
    const url = cleaned(found);
    if (url === undefined || urls.has(url)) continue;
    if (urls.size === MAX_LINKS) return { urls: [...urls], truncated: true };
    urls.add(url);
  }
  return { urls: [...urls], truncated: text.length > MAX_TEXT_CHARS };
}

function cleaned(found: string): string | undefined {
  if (found.length > MAX_FOUND_CHARS) return undefined;
  // HTML escapes "&".
  const text = withoutTrail(found.replace(/&amp;/g, '&'));
  if (text.length > MAX_URL_CHARS) return undefined;
  try {
    const url = new URL(text);
    // Links to exNodes end in a key or a root.
    if (!isExnodeLink(url.href)) url.hash = '';
    return url.hostname === '' ? undefined : url.href;
  } catch {
    return undefined; // only looks like a link
  }
}

/**
 * Strips the punctuation of the surrounding text from a link's end, in linear time. A closing
 * bracket that is not opened in the link also belongs to the surrounding text.
 */
function withoutTrail(text: string): string {
  let unopened = 0;
  for (const char of text) {
    if (char === ')') unopened++;
    else if (char === '(') unopened--;
  }
  let end = text.length;
  for (; end > 0; end--) {
    const last = text[end - 1] as string;
    if (last === ')' && unopened > 0) unopened--;
    else if (!TRAILING.has(last)) break;
  }
  return text.slice(0, end);
}
