/**
 * Reads Metalink 3.0, which some mirrors still serve. Millrace writes only version 4, so elements
 * of version 3 without a successor are left out.
 */

import type { Digest, PieceDigests } from '../../base/digest.ts';
import { faultOfFileName } from '../request/file-path.ts';
import {
  type Description,
  type FileDescription,
  LAST_PRIORITY,
  type Metaurl,
  type Publisher,
  type Replica,
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
  piecesIn,
  textOf,
  urlIn,
  wholeNumber,
} from './metalink-parts.ts';
import { childElements, plainElement, type XmlDocument, type XmlNode } from './xml-tree.ts';

const TEXTS = ['identity', 'version', 'description', 'copyright', 'logo'] as const;
type Texts = Partial<Pick<FileDescription, (typeof TEXTS)[number]>>;

/** Reads the root of a document of version 3. */
export function readMetalink3(doc: XmlDocument, base: string | undefined): Description {
  const { root } = doc;
  const inside = baseInside(doc, root, base);
  const files = children(root, 'files').flatMap((list) => children(list, 'file'));
  // Members of the root apply to every file without its own.
  const common = { ...textsOf(doc, root), ...publisherOf(doc, root) };
  const generator = attribute(root, 'generator');
  const origin = absoluteUrl(attribute(root, 'origin') ?? '', inside);
  return {
    files: files.map((file) => ({ ...common, ...readFile(doc, file, inside) })),
    extra: foreign(root),
    ...(generator === undefined ? {} : { generator }),
    ...(origin === undefined
      ? {}
      : { origin: { url: origin, dynamic: attribute(root, 'type') === 'dynamic' } }),
  };
}

function readFile(doc: XmlDocument, node: XmlNode, base: string | undefined): FileDescription {
  const name = attribute(node, 'name') ?? '';
  const fault = faultOfFileName(name);
  if (fault !== undefined) doc.fail(node, fault);
  const verification = children(node, 'verification');
  const digests: Digest[] = [];
  for (const hash of verification.flatMap((v) => children(v, 'hash'))) {
    const digest = digestIn(doc, hash);
    if (digest !== undefined) addDigest(doc, hash, digests, digest);
  }
  const pieces = verification
    .flatMap((v) => children(v, 'pieces'))
    .map((p) => piecesIn(doc, p))
    .filter((p): p is PieceDigests => p !== undefined);
  const signatures = verification
    .flatMap((v) => children(v, 'signature'))
    .filter((s) => attribute(s, 'type') === 'pgp')
    .map((s) => ({ mediaType: 'application/pgp-signature', text: textOf(doc, s) }));
  const sizes = children(node, 'size').map((s) => wholeNumber(doc, s, textOf(doc, s), 'the size'));
  if (sizes.some((other) => other !== sizes[0])) doc.fail(node, 'it has several sizes');
  checkPieces(doc, node, sizes[0], pieces);
  const texts = (local: string) => children(node, local).map((n) => textOf(doc, n));
  return {
    name,
    digests,
    pieces,
    ...resources(doc, node, base),
    languages: texts('language'),
    os: texts('os'),
    signatures,
    extra: foreign(node),
    ...(sizes[0] === undefined ? {} : { size: sizes[0] }),
    ...textsOf(doc, node),
    ...publisherOf(doc, node),
  };
}

/** Reads the URLs of a file, and of torrents that describe it. */
function resources(doc: XmlDocument, file: XmlNode, base: string | undefined) {
  const replicas: Replica[] = [];
  const metaurls: Metaurl[] = [];
  for (const node of children(file, 'resources').flatMap((list) => children(list, 'url'))) {
    const url = urlIn(doc, node, base);
    const priority = fromPreference(doc, node);
    const location = locationOf(node);
    if (attribute(node, 'type') === 'bittorrent') {
      metaurls.push({ url, priority, mediaType: 'application/x-bittorrent' });
    } else replicas.push({ url, priority, ...(location === undefined ? {} : { location }) });
  }
  if (replicas.length + metaurls.length === 0) doc.fail(file, 'there is no <url> in it');
  return { replicas, metaurls };
}

/** Converts a preference (100, the best, down to 0) to a priority (1, the best, upwards). */
function fromPreference(doc: XmlDocument, node: XmlNode): number {
  const text = attribute(node, 'preference');
  if (text === undefined || text === '') return LAST_PRIORITY;
  const preference = Number(text);
  if (!/^\d{1,3}$/.test(text) || preference > 100) {
    doc.fail(node, 'the preference is not a number from 0 to 100');
  }
  return 101 - preference;
}

function textsOf(doc: XmlDocument, node: XmlNode): Texts {
  const texts: { -readonly [K in keyof Texts]: Texts[K] } = {};
  for (const local of TEXTS) {
    const first = children(node, local)[0];
    if (first !== undefined) texts[local] = textOf(doc, first);
  }
  return texts;
}

function publisherOf(doc: XmlDocument, node: XmlNode): { publisher?: Publisher } {
  const publisher = children(node, 'publisher')[0];
  const name = publisher && children(publisher, 'name')[0];
  if (publisher === undefined || name === undefined) return {};
  const link = children(publisher, 'url')[0];
  const url = link && absoluteUrl(textOf(doc, link), undefined);
  return { publisher: { name: textOf(doc, name), ...(url === undefined ? {} : { url }) } };
}

function children(node: XmlNode, local: string): XmlNode[] {
  return childElements(node).filter((n) => n.local === local && n.uri === METALINK_3);
}

function foreign(node: XmlNode) {
  return childElements(node)
    .filter(({ uri }) => uri !== METALINK_3)
    .map(plainElement);
}
