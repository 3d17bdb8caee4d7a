/**
 * Version tags: the part of a chunk's name that says which version of the file it belongs to. So
 * chunks of two versions never share a name and never meet in one response. WORLDS 4.2 does the
 * same with a checksum that the client supplies, which can be part of the tag here too.
 */

import type { Validators } from '../../http/fields/validators.ts';

/** Characters of a tag: unreserved ones of RFC 3986 and percent-escapes, without commas. */
const TAG = /^[emds]\.[A-Za-z0-9._~%-]{1,900}$/;
/** The version of a file that came in one stream, with the name that an edge has given it. */
const STREAM_TAG = /^s\.[0-9a-f]{32}$/;
/** A client's digest, before the tag of the version or alone. */
const DIGEST_TAG = /^d\.([0-9a-f]{64})(?:\.|$)/;

/**
 * Makes the tag of a version, from its strong entity tag, else from Last-Modified and the length.
 * Injective: two versions have the same tag only if their validators are the same.
 *
 * @param digest SHA-256 that a client has asked for, hexadecimal. It goes before the rest, so that
 *   no chunk fetched for other clients has the same name (WORLDS 4.2); the rest stays, so that
 *   chunks of two versions do not mix if the origin has other content after all
 * @returns undefined if nothing pins the version (see `canPin`)
 */
export function versionTag(
  validators: Validators,
  length: number,
  digest?: string,
): string | undefined {
  const tag = tagOf(validators, length);
  return tag === undefined || digest === undefined ? tag : `${digestTag(digest)}.${tag}`;
}

/** Returns the tag of any version with that content, as one node requests it from another. */
export function digestTag(digest: string): string {
  return `d.${digest}`;
}

/** Returns the SHA-256 that is part of a tag; undefined if there is none. */
export function digestOfTag(tag: string): string | undefined {
  return DIGEST_TAG.exec(tag)?.[1];
}

/**
 * Makes the tag of one answer of an origin without ranges. Such a version is one answer, whatever
 * its validators say: no other answer shares its tag unless all its bytes were compared.
 *
 * @param id random, 32 hexadecimal digits
 */
export function streamTag(id: string): string {
  return `s.${id}`;
}

/** Returns true for a tag that `streamTag` has made. */
export function isStreamTag(tag: string): boolean {
  return STREAM_TAG.test(tag);
}

/**
 * Removes the digest from a tag, which leaves the version's tag for requests without a digest.
 *
 * @returns undefined if the tag is a digest alone and names no version
 */
export function withoutDigest(tag: string): string | undefined {
  const digest = digestOfTag(tag);
  if (digest === undefined) return tag;
  return tag.slice(digestTag(digest).length + 1) || undefined;
}

function tagOf(validators: Validators, length: number): string | undefined {
  if (validators.etag !== undefined) return `e.${percentEscape(validators.etag.slice(1, -1))}`;
  if (validators.lastModified === undefined || validators.lastModifiedIsStrong !== true) {
    return undefined;
  }
  return `m.${validators.lastModified / 1000}.${length}`;
}

/** Returns true for text that has the form of a version tag. */
export function isVersionTag(text: string): boolean {
  return TAG.test(text);
}

/**
 * Reads the version from a tag: the validators that `versionTag` made it from.
 *
 * @param length of the file, which only some tags contain
 * @returns undefined unless `versionTag` makes exactly this tag for a file of that length
 */
export function versionOfTag(tag: string, length: number): Validators | undefined {
  if (!isVersionTag(tag)) return undefined;
  // The name alone pins such a version: validators could not make an origin send a part of it.
  if (isStreamTag(tag)) return {};
  const digest = digestOfTag(tag);
  const own = withoutDigest(tag) ?? '';
  const text = own.slice(2);
  let validators: Validators | undefined;
  if (own.startsWith('e.')) {
    const opaque = text.replace(/%([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    validators = { etag: text === '%' ? '""' : `"${opaque}"` };
  } else if (own.startsWith('m.')) {
    const seconds = Number(text.split('.')[0]);
    validators = { lastModified: seconds * 1000, lastModifiedIsStrong: true };
  }
  // A tag in another spelling would store the same bytes under a second name.
  return validators !== undefined && versionTag(validators, length, digest) === tag
    ? validators
    : undefined;
}

/** Percent-escapes everything but unreserved characters; entity tags are Latin-1. */
function percentEscape(text: string): string {
  // An empty entity tag is legal; an empty version tag is not.
  if (text === '') return '%';
  return text.replace(
    /[^A-Za-z0-9._~-]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
