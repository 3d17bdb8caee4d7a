/** Reads the parts of Metalink documents that versions 3 and 4 have in common. */

import {
  algorithmNamed,
  type Digest,
  type DigestAlgorithm,
  digestFromHex,
  type PieceDigests,
} from '../../base/digest.ts';
import { MAX_URL_CHARS } from '../../base/limits.ts';
import { shown } from '../../base/shown.ts';
import { LAST_PRIORITY } from './description.ts';
import {
  childElements,
  XML_NAMESPACE,
  type XmlAttribute,
  type XmlDocument,
  type XmlNode,
} from './xml-tree.ts';

export const METALINK_4 = 'urn:ietf:params:xml:ns:metalink';
export const METALINK_3 = 'http://www.metalinker.org/';
/** Namespace of Millrace's additions to Metalink, which other programs ignore (RFC 5854, 5). */
export const MILLRACE = 'urn:millrace:description';

/** Longest text of one element, in characters. */
const MAX_TEXT_CHARS = 64 * 1024;

/** Returns the value of an attribute, trimmed. */
export function attribute(node: XmlNode, local: string, uri = ''): string | undefined {
  return node.attributes.find((a) => a.local === local && a.uri === uri)?.value.trim();
}

/** Returns the unknown attributes; undefined if there are none. */
export function otherAttributes(
  node: XmlNode,
  known: readonly string[],
): readonly XmlAttribute[] | undefined {
  const others = node.attributes.filter(({ uri, local }) => {
    if (uri === '') return !known.includes(local);
    // Relative URLs have been made absolute.
    if (uri === XML_NAMESPACE) return local !== 'base';
    return uri !== MILLRACE || local !== 'expires';
  });
  return others.length === 0 ? undefined : others;
}

/** Returns the trimmed text of an element that may contain only text. */
export function textOf(doc: XmlDocument, node: XmlNode): string {
  let text = '';
  for (const part of node.content) {
    if (typeof part !== 'string') doc.fail(part, `<${shown(node.local)}> can hold text only`);
    text += part;
  }
  if (text.length > MAX_TEXT_CHARS) doc.fail(node, `more than ${MAX_TEXT_CHARS} characters`);
  return text.trim();
}

/** Returns the base of relative URLs inside an element (RFC 5854, 2: xml:base). */
export function baseInside(doc: XmlDocument, node: XmlNode, base: string | undefined) {
  const own = attribute(node, 'base', XML_NAMESPACE);
  if (own === undefined) return base;
  return absoluteUrl(own, base) ?? doc.fail(node, `xml:base ${shown(own)} is not a URL`);
}

/** Returns the absolute form of a URL; undefined if it has none or is too long. */
export function absoluteUrl(text: string, base: string | undefined): string | undefined {
  if (text === '' || text.length > MAX_URL_CHARS) return undefined;
  try {
    const { href } = new URL(text, base);
    return href.length > MAX_URL_CHARS ? undefined : href;
  } catch {
    return undefined;
  }
}

/** Returns the absolute form of the URL in an element. */
export function urlIn(doc: XmlDocument, node: XmlNode, base: string | undefined): string {
  const text = textOf(doc, node);
  const url = absoluteUrl(text, baseInside(doc, node, base));
  return url ?? doc.fail(node, `${shown(text)} is not a complete URL`);
}

/** Reads a whole number of bytes: a size or a length. */
export function wholeNumber(doc: XmlDocument, node: XmlNode, text: string, what: string): number {
  const number = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(number)) {
    doc.fail(node, `${what} ${shown(text)} is not a number of bytes`);
  }
  return number;
}

/** Returns the priority of an element (RFC 5854, 4.2.16.2). */
export function priorityOf(doc: XmlDocument, node: XmlNode): number {
  const text = attribute(node, 'priority');
  if (text === undefined) return LAST_PRIORITY;
  const priority = Number(text);
  if (!/^\d{1,6}$/.test(text) || priority < 1) {
    doc.fail(node, `the priority ${shown(text)} is not a number from 1 to ${LAST_PRIORITY}`);
  }
  return priority;
}

/** Returns the country that an element names. */
export function locationOf(node: XmlNode): string | undefined {
  const location = attribute(node, 'location')?.toLowerCase();
  return location !== undefined && /^[a-z]{2}$/.test(location) ? location : undefined;
}

/** Reads the digest in an element; undefined if its algorithm is unsupported. */
export function digestIn(doc: XmlDocument, node: XmlNode): Digest | undefined {
  const type = attribute(node, 'type') ?? doc.fail(node, 'it has no type');
  const algorithm = algorithmNamed(type);
  return algorithm === undefined ? undefined : { algorithm, hex: hexIn(doc, node, algorithm) };
}

/**
 * Adds a digest to the digests of a file.
 *
 * @throws MillraceError `bad-metalink` if there is a different one of that algorithm
 */
export function addDigest(doc: XmlDocument, node: XmlNode, digests: Digest[], digest: Digest) {
  const other = digests.find(({ algorithm }) => algorithm === digest.algorithm);
  if (other === undefined) digests.push(digest);
  else if (other.hex !== digest.hex) doc.fail(node, 'another digest of that type says otherwise');
}

/** Reads the digests of pieces; undefined if their algorithm is unsupported. */
export function piecesIn(doc: XmlDocument, node: XmlNode): PieceDigests | undefined {
  const type = attribute(node, 'type') ?? doc.fail(node, 'it has no type');
  const algorithm = algorithmNamed(type);
  if (algorithm === undefined) return undefined;
  const length = attribute(node, 'length') ?? doc.fail(node, 'it has no length');
  const pieceBytes = wholeNumber(doc, node, length, 'the length');
  if (pieceBytes === 0) doc.fail(node, 'pieces have at least one byte');
  const hashes = childElements(node).filter((n) => n.local === 'hash' && n.uri === node.uri);
  if (hashes.length === 0) doc.fail(node, 'there is no <hash> in it');
  const hexes: string[] = new Array(hashes.length);
  hashes.forEach((hash, i) => {
    // Version 3 numbers the pieces; in version 4 they are in order.
    const at = Number(attribute(hash, 'piece') ?? i);
    if (!(at in hashes) || hexes[at] !== undefined) doc.fail(hash, 'the pieces are not numbered');
    hexes[at] = hexIn(doc, hash, algorithm);
  });
  return { algorithm, pieceBytes, hexes };
}

/** Checks that there are as many digests as the file has pieces. */
export function checkPieces(
  doc: XmlDocument,
  node: XmlNode,
  size: number | undefined,
  pieces: readonly PieceDigests[],
): void {
  if (size === undefined) return;
  for (const { pieceBytes, hexes } of pieces) {
    const expected = Math.max(1, Math.ceil(size / pieceBytes));
    if (hexes.length === expected) continue;
    const has = `a file of ${size} bytes has ${expected} pieces of ${pieceBytes}`;
    doc.fail(node, `${has}, but there are digests of ${hexes.length}`);
  }
}

function hexIn(doc: XmlDocument, node: XmlNode, algorithm: DigestAlgorithm): string {
  const text = textOf(doc, node);
  const digest = digestFromHex(algorithm, text);
  return digest?.hex ?? doc.fail(node, `${shown(text)} is not a digest of type ${algorithm}`);
}
