/**
 * Reads untrusted XML documents as trees of elements with positions. Document types, and so custom
 * entities, are refused, and size, depth and number of elements are limited.
 */

import { SaxesParser, type SaxesTagNS } from 'saxes';
import { MillraceError } from '../../base/errors.ts';
import { shown } from '../../base/shown.ts';

/** Largest document that is read, in bytes: enough for the digests of about 100,000 pieces. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;
const MAX_DEPTH = 32;
const MAX_ELEMENTS = 400_000;
const MAX_ATTRIBUTES = 64;

export const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';
const XMLNS_NAMESPACE = 'http://www.w3.org/2000/xmlns/';

export interface XmlAttribute {
  /** Namespace; empty for none. */
  readonly uri: string;
  readonly local: string;
  readonly value: string;
}

/** An element. Plain JSON: prefixes are resolved, and namespace declarations removed. */
export interface XmlElement {
  readonly uri: string;
  readonly local: string;
  readonly attributes: readonly XmlAttribute[];
  /** Text and elements in the order in which they occur. */
  readonly content: readonly (string | XmlElement)[];
}

/** An element of a document that has been read. */
export interface XmlNode extends XmlElement {
  readonly content: readonly (string | XmlNode)[];
  /** Where the element begins in the text. */
  readonly offset: number;
}

type OpenNode = Omit<XmlNode, 'content'> & { readonly content: (string | XmlNode)[] };

export class XmlDocument {
  readonly root: XmlNode;
  readonly #text: string;

  /**
   * Reads a document, without its comments and processing instructions.
   *
   * @throws MillraceError `bad-metalink`, with line and column
   */
  constructor(document: string | Uint8Array) {
    this.#text = decode(document);
    const half = this.#text.search(/\p{Surrogate}/u);
    // XML has no lone surrogates (XML 1.0, 2.2), but the parser would accept them in names.
    if (half >= 0) throw this.#error(half, 'half a character (a lone surrogate)');
    this.root = this.#parse();
  }

  /** Throws `bad-metalink` with the line, column and name of an element, and the fault. */
  fail(node: XmlNode, why: string): never {
    throw this.#error(node.offset, why, node.local);
  }

  #error(offset: number, why: string, element?: string): MillraceError {
    const before = this.#text.slice(0, Math.max(0, offset));
    const line = (before.match(/\r\n|\r|\n/g)?.length ?? 0) + 1;
    const column = offset - Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r'));
    const where = `line ${line}, column ${Math.max(1, column)}`;
    const name = element === undefined ? '' : `, <${shown(element)}>`;
    return new MillraceError('bad-metalink', `${where}${name}: ${why}`);
  }

  #parse(): XmlNode {
    const parser = new SaxesParser({ xmlns: true, position: false });
    const open: OpenNode[] = [];
    let root: XmlNode | undefined;
    let elements = 0;
    let attributes = 0;
    let begins = 0;
    const refuse = (why: string, offset = parser.position - 1): never => {
      throw this.#error(offset, why, open.at(-1)?.local);
    };
    const text = (piece: string) => {
      const content = open.at(-1)?.content;
      if (content === undefined) return;
      if (typeof content.at(-1) === 'string') content.push(content.pop() + piece);
      else content.push(piece);
    };
    parser.on('error', (error) => refuse(error.message.replace(/\.$/, '')));
    parser.on('doctype', () => refuse('document types and entities are not accepted'));
    parser.on('text', text);
    parser.on('cdata', text);
    parser.on('opentagstart', (tag) => {
      // The parser is past the end of the name, by one character or by a line end of two.
      begins = this.#text.lastIndexOf('<', parser.position - tag.name.length - 2);
      attributes = 0;
      if (open.length >= MAX_DEPTH) refuse(`more than ${MAX_DEPTH} elements inside each other`);
      if (++elements > MAX_ELEMENTS) refuse(`more than ${MAX_ELEMENTS} elements`);
    });
    parser.on('attribute', () => {
      if (++attributes > MAX_ATTRIBUTES) refuse(`more than ${MAX_ATTRIBUTES} attributes`, begins);
    });
    parser.on('opentag', (tag) => {
      const node = newNode(tag, begins);
      open.at(-1)?.content.push(node);
      root ??= node;
      open.push(node);
    });
    parser.on('closetag', () => open.pop());
    parser.write(this.#text).close();
    if (root === undefined) throw this.#error(0, 'there is no element');
    return root;
  }
}

/** Copies an element without the members that are only needed for reading. */
export function plainElement(node: XmlNode): XmlElement {
  const { uri, local, attributes, content } = node;
  const plain = content.map((part) => (typeof part === 'string' ? part : plainElement(part)));
  return { uri, local, attributes, content: plain };
}

/** Lists the elements inside an element. */
export function childElements(node: XmlNode): XmlNode[] {
  return node.content.filter((part) => typeof part !== 'string');
}

function newNode(tag: SaxesTagNS, offset: number): OpenNode {
  const attributes = Object.values(tag.attributes)
    .filter(({ uri }) => uri !== XMLNS_NAMESPACE)
    .map(({ uri, local, value }) => ({ uri, local, value }));
  return { uri: tag.uri, local: tag.local, attributes, content: [], offset };
}

/** Decodes a document by the encoding that its first bytes show or declare. */
function decode(document: string | Uint8Array): string {
  if (document.length > MAX_DOCUMENT_BYTES) {
    const limit = `${MAX_DOCUMENT_BYTES / 1024 / 1024} MiB`;
    throw new MillraceError('bad-metalink', `it is larger than ${limit}`);
  }
  if (typeof document === 'string') return document.replace(/^\ufeff/, '');
  const encoding = encodingOf(document);
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(document);
  } catch (cause) {
    throw new MillraceError('bad-metalink', `it is not text in ${shown(encoding)}`, { cause });
  }
}

function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  const start = String.fromCharCode(...bytes.subarray(0, 256));
  const declared = /^<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']/.exec(start);
  // After a byte order mark of UTF-8 no declaration matches, so the mark takes precedence.
  return declared?.[1] ?? 'utf-8';
}
