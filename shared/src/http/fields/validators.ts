/**
 * Validators (RFC 9110 8.8), which distinguish the versions of a file. Only strong validators can
 * show that two ranges belong together.
 */

import { MAX_ETAG_CHARS } from '../../base/limits.ts';
import { type Headers, singleField, splitList } from './headers.ts';
import { parseHttpDate } from './http-date.ts';

export interface Validators {
  /** A strong entity tag, quotes included. */
  readonly etag?: string;
  /** A weak entity tag, `W/` and quotes included: used for 304, never for ranges. */
  readonly weakEtag?: string;
  /** Last-Modified, Unix milliseconds. */
  readonly lastModified?: number;
  /** True if Last-Modified may be used as a strong validator (RFC 9110 8.8.2.2). */
  readonly lastModifiedIsStrong?: boolean;
}

const ETAG = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** Reads the validators of a response. Malformed ones are treated as absent. */
export function readValidators(headers: Headers): Validators {
  const tag = singleField(headers, 'etag')?.trim();
  const usable = tag !== undefined && tag.length <= MAX_ETAG_CHARS && ETAG.test(tag);
  const lastModified = parseHttpDate(singleField(headers, 'last-modified'));
  const date = parseHttpDate(singleField(headers, 'date'));
  return {
    ...(usable && !tag.startsWith('W/') ? { etag: tag } : {}),
    ...(usable && tag.startsWith('W/') ? { weakEtag: tag } : {}),
    ...(lastModified === undefined
      ? {}
      : {
          lastModified,
          // Within the same second the file could change again with the same date.
          lastModifiedIsStrong: date !== undefined && date - lastModified >= 1000,
        }),
  };
}

/** Returns true if ranges fetched at different times can be shown to be of one version. */
export function canPin(v: Validators): boolean {
  return v.etag !== undefined || v.lastModifiedIsStrong === true;
}

/** The relation of a response to the pinned version. */
export type VersionMatch = 'same' | 'different' | 'unproven';

/**
 * Compares a response's validators with the pinned ones. If a strong tag is pinned, it alone
 * decides. Otherwise the response must have the pinned date, no strong tag, and no other weak tag.
 */
export function matchVersion(pinned: Validators, got: Validators): VersionMatch {
  if (pinned.etag !== undefined) {
    if (got.etag !== undefined) return got.etag === pinned.etag ? 'same' : 'different';
    // A weak tag in place of the strong one means another version; no tag at all proves nothing.
    return got.weakEtag === undefined ? 'unproven' : 'different';
  }
  if (got.etag !== undefined) return 'different';
  if (got.weakEtag !== pinned.weakEtag && got.weakEtag !== undefined) return 'different';
  if (got.lastModified === undefined) return 'unproven';
  return got.lastModified === pinned.lastModified ? 'same' : 'different';
}

/** Compares a tag of a request field with the file's tag strongly (RFC 9110 8.8.3.2). */
export function etagMatchesStrongly(tag: string, v: Validators): boolean {
  return v.etag !== undefined && tag === v.etag;
}

/** Compares a tag of a request field with the file's tag weakly (RFC 9110 8.8.3.2). */
export function etagMatchesWeakly(tag: string, v: Validators): boolean {
  const own = v.etag ?? v.weakEtag;
  return own !== undefined && tag.replace(/^W\//, '') === own.replace(/^W\//, '');
}

/** Reads If-Match or If-None-Match: `*`, or the tags. */
export function parseEtagList(value: string): '*' | string[] {
  return value.trim() === '*' ? '*' : splitList(value);
}
