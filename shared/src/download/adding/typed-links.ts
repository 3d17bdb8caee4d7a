/** Finds the downloads that a typed or pasted text asks for: curl's commands, patterns, links. */

import { MAX_URL_CHARS } from '../../base/limits.ts';
import { linksInText } from '../request/links-in-text.ts';
import { TextFault } from '../request/text-fault.ts';
import { expandPattern, isPattern } from '../request/url-pattern.ts';
import { type CurlDownload, curlDownloads, isCurlText } from './curl-command.ts';

/** Most URLs that the patterns of one text stand for. */
export const MAX_EXPANDED = 10_000;
/** Most downloads of the commands of one text, each with its fields. */
export const MAX_CURL_DOWNLOADS = 1000;

export interface TypedLinks {
  /** The downloads, each URL once, in the order of the text. */
  readonly links: readonly CurlDownload[];
  /** True if links or text beyond the limits were ignored. */
  readonly truncated: boolean;
  /** Reasons why a command or a pattern was not taken, at most one of each sentence. */
  readonly problems: readonly TextFault[];
}

/** Finds the downloads. A pattern counts only as all of a line: brackets in running text are mostly meant as such. */
export function typedLinks(text: string): TypedLinks {
  const links = new Map<string, CurlDownload>();
  const problems = new Map<string, TextFault>();
  const attempt = (read: () => readonly CurlDownload[]) => {
    try {
      for (const link of read()) {
        const url = canonical(link.url);
        if (!links.has(url)) links.set(url, { ...link, url });
      }
    } catch (error) {
      if (!(error instanceof TextFault)) throw error;
      problems.set(error.detail, error);
    }
  };
  const done = (truncated: boolean): TypedLinks => ({
    links: [...links.values()],
    truncated,
    problems: [...problems.values()],
  });
  if (isCurlText(text)) {
    attempt(() => curlDownloads(text, MAX_CURL_DOWNLOADS));
    return done(false);
  }
  if (!isPattern(text)) {
    const { urls, truncated } = linksInText(text);
    return { links: urls.map((url) => ({ url })), truncated, problems: [] };
  }
  let truncated = false;
  let plain: string[] = [];
  const takePlain = () => {
    const found = linksInText(plain.join('\n'));
    truncated ||= found.truncated;
    attempt(() => found.urls.map((url) => ({ url })));
    plain = [];
  };
  for (const line of text.split('\n')) {
    const typed = line.trim();
    if (!isPatternUrl(typed)) {
      plain.push(line);
      continue;
    }
    takePlain();
    const room = MAX_EXPANDED - links.size;
    if (room < 1) truncated = true;
    else attempt(() => expandPattern(typed, room).map((url) => ({ url })));
  }
  takePlain();
  return done(truncated);
}

/** Returns true for a single URL of http or https that is a pattern. */
function isPatternUrl(typed: string): boolean {
  return typed.length <= MAX_URL_CHARS && /^https?:\/\/\S+$/i.test(typed) && isPattern(typed);
}

function canonical(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.hash = '';
  return url.href;
}
