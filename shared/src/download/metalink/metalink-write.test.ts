import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyText, anyUrl } from '../../../testing/draws/any-text.ts';
import { DIGEST_ALGORITHMS, DIGEST_DIGITS } from '../../base/digest.ts';
import { faultOfFileName, safePath } from '../request/file-path.ts';
import { type Description, emptyFile, type FileDescription } from './description.ts';
import { parseMetalink } from './metalink.ts';
import { formatMetalink } from './metalink-write.ts';
import type { XmlAttribute, XmlElement } from './xml-tree.ts';

const replica = { url: 'https://example.com/f', priority: 999_999 };
const file: FileDescription = { ...emptyFile('f'), replicas: [replica] };
const one: Description = { files: [file], extra: [] };

describe('writing Metalink 4', () => {
  test('gives a document as RFC 5854 defines it', () => {
    const hexes = ['0'.repeat(32), '1'.repeat(32)];
    const written = formatMetalink({
      generator: 'Millrace/1',
      origin: { url: 'https://example.com/f.meta4', dynamic: false },
      published: '2026-05-01T12:00:00Z',
      files: [
        {
          ...emptyFile('folder/f & "g"'),
          publisher: { name: 'P', url: 'https://example.com/' },
          languages: ['en'],
          size: 9,
          digests: [{ algorithm: 'sha256', hex: 'a'.repeat(64) }],
          pieces: [{ algorithm: 'md5', pieceBytes: 5, hexes }],
          signatures: [{ mediaType: 'application/pgp-signature', text: 'a\nb' }],
          replicas: [
            { url: 'https://a/f?x=1&y=2', priority: 1, location: 'de' },
            { url: 'https://b/f', priority: 999_999 },
          ],
          metaurls: [{ url: 'https://a/t', priority: 2, mediaType: 'torrent' }],
        },
      ],
      extra: [],
    });
    expect(written).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <generator>Millrace/1</generator>
  <origin>https://example.com/f.meta4</origin>
  <published>2026-05-01T12:00:00Z</published>
  <file name="folder/f &amp; &quot;g&quot;">
    <publisher name="P" url="https://example.com/"/>
    <language>en</language>
    <size>9</size>
    <hash type="sha-256">${'a'.repeat(64)}</hash>
    <pieces length="5" type="md5">
      <hash>${hexes[0]}</hash>
      <hash>${hexes[1]}</hash>
    </pieces>
    <signature mediatype="application/pgp-signature">a
b</signature>
    <url location="de" priority="1">https://a/f?x=1&amp;y=2</url>
    <url>https://b/f</url>
    <metaurl mediatype="torrent" priority="2">https://a/t</metaurl>
  </file>
</metalink>
`);
  });

  test('the expiry of a URL is written in a namespace that other programs ignore', () => {
    const expires = Date.UTC(2026, 4, 1, 12);
    const files = [{ ...file, replicas: [{ ...replica, expires }] }];
    const written = formatMetalink({ ...one, files });
    expect(written).toContain('xmlns:m="urn:millrace:description"');
    expect(written).toContain('<url m:expires="2026-05-01T12:00:00.000Z">');
    expect(parseMetalink(written).files).toEqual(files);
    expect(() => parseMetalink(written.replace('2026-05-01T', 'tomorrow '))).toThrow(
      /<url>: tomorrow\?12:00:00.000Z is not a time/,
    );
    for (const never of [Number.POSITIVE_INFINITY, Number.NaN, -1, 1e15]) {
      const endless = formatMetalink({
        ...one,
        files: [{ ...file, replicas: [{ ...replica, expires: never }] }],
      });
      expect(parseMetalink(endless).files).toEqual([file]);
    }
  });

  test('a description that cannot be written is refused', () => {
    const refused = expect.objectContaining({ code: 'bad-metalink' });
    expect(() => formatMetalink({ files: [], extra: [] })).toThrow(refused);
    expect(() => formatMetalink({ files: [emptyFile('f')], extra: [] })).toThrow(refused);
    expect(() => formatMetalink({ ...one, files: [{ ...file, name: '../f' }] })).toThrow(refused);
    for (const local of ['', 'a b', 'x:y', '1', '<', 'a><b', '-a']) {
      const element = { uri: '', local, attributes: [], content: [] };
      expect(() => formatMetalink({ ...one, extra: [element] })).toThrow(refused);
      const attributes = [{ uri: 'u', local, value: '' }];
      expect(() => formatMetalink({ ...one, attributes })).toThrow(refused);
    }
  });

  test('characters that XML cannot represent do not break the document', () => {
    const files = [{ ...file, description: 'a\0b\u001bc\ud800d\uffffe' }];
    expect(parseMetalink(formatMetalink({ ...one, files })).files[0]?.description).toBe(
      'a\ufffdb\ufffdc\ufffdd\ufffde',
    );
  });
});

describe('writing and reading again', () => {
  /** Text that XML can carry, without the surrounding space that reading trims. */
  const text = fc
    .oneof(
      anyText(),
      fc.constantFrom('<&>"\'', ']]>', 'a\r\nb\tc\rd', '\u2028\x85x', '😀', '&amp;', '<!--', 'ü'),
    )
    .map((s) =>
      s
        .toWellFormed()
        .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '')
        .trim(),
    );
  const local = fc.constantFrom('a', 'B-c', 'ü.1', '__proto__', 'xmlnsx', 'xml_lang');
  const uri = fc.constantFrom('', 'urn:x', 'urn:y"<&', 'urn:ietf:params:xml:ns:metalink');
  const attributes: fc.Arbitrary<XmlAttribute[] | undefined> = fc.option(
    fc.uniqueArray(fc.record({ uri, local, value: text }), {
      minLength: 1,
      maxLength: 4,
      selector: (a) => `${a.uri} ${a.local}`,
    }),
    { nil: undefined },
  );
  const element: fc.Arbitrary<XmlElement> = fc.letrec<{ element: XmlElement }>((tie) => ({
    element: fc.record({
      uri: fc.constantFrom('', 'urn:x', 'urn:z'),
      local,
      attributes: attributes.map((list) => list ?? []),
      content: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constant([]),
        text.filter((s) => s !== '').map((s) => [s]),
        fc.tuple(tie('element'), fc.constant(' between '), tie('element')),
      ),
    }),
  })).element;
  const url = anyUrl().map((u) => new URL(u).href);
  const priority = fc.integer({ min: 1, max: 999_999 });
  const hexOf = (algorithm: keyof typeof DIGEST_DIGITS) =>
    fc
      .array(fc.constantFrom(...'0123456789abcdef'), {
        minLength: DIGEST_DIGITS[algorithm],
        maxLength: DIGEST_DIGITS[algorithm],
      })
      .map((digits) => digits.join(''));
  const digest = fc
    .constantFrom(...DIGEST_ALGORITHMS)
    .chain((algorithm) => fc.record({ algorithm: fc.constant(algorithm), hex: hexOf(algorithm) }));
  const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const pieces = (size: number) =>
    fc.integer({ min: Math.max(1, Math.ceil(size / 5)), max: size + 10 }).chain((pieceBytes) => {
      const count = Math.max(1, Math.ceil(size / pieceBytes));
      const list = fc.array(hexOf('sha1'), { minLength: count, maxLength: count });
      return fc.record({
        algorithm: fc.constant('sha1' as const),
        pieceBytes: fc.constant(pieceBytes),
        hexes: list,
      });
    });
  const aFile: fc.Arbitrary<FileDescription> = fc.nat(1e9).chain((size) =>
    fc.record({
      name: text.filter((name) => faultOfFileName(name) === undefined),
      size: fc.constantFrom(size, undefined),
      digests: fc.uniqueArray(digest, { selector: (d) => d.algorithm, maxLength: 3 }),
      pieces: fc.array(pieces(size), { maxLength: 2 }),
      replicas: fc.array(
        fc.record({
          url,
          priority,
          location: optional(fc.constantFrom('de', 'us')),
          expires: optional(fc.integer({ min: 0, max: 4e12 })),
          attributes,
        }),
        { minLength: 1, maxLength: 3 },
      ),
      metaurls: fc.array(
        fc.record({
          url,
          priority,
          mediaType: text,
          name: optional(fc.constant('a/b')),
          attributes,
        }),
        { maxLength: 2 },
      ),
      identity: optional(text),
      version: optional(text),
      description: optional(text),
      copyright: optional(text),
      logo: optional(url),
      publisher: optional(fc.record({ name: text, url: optional(url) })),
      languages: fc.array(text, { maxLength: 2 }),
      os: fc.array(text, { maxLength: 2 }),
      signatures: fc.array(fc.record({ mediaType: text, text }), { maxLength: 2 }),
      extra: fc.array(element, { maxLength: 2 }),
      attributes,
    }),
  );
  const description: fc.Arbitrary<Description> = fc.record({
    files: fc.uniqueArray(aFile, {
      minLength: 1,
      maxLength: 3,
      selector: (f) => safePath(f.name),
    }),
    generator: optional(text),
    origin: optional(fc.record({ url, dynamic: fc.boolean() })),
    published: optional(text),
    updated: optional(text),
    extra: fc.array(element, { maxLength: 2 }),
    attributes,
  });

  test('gives the same description, whatever its contents', () => {
    fc.assert(
      fc.property(description, (written) => {
        expect(parseMetalink(formatMetalink(written))).toEqual(written);
      }),
      { numRuns: 300 },
    );
  });

  test('gives the same document, from the second time on', () => {
    const document = `<m:metalink xmlns:m="urn:ietf:params:xml:ns:metalink" xmlns:x="urn:x" xml:lang="en">
      <m:file name="f" x:y="1"><x:t> mixed <x:u/> content <m:v x:w="&#10;"/></x:t>
      <m:hash type="tiger">00</m:hash><m:url>https://example.com/f</m:url></m:file>
    </m:metalink>`;
    const description = parseMetalink(document);
    const written = formatMetalink(description);
    expect(parseMetalink(written)).toEqual(description);
    expect(formatMetalink(parseMetalink(written))).toBe(written);
    expect(written).toContain('<hash xmlns="urn:ietf:params:xml:ns:metalink" type="tiger">');
    expect(written).toContain('xml:lang="en"');
  });
});
