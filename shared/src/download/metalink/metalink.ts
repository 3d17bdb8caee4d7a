/**
 * Reads Metalink documents (RFC 5854). Names, sizes, digests, pieces and URLs decide which bytes
 * are saved where, and are read strictly. Unknown elements and attributes are kept.
 */

import type { Digest, PieceDigests } from '../../base/digest.ts';
import { shown } from '../../base/shown.ts';
import { faultOfFileName, safePath } from '../request/file-path.ts';
import type {
  Description,
  FileDescription,
  Metaurl,
  Publisher,
  Replica,
  Signature,
} from './description.ts';
import {
  absoluteUrl,
  addDigest,
  attribute,
  baseInside,
  checkPieces,
  digestIn,
  locationOf,
  METALINK_3,
  METALINK_4,
  MILLRACE,
  otherAttributes,
  piecesIn,
  priorityOf,
  textOf,
  urlIn,
  wholeNumber,
} from './metalink-parts.ts';
import { readMetalink3 } from './metalink-v3.ts';
import {
  childElements,
  plainElement,
  XmlDocument,
  type XmlElement,
  type XmlNode,
} from './xml-tree.ts';

/** An object under construction. */
type Draft<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Reads a Metalink document of version 4 or 3.
 *
 * @param document the document as it was received, at most 16 MiB
 * @param base URL that the document came from, the base of relative URLs in it
 * @throws MillraceError `bad-metalink`, naming line, column and element
 */
export function parseMetalink(document: string | Uint8Array, base?: string): Description {
  const doc = new XmlDocument(document);
  const { root } = doc;
  if (root.local !== 'metalink' || (root.uri !== METALINK_4 && root.uri !== METALINK_3)) {
    doc.fail(root, 'this is not a Metalink document');
  }
  const description = root.uri === METALINK_4 ? readMetalink4(doc, base) : readMetalink3(doc, base);
  if (description.files.length === 0) doc.fail(root, 'it describes no file');
  const paths = new Set(description.files.map(({ name }) => safePath(name)));
  if (paths.size < description.files.length) doc.fail(root, 'two files have the same name');
  return description;
}

function readMetalink4(doc: XmlDocument, base: string | undefined): Description {
  const { root } = doc;
  const files: FileDescription[] = [];
  const extra: XmlElement[] = [];
  const found: Draft<Description> = { files, extra };
  const inside = baseInside(doc, root, base);
  for (const node of childElements(root)) {
    const name = node.uri === METALINK_4 ? node.local : '';
    if (name === 'file') files.push(readFile(doc, node, inside));
    else if (name === 'origin' && found.origin === undefined) {
      const dynamic = ['true', '1'].includes(attribute(node, 'dynamic') ?? '');
      found.origin = { url: urlIn(doc, node, inside), dynamic };
    } else if (
      (name === 'generator' || name === 'published' || name === 'updated') &&
      found[name] === undefined
    ) {
      found[name] = textOf(doc, node);
    } else extra.push(plainElement(node));
  }
  const attributes = otherAttributes(root, []);
  return attributes === undefined ? found : { ...found, attributes };
}

/** Elements that have text and occur once. */
const TEXTS = ['identity', 'version', 'description', 'copyright'] as const;

function readFile(doc: XmlDocument, node: XmlNode, base: string | undefined): FileDescription {
  const name = attribute(node, 'name') ?? '';
  const fault = faultOfFileName(name);
  if (fault !== undefined) doc.fail(node, fault);
  const digests: Digest[] = [];
  const pieces: PieceDigests[] = [];
  const replicas: Replica[] = [];
  const metaurls: Metaurl[] = [];
  const languages: string[] = [];
  const os: string[] = [];
  const signatures: Signature[] = [];
  const extra: XmlElement[] = [];
  const lists = { digests, pieces, replicas, metaurls, languages, os, signatures, extra };
  const file: Draft<FileDescription> = { name, ...lists };
  const inside = baseInside(doc, node, base);
  for (const child of childElements(node)) {
    const understood = child.uri === METALINK_4 && readInto(doc, child, inside, file, lists);
    if (!understood) extra.push(plainElement(child));
  }
  if (replicas.length + metaurls.length === 0) doc.fail(node, 'there is no <url> in it');
  checkPieces(doc, node, file.size, pieces);
  const attributes = otherAttributes(node, ['name']);
  return attributes === undefined ? file : { ...file, attributes };
}

interface Lists {
  readonly digests: Digest[];
  readonly pieces: PieceDigests[];
  readonly replicas: Replica[];
  readonly metaurls: Metaurl[];
  readonly languages: string[];
  readonly os: string[];
  readonly signatures: Signature[];
}

/** Reads an element of a file. @returns false if the element is unknown */
function readInto(
  doc: XmlDocument,
  node: XmlNode,
  base: string | undefined,
  file: Draft<FileDescription>,
  lists: Lists,
): boolean {
  const text = TEXTS.find((name) => name === node.local);
  if (text !== undefined) {
    if (file[text] !== undefined) return false;
    file[text] = textOf(doc, node);
    return true;
  }
  switch (node.local) {
    case 'size': {
      const size = wholeNumber(doc, node, textOf(doc, node), 'the size');
      if (file.size !== undefined && file.size !== size) doc.fail(node, 'it has another size too');
      file.size = size;
      return true;
    }
    case 'hash': {
      const digest = digestIn(doc, node);
      if (digest !== undefined) addDigest(doc, node, lists.digests, digest);
      return digest !== undefined;
    }
    case 'pieces': {
      const pieces = piecesIn(doc, node);
      if (pieces !== undefined) lists.pieces.push(pieces);
      return pieces !== undefined;
    }
    case 'url':
      lists.replicas.push(readReplica(doc, node, base));
      return true;
    case 'metaurl':
      lists.metaurls.push(readMetaurl(doc, node, base));
      return true;
    case 'language':
      lists.languages.push(textOf(doc, node));
      return true;
    case 'os':
      lists.os.push(textOf(doc, node));
      return true;
    case 'signature': {
      const mediaType = attribute(node, 'mediatype') ?? doc.fail(node, 'it has no mediatype');
      lists.signatures.push({ mediaType, text: textOf(doc, node) });
      return true;
    }
    default:
      return readOnce(doc, node, base, file);
  }
}

/** Reads a logo or publisher. @returns false if the element is unknown or not the first */
function readOnce(
  doc: XmlDocument,
  node: XmlNode,
  base: string | undefined,
  file: Draft<FileDescription>,
): boolean {
  if (node.local === 'logo' && file.logo === undefined) {
    file.logo = urlIn(doc, node, base);
    return true;
  }
  if (node.local !== 'publisher' || file.publisher !== undefined) return false;
  const name = attribute(node, 'name');
  if (name === undefined) return false;
  const publisher: Draft<Publisher> = { name };
  const url = absoluteUrl(attribute(node, 'url') ?? '', baseInside(doc, node, base));
  if (url !== undefined) publisher.url = url;
  file.publisher = publisher;
  return true;
}

function readReplica(doc: XmlDocument, node: XmlNode, base: string | undefined): Replica {
  const url = urlIn(doc, node, base);
  const replica: Draft<Replica> = { url, priority: priorityOf(doc, node) };
  const location = locationOf(node);
  if (location !== undefined) replica.location = location;
  const expires = attribute(node, 'expires', MILLRACE);
  if (expires !== undefined) {
    replica.expires = Date.parse(expires);
    if (!/^\d{4}-\d{2}-\d{2}T/.test(expires) || Number.isNaN(replica.expires)) {
      doc.fail(node, `${shown(expires)} is not a time`);
    }
  }
  const attributes = otherAttributes(node, ['location', 'priority']);
  return attributes === undefined ? replica : { ...replica, attributes };
}

function readMetaurl(doc: XmlDocument, node: XmlNode, base: string | undefined): Metaurl {
  const mediaType = attribute(node, 'mediatype') ?? doc.fail(node, 'it has no mediatype');
  const url = urlIn(doc, node, base);
  const metaurl: Draft<Metaurl> = { url, priority: priorityOf(doc, node), mediaType };
  const name = attribute(node, 'name');
  if (name !== undefined) {
    const fault = faultOfFileName(name);
    if (fault !== undefined) doc.fail(node, fault);
    metaurl.name = name;
  }
  const attributes = otherAttributes(node, ['mediatype', 'name', 'priority']);
  return attributes === undefined ? metaurl : { ...metaurl, attributes };
}
