/** Links in anything that is pasted: plain text, lists, HTML, Markdown. */

import { MAX_URL_CHARS } from '../base/limits.ts';

/** More are not looked at. */
export const MAX_LINKS = 1000;
/** Text after this is not looked at. */
export const MAX_TEXT_CHARS = 4 * 1024 * 1024;

/** Ends at what no URL has: white space, quotes, angle brackets, and what Markdown puts around. */
const LINK = /\bhttps?:\/\/[^\s"<>`^{|}\\\u0000-\u001f]+/gi;
/** What follows a link in a sentence, and is not part of it. */
const TRAILING = /[.,;:!?'*_~\]]+$/;

export interface LinksInText {
  /** Each once, in the order of the text, without fragments. */
  readonly urls: readonly string[];
  /** There was more than is looked at. */
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
  // In HTML "&" is written so.
  let text = found.replaceAll('&amp;', '&');
  for (;;) {
    const shorter = withoutClosing(text.replace(TRAILING, ''));
    if (shorter === text) break;
    text = shorter;
  }
  if (text.length > MAX_URL_CHARS) return undefined;
  try {
    const url = new URL(text);
    url.hash = '';
    return url.hostname === '' ? undefined : url.href;
  } catch {
    return undefined; // only looks like a link
  }
}

/** A bracket that is closed at the end but not opened in the link belongs to the text around it. */
function withoutClosing(text: string): string {
  if (!text.endsWith(')')) return text;
  const opened = text.split('(').length;
  const closed = text.split(')').length;
  return closed > opened ? text.slice(0, -1) : text;
}
