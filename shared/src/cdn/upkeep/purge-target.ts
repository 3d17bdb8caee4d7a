/**
 * Targets of purges: one file, one version of it, all files under a prefix or with a label, or
 * everything.
 */

import { MillraceError } from '../../base/errors.ts';
import { asLabel } from '../../http/fields/labels.ts';
import { parseOriginUrl, parsePrefixedTarget } from '../../http/urls/prefixed-url.ts';
import { isVersionTag, versionTag } from '../chunks/version-tag.ts';

export type PurgeTarget =
  /** All versions of a file. @property url canonical */
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'version'; readonly url: string; readonly tag: string }
  /** All files whose canonical URL begins with the prefix. @property prefix ends with a slash */
  | { readonly kind: 'prefix'; readonly prefix: string }
  /** All files that their origin gave the label. @property label as `asLabel` makes it */
  | { readonly kind: 'label'; readonly label: string }
  | { readonly kind: 'all' };

/**
 * Most folders of a path that a prefix can name. A look-up of a URL looks up each of its folders,
 * so strangers must not be able to make these many.
 */
export const MAX_PREFIX_DEPTH = 32;

/** Returns a text that is unique for each target. */
export function targetKey(target: PurgeTarget): string {
  switch (target.kind) {
    case 'url':
      return `u ${target.url}`;
    case 'version':
      return `v ${target.tag} ${target.url}`;
    case 'prefix':
      return `p ${target.prefix}`;
    case 'label':
      return `l ${target.label}`;
    case 'all':
      return 'a';
  }
}

/** Returns the prefixes that cover a URL, shortest (the whole host) first; bounded in number. */
export function prefixesOf(url: string): string[] {
  const query = url.indexOf('?');
  const end = query < 0 ? url.length : query;
  const prefixes: string[] = [];
  let at = url.indexOf('/', url.indexOf('://') + 3);
  while (at >= 0 && at < end && prefixes.length < MAX_PREFIX_DEPTH) {
    prefixes.push(url.slice(0, at + 1));
    at = url.indexOf('/', at + 1);
  }
  return prefixes;
}

/**
 * Returns true if the target is in the canonical form of the readers here; peers may name no other.
 */
export function isTarget(target: PurgeTarget): boolean {
  try {
    if (target.kind === 'all') return true;
    if (target.kind === 'label') return asLabel(target.label) === target.label;
    if (target.kind === 'prefix') {
      const { prefix } = target;
      return parseOriginUrl(prefix).href === prefix && prefixesOf(prefix).at(-1) === prefix;
    }
    if (target.kind === 'version' && !isVersionTag(target.tag)) return false;
    return parseOriginUrl(target.url).href === target.url;
  } catch {
    return false;
  }
}

/**
 * Returns the next larger target that covers all of this one: a version's file, a file's folder, a
 * folder's host, then everything; a label's files may be anywhere.
 */
export function widened(target: PurgeTarget): PurgeTarget {
  if (target.kind === 'version') return { kind: 'url', url: target.url };
  if (target.kind === 'all' || target.kind === 'label') return { kind: 'all' };
  const prefixes = prefixesOf(target.kind === 'url' ? target.url : target.prefix);
  if (target.kind === 'url') return { kind: 'prefix', prefix: prefixes.at(-1) as string };
  if (prefixes.length <= 1) return { kind: 'all' };
  return { kind: 'prefix', prefix: prefixes[0] as string };
}

/**
 * Reads the URL of a file as an operator writes it: with or without scheme.
 *
 * @throws MillraceError `bad-url`, and the errors of `parsePrefixedTarget`
 */
export function parseFileUrl(text: string, defaultScheme: 'http' | 'https'): URL {
  try {
    return parsePrefixedTarget(`/${text}`, { defaultScheme });
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'no-such-page') throw error;
    throw new MillraceError('bad-url', `"${text.slice(0, 100)}" has no host`);
  }
}

/**
 * Reads a prefix as an operator writes it: a host, or a host and a folder, with or without scheme
 * and with or without a `*` at the end.
 *
 * @throws MillraceError `bad-url` for one that does not end with a slash, which would leave open
 *   whether `/v1` covers `/v10`
 */
export function parsePrefix(text: string, defaultScheme: 'http' | 'https'): PurgeTarget {
  const plain = text.replace(/(?<=\/|%2f)\*$/i, '');
  // A URL that is percent-encoded as a whole has no slash either, but a path.
  const hostOnly =
    /^(?:[a-z]+:\/\/)?[^/]+$/i.test(plain) &&
    parseFileUrl(`${plain}/`, defaultScheme).pathname === '/';
  const { href } = parseFileUrl(hostOnly ? `${plain}/` : plain, defaultScheme);
  if (!href.endsWith('/') || href.includes('?')) {
    throw new MillraceError('bad-url', 'a prefix ends with a slash, such as example.com/folder/');
  }
  if (prefixesOf(href).at(-1) !== href) {
    throw new MillraceError('bad-url', `a prefix has at most ${MAX_PREFIX_DEPTH} folders`);
  }
  return { kind: 'prefix', prefix: href };
}

/**
 * Reads a label as an operator writes it.
 *
 * @throws MillraceError `bad-option`
 */
export function parseLabel(text: string): PurgeTarget {
  const label = asLabel(text);
  if (label !== undefined) return { kind: 'label', label };
  throw new MillraceError('bad-option', 'a label is one word of Surrogate-Key or Cache-Tag');
}

/**
 * Reads a version as an operator writes it: the entity tag that clients see, or a version tag.
 *
 * @throws MillraceError `bad-option`
 */
export function parseVersion(text: string): string {
  if (isVersionTag(text)) return text;
  const tag = /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(text)
    ? versionTag({ etag: text }, 0)
    : undefined;
  if (tag !== undefined && isVersionTag(tag)) return tag;
  throw new MillraceError('bad-option', 'a version is a strong ETag with its quotes, or a tag');
}
