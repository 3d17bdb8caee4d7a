/** Writes Metalink 4 documents (RFC 5854). */

import type { Millis } from '../../base/clock.ts';
import { formatAlgorithm } from '../../base/digest.ts';
import { MillraceError } from '../../base/errors.ts';
import { faultOfFileName } from '../request/file-path.ts';
import {
  type Description,
  type FileDescription,
  LAST_PRIORITY,
  type Replica,
} from './description.ts';
import { METALINK_4, MILLRACE } from './metalink-parts.ts';
import { XML_NAMESPACE, type XmlAttribute, type XmlElement } from './xml-tree.ts';

/** First characters of XML names; `NAME` adds characters that can follow (XML 1.0, 2.3). */
const START =
  'A-Z_a-z\\u{c0}-\\u{d6}\\u{d8}-\\u{f6}\\u{f8}-\\u{2ff}\\u{370}-\\u{37d}\\u{37f}-\\u{1fff}' +
  '\\u{200c}\\u{200d}\\u{2070}-\\u{218f}\\u{2c00}-\\u{2fef}\\u{3001}-\\u{d7ff}\\u{f900}-\\u{fdcf}' +
  '\\u{fdf0}-\\u{fffd}\\u{10000}-\\u{effff}';
const NAME = new RegExp(
  `^[${START}][${START}\\-.0-9\\u{b7}\\u{300}-\\u{36f}\\u{203f}\\u{2040}]*$`,
  'u',
);

const YEAR_10000: Millis = 253_402_300_800_000;

/** Attributes by name; undefined ones are left out. */
type Attributes = Readonly<Record<string, string | undefined>>;

/**
 * Writes a description as a Metalink 4 document. Reading the document gives the same description.
 *
 * @throws MillraceError `bad-metalink` if the description cannot be written: no file, a file
 *   without a URL, a name that leaves the folder
 */
export function formatMetalink(description: Description): string {
  const { files, generator, origin, published, updated, extra } = description;
  if (files.length === 0) throw new MillraceError('bad-metalink', 'it describes no file');
  // Declare the namespace only if it is used: most documents are plain RFC 5854.
  const expiring = files.some((file) => file.replicas.some((r) => r.expires !== undefined));
  const own: Attributes = { xmlns: METALINK_4, 'xmlns:m': expiring ? MILLRACE : undefined };
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    openTag('metalink', own, description.attributes),
    ...textElement('generator', generator),
    ...textElement('origin', origin?.url, { dynamic: origin?.dynamic ? 'true' : undefined }),
    ...textElement('published', published),
    ...textElement('updated', updated),
    ...files.flatMap(fileElement),
    ...extra.map((element) => `  ${formatElement(element)}`),
    '</metalink>',
  ];
  return `${lines.join('\n')}\n`;
}

function fileElement(file: FileDescription): string[] {
  const fault = faultOfFileName(file.name);
  if (fault !== undefined) throw new MillraceError('bad-metalink', fault);
  if (file.replicas.length + file.metaurls.length === 0) {
    throw new MillraceError('bad-metalink', 'a file without a URL cannot be described');
  }
  const { publisher } = file;
  const inside = [
    ...textElement('identity', file.identity),
    ...textElement('version', file.version),
    ...textElement('description', file.description),
    ...textElement('copyright', file.copyright),
    ...textElement('logo', file.logo),
    ...(publisher === undefined
      ? []
      : textElement('publisher', '', { name: publisher.name, url: publisher.url })),
    ...file.languages.flatMap((language) => textElement('language', language)),
    ...file.os.flatMap((os) => textElement('os', os)),
    ...textElement('size', file.size?.toString()),
    ...file.digests.flatMap(({ algorithm, hex }) =>
      textElement('hash', hex, { type: formatAlgorithm(algorithm) }),
    ),
    ...file.pieces.flatMap(({ algorithm, pieceBytes, hexes }) => [
      `  ${openTag('pieces', { length: `${pieceBytes}`, type: formatAlgorithm(algorithm) })}`,
      ...hexes.flatMap((hex) => textElement('hash', hex)).map((line) => `  ${line}`),
      '  </pieces>',
    ]),
    ...file.signatures.flatMap(({ mediaType, text }) =>
      textElement('signature', text, { mediatype: mediaType }),
    ),
    ...file.replicas.flatMap(replicaElement),
    ...file.metaurls.flatMap(({ url, priority, mediaType, name, attributes }) =>
      textElement('metaurl', url, { mediatype: mediaType, ...ranked(priority), name }, attributes),
    ),
    ...file.extra.map((element) => `  ${formatElement(element)}`),
  ];
  const begin = openTag('file', { name: file.name }, file.attributes);
  return [begin, ...inside, '</file>'].map((line) => `  ${line}`);
}

function replicaElement({ url, priority, location, expires, attributes }: Replica): string[] {
  const own: Attributes = {
    location,
    ...ranked(priority),
    'm:expires': timeText(expires),
  };
  return textElement('url', url, own, attributes);
}

/** Formats a time as RFC 3339 does; undefined before 1970, from year 10000 on, and for NaN. */
function timeText(time: Millis | undefined): string | undefined {
  if (time === undefined || !(time >= 0 && time < YEAR_10000)) return undefined;
  return new Date(time).toISOString();
}

function ranked(priority: number): Attributes {
  return { priority: priority === LAST_PRIORITY ? undefined : `${priority}` };
}

/** Formats an element with text as one line; no line if the text is undefined. */
function textElement(
  name: string,
  text: string | undefined,
  own: Attributes = {},
  others?: readonly XmlAttribute[],
): string[] {
  if (text === undefined) return [];
  const begin = openTag(name, own, others);
  if (text === '') return [`  ${begin.slice(0, -1)}/>`];
  return [`  ${begin}${escapeText(text)}</${name}>`];
}

/** Formats an element of any namespace with its content unchanged: no space is added. */
function formatElement(element: XmlElement): string {
  const name = checkedName(element.local);
  // Each element declares its own namespace, so it has the same meaning inside any other.
  const begin = openTag(name, { xmlns: element.uri }, element.attributes);
  const content = element.content.map((part) =>
    typeof part === 'string' ? escapeText(part) : formatElement(part),
  );
  return content.length === 0 ? `${begin.slice(0, -1)}/>` : `${begin}${content.join('')}</${name}>`;
}

function openTag(name: string, own: Attributes, others: readonly XmlAttribute[] = []): string {
  let tag = `<${name}`;
  for (const [key, value] of Object.entries(own)) {
    if (value !== undefined) tag += ` ${key}="${escapeAttribute(value)}"`;
  }
  others.forEach(({ uri, local, value }, i) => {
    const key = checkedName(local);
    const prefix = uri === XML_NAMESPACE ? 'xml' : `a${i}`;
    if (uri !== '' && prefix !== 'xml') tag += ` xmlns:${prefix}="${escapeAttribute(uri)}"`;
    tag += ` ${uri === '' ? key : `${prefix}:${key}`}="${escapeAttribute(value)}"`;
  });
  return `${tag}>`;
}

function checkedName(local: string): string {
  if (NAME.test(local)) return local;
  throw new MillraceError('bad-metalink', 'an element or attribute has a name that cannot be one');
}

function escapeText(text: string): string {
  return (
    possible(text)
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      // Readers turn these characters into line feeds unless they are escaped (XML 1.0, 2.11).
      .replace(/[\r\x85\u2028]/g, reference)
  );
}

function escapeAttribute(text: string): string {
  return escapeText(text)
    .replaceAll('"', '&quot;')
    .replace(/[\t\n]/g, reference);
}

function reference(char: string): string {
  return `&#${char.charCodeAt(0)};`;
}

/** Replaces the characters that XML cannot represent. */
function possible(text: string): string {
  return text.toWellFormed().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd');
}
