/**
 * Reads checksum files beside downloads: SHA256SUMS and similar files, in the formats of GNU
 * coreutils, BSD and OpenSSL, or with only a digest, clear-signed or not. Signatures are not
 * checked: a checksum file is as trustworthy as its server.
 */

import {
  algorithmNamed,
  DIGEST_ALGORITHMS,
  DIGEST_DIGITS,
  type Digest,
  type DigestAlgorithm,
  digestFromHex,
} from '../../base/digest.ts';
import { MillraceError } from '../../base/errors.ts';

/** Largest checksum file that is read: enough for more than ten thousand entries. */
const MAX_CHECKSUM_FILE_BYTES = 1024 * 1024;
const MAX_LINE_CHARS = 4096;

export interface ChecksumEntry {
  readonly digest: Digest;
  /** Name as written; undefined if there is only a digest. */
  readonly name: string | undefined;
}

const SIGNED = '-----BEGIN PGP SIGNED MESSAGE-----';
const SIGNATURE = '-----BEGIN PGP SIGNATURE-----';

/** Digest, space, a space or `*` for binary, name; a line with an escaped name begins with `\`. */
const GNU = /^(\\?)([0-9a-fA-F]{32,128})(?:[ \t][ *]?(.*))?$/;
/** `SHA256 (name) = digest` of BSD, `SHA2-256(name)= digest` of OpenSSL. */
const BSD = /^(\\?)([A-Za-z0-9/-]{3,12}) ?\((.*)\) ?= ?([0-9a-fA-F]{32,128})$/;
/** Names of unsupported algorithms whose digests are as long as those of supported ones. */
const FOREIGN =
  /sha-?3|shake|keccak|blake|whirlpool|ripemd|rmd|512[-_/]2|(?:^|[^a-z0-9])(?:b[23]|sm3|md[24]|xxh)/;

/**
 * Reads a checksum file. Skips malformed lines, and in a signed file all lines outside the signed
 * text. A file of more than 1 MiB has no entries.
 *
 * @param suffix the checksum file's name without the name of the described file; it may name the
 *   algorithm
 */
export function parseChecksumFile(file: string | Uint8Array, suffix: string): ChecksumEntry[] {
  if (file.length > MAX_CHECKSUM_FILE_BYTES) return [];
  const text = typeof file === 'string' ? file : new TextDecoder().decode(file);
  const named = suffix.toLowerCase();
  const entries: ChecksumEntry[] = [];
  for (const line of linesOf(text.replace(/^\ufeff/, ''))) {
    const entry = line.length > MAX_LINE_CHARS ? undefined : readLine(line.trim(), named);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/**
 * Finds a file's digests in a checksum file.
 *
 * @param checksumName the name of the checksum file
 * @param fileName the file's name in the folder of the checksum file
 * @returns one digest per algorithm; none if the file is not mentioned
 * @throws MillraceError `contradicting-statements` if an algorithm has two different digests
 */
export function findDigests(
  file: string | Uint8Array,
  checksumName: string,
  fileName: string,
): Digest[] {
  const own = isOwn(checksumName, fileName);
  const suffix = checksumName.startsWith(fileName)
    ? checksumName.slice(fileName.length)
    : checksumName;
  const entries = parseChecksumFile(file, suffix);
  const wanted = fileName.normalize('NFC');
  const path = (name: string) => name.normalize('NFC').replace(/^(?:\.\/)+/, '');
  const matching = (matches: (name: string) => boolean) =>
    entries.filter(({ name }) => name !== undefined && matches(path(name)));
  // Prefer the file beside the checksums, then a file of that name in any folder, then, in the
  // file's own checksum file, a digest without a name.
  let found = matching((name) => name === wanted);
  if (found.length === 0) found = matching((name) => name.split(/[/\\]/).pop() === wanted);
  if (found.length === 0 && own) found = entries.filter(({ name }) => name === undefined);
  return unanimous(found, checksumName, fileName);
}

/**
 * Lists the URLs of checksum files by convention, strongest first, at most 12. The list is empty
 * for URLs with a query, which are often signed for one file, and for checksum files themselves.
 */
export function sidecarCandidates(url: string): string[] {
  const { origin, pathname, protocol, search } = new URL(url);
  const name = pathname.slice(pathname.lastIndexOf('/') + 1);
  if (!/^https?:$/.test(protocol) || search !== '' || name === '') return [];
  if (/(?:sums?|checksums?)(?:\.txt)?$|\.(?:sha\d+|md5|asc|sig)$/i.test(name)) return [];
  const own = (suffix: string) => `${origin}${pathname}${suffix}`;
  const sibling = (other: string) => `${origin}${pathname.slice(0, -name.length)}${other}`;
  return [
    own('.sha256'),
    own('.sha512'),
    own('.sha256sum'),
    own('.sha512sum'),
    sibling('SHA256SUMS'),
    sibling('SHA512SUMS'),
    sibling('sha256sum.txt'),
    sibling('sha512sum.txt'),
    sibling('CHECKSUMS'),
    own('.sha1'),
    own('.md5'),
    sibling('MD5SUMS'),
  ];
}

/** Splits a text into lines; of a signed message, only the signed text (RFC 9580, 7). */
function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/);
  const signed = lines.findIndex((line) => line.trimEnd() === SIGNED);
  if (signed === -1) return lines;
  const begin = lines.findIndex((line, i) => i > signed && line.trim() === '');
  const end = lines.findIndex((line, i) => i > signed && line.trimEnd() === SIGNATURE);
  if (begin === -1 || end === -1) return [];
  return lines.slice(begin + 1, end).map((line) => line.replace(/^- /, ''));
}

function readLine(line: string, suffix: string): ChecksumEntry | undefined {
  const bsd = BSD.exec(line);
  if (bsd !== null) {
    const [, escaped, type = '', name = '', hex = ''] = bsd;
    // OpenSSL writes SHA2-256 to distinguish it from SHA3-256.
    const algorithm = algorithmNamed(type.replace(/^SHA2-/i, 'SHA-'));
    const digest = algorithm && digestFromHex(algorithm, hex);
    return digest && { digest, name: escaped === '' ? name : withoutEscapes(name) };
  }
  const gnu = GNU.exec(line);
  if (gnu === null) return undefined;
  const [, escaped, hex = '', rest] = gnu;
  const algorithm = algorithmOf(hex, suffix);
  if (algorithm === undefined) return undefined;
  const digest = { algorithm, hex: hex.toLowerCase() };
  const name = escaped === '' ? rest?.trimStart() : withoutEscapes(rest ?? '');
  // A file that was hashed from a pipe is called "-".
  return { digest, name: name === '' || name === '-' ? undefined : name };
}

/** Infers a digest's algorithm from its length; undefined if the suffix names other algorithms. */
function algorithmOf(hex: string, suffix: string): DigestAlgorithm | undefined {
  if (FOREIGN.test(suffix)) return undefined;
  const algorithm = DIGEST_ALGORITHMS.find((name) => DIGEST_DIGITS[name] === hex.length);
  const mentioned = suffix.match(/md5|sha-?(?:1|224|256|384|512)(?!\d)/g) ?? [];
  const objects =
    mentioned.length > 0 && !mentioned.some((name) => algorithmNamed(name) === algorithm);
  return objects ? undefined : algorithm;
}

/** Decodes the escapes of line ends and backslashes that GNU's tools write in names. */
function withoutEscapes(name: string): string {
  const meant: Readonly<Record<string, string>> = { '\\n': '\n', '\\r': '\r', '\\\\': '\\' };
  return name.replace(/\\[nr\\]/g, (pair) => meant[pair] as string);
}

/** Returns true if a checksum file describes only one file: `f.iso.sha256` or `f.sha256`. */
function isOwn(checksumName: string, fileName: string): boolean {
  if (checksumName.startsWith(`${fileName}.`)) return true;
  const stem = (name: string) => name.slice(0, Math.max(0, name.lastIndexOf('.')));
  return stem(checksumName) !== '' && stem(checksumName) === stem(fileName);
}

function unanimous(
  entries: readonly ChecksumEntry[],
  checksumName: string,
  fileName: string,
): Digest[] {
  const found = new Map<DigestAlgorithm, Digest>();
  for (const { digest } of entries) {
    const before = found.get(digest.algorithm);
    if (before !== undefined && before.hex !== digest.hex) {
      throw new MillraceError(
        'contradicting-statements',
        `${checksumName} has two ${digest.algorithm} digests of ${fileName}`,
      );
    }
    found.set(digest.algorithm, digest);
  }
  return [...found.values()];
}
