/**
 * Patterns of links that a resolver is for. Three forms: `example.org` is that host with its
 * subdomains; `https://*.example.org/watch/*` has a scheme, a host and a path; `*` is every link.
 */

import { fitsWildcards } from '../../text/wildcards.ts';

const MAX_PATTERN_CHARS = 500;
const HOST = /^(?:\*|(?:\*\.)?[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

interface LinkPattern {
  /** `http:`, `https:`, or undefined for both. */
  readonly scheme: string | undefined;
  /** Host without port, or `*`. */
  readonly host: string;
  /** True: subdomains of the host belong to it. */
  readonly withSubdomains: boolean;
  readonly port: string | undefined;
  /** Path and query, in which `*` stands for any characters. */
  readonly path: string;
}

/** Reads a pattern. @returns undefined for any other text */
function readPattern(text: string): LinkPattern | undefined {
  if (text.length > MAX_PATTERN_CHARS) return undefined;
  const [, scheme, place = '', path] =
    /^(?:(https?|\*):\/\/)?([^/]+)(\/[\x21-\x7e]*)?$/i.exec(text.trim()) ?? [];
  const host = place.toLowerCase();
  if (!HOST.test(host)) return undefined;
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  return {
    scheme: scheme === undefined || scheme === '*' ? undefined : `${scheme.toLowerCase()}:`,
    host: name.replace(/^\*\./, ''),
    withSubdomains: name.startsWith('*.') || scheme === undefined,
    port,
    path: path ?? '/*',
  };
}

/** Returns true for a text that is a pattern of links. */
export function isLinkPattern(text: string): boolean {
  return readPattern(text) !== undefined;
}

/** Returns true if a link is of one of the patterns; texts that are no patterns match nothing. */
export function isOfPatterns(link: string, patterns: readonly string[]): boolean {
  if (!URL.canParse(link)) return false;
  const url = new URL(link);
  if (!/^https?:$/.test(url.protocol)) return false;
  return patterns.some((text) => {
    const pattern = readPattern(text);
    return pattern !== undefined && matches(url, pattern);
  });
}

function matches(url: URL, { scheme, host, withSubdomains, port, path }: LinkPattern): boolean {
  if (scheme !== undefined && url.protocol !== scheme) return false;
  const usual = url.protocol === 'https:' ? '443' : '80';
  if (port !== undefined && (url.port || usual) !== port) return false;
  const isHost =
    host === '*' ||
    url.hostname === host ||
    (withSubdomains && !host.startsWith('[') && url.hostname.endsWith(`.${host}`));
  return isHost && fitsWildcards(url.pathname + url.search, path);
}
