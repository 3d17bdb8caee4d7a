/**
 * Reads digests in the header fields of answers, by their scope: the whole file, or only the bytes
 * of this answer (RFC 9530; RFC 3230; RFC 1864).
 */

import { algorithmNamed, type Digest, digestFromBase64 } from '../../base/digest.ts';
import { MillraceError } from '../../base/errors.ts';
import { type Headers, listField, splitList } from './headers.ts';

/** Longest field that is read, in characters. */
const MAX_FIELD_CHARS = 8192;

/** One member of the dictionary (RFC 9651, 3.2): a byte sequence; its parameters are ignored. */
const MEMBER = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):(?:;.*)?$/;

/**
 * Reads the digests of the whole file: Repr-Digest and Digest in answers with the whole file (200)
 * or a part of it (206), Content-MD5 only in answers with the whole file, because servers disagree
 * on its meaning in others. If the content is encoded, its digests are of the encoded form: only
 * the members of Digest that name the file itself count.
 *
 * @param status of the answer to GET or HEAD
 * @returns one per algorithm
 * @throws MillraceError `malformed-response` if two digests contradict each other
 */
export function fileDigests(headers: Headers, status: number): Digest[] {
  if (status !== 200 && status !== 206) return [];
  const encoded = isEncoded(headers);
  const digests = readDigest(headers, encoded);
  if (!encoded) {
    digests.push(...readDictionary(headers, 'repr-digest'));
    if (status === 200) digests.push(...readContentMd5(headers));
  }
  return unanimous(digests);
}

/**
 * Reads the digests of the bytes in this answer: Content-Digest, and in an answer with the whole
 * file also Content-MD5.
 *
 * @param status of the answer to GET
 * @returns one per algorithm
 * @throws MillraceError `malformed-response` if two digests contradict each other
 */
export function contentDigests(headers: Headers, status: number): Digest[] {
  if (status !== 200 && status !== 206) return [];
  const digests = readDictionary(headers, 'content-digest');
  if (status === 200) digests.push(...readContentMd5(headers));
  return unanimous(digests);
}

function isEncoded(headers: Headers): boolean {
  const codings = splitList(listField(headers, 'content-encoding') ?? '');
  return codings.some((coding) => coding.toLowerCase() !== 'identity');
}

/** Reads a structured dictionary of digests; one malformed member makes the whole field invalid. */
function readDictionary(headers: Headers, field: string): Digest[] {
  const digests: Digest[] = [];
  for (const item of items(headers, field)) {
    const match = MEMBER.exec(item);
    if (match === null) return [];
    const digest = named(match[1] as string, match[2] as string);
    if (digest !== undefined) digests.push(digest);
  }
  return digests;
}

/** Reads the Digest field (RFC 3230, 4.3.2): names in any case, values that may contain `=`. */
function readDigest(headers: Headers, encoded: boolean): Digest[] {
  const digests: Digest[] = [];
  for (const item of items(headers, 'digest')) {
    const equals = item.indexOf('=');
    const name = item.slice(0, Math.max(0, equals)).toLowerCase();
    // The prefix `id-` means a digest of the file before it was encoded.
    const unencoded = name.startsWith('id-');
    if (encoded && !unencoded) continue;
    const digest = named(unencoded ? name.slice(3) : name, item.slice(equals + 1));
    if (digest !== undefined) digests.push(digest);
  }
  return digests;
}

function readContentMd5(headers: Headers): Digest[] {
  return items(headers, 'content-md5')
    .map((item) => digestFromBase64('md5', item))
    .filter((digest) => digest !== undefined);
}

function items(headers: Headers, field: string): string[] {
  const value = listField(headers, field) ?? '';
  return value.length > MAX_FIELD_CHARS ? [] : splitList(value);
}

/** Makes a digest; undefined for an unknown algorithm or a wrong length, which prove nothing. */
function named(name: string, base64: string): Digest | undefined {
  const algorithm = algorithmNamed(name);
  return algorithm === undefined ? undefined : digestFromBase64(algorithm, base64);
}

function unanimous(digests: readonly Digest[]): Digest[] {
  const found = new Map<string, Digest>();
  for (const digest of digests) {
    const before = found.get(digest.algorithm);
    if (before !== undefined && before.hex !== digest.hex) {
      throw new MillraceError('malformed-response', `it has two ${digest.algorithm} digests`);
    }
    found.set(digest.algorithm, digest);
  }
  return [...found.values()];
}
