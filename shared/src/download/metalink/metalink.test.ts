import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyText } from '../../../testing/draws/any-text.ts';
import { isMillraceError } from '../../base/errors.ts';
import { parseMetalink } from './metalink.ts';

const hex = (algorithm: string, text: string) => createHash(algorithm).update(text).digest('hex');
const SHA256 = hex('sha256', 'file');
const MD5 = hex('md5', 'file');

/** Makes a document with one file that has the given elements. */
const withFile = (inside: string, name = 'f.iso') =>
  `<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <file name="${name}">
    ${inside}
  </file>
</metalink>`;
const URL_ELEMENT = '<url>https://example.com/f.iso</url>';
const only = (inside: string) => parseMetalink(withFile(`${URL_ELEMENT}${inside}`)).files[0];

function refusal(document: string, base?: string): string {
  try {
    parseMetalink(document, base);
  } catch (error) {
    if (isMillraceError(error, 'bad-metalink')) return error.detail;
    throw error;
  }
  throw new Error('the document was accepted');
}

describe('reading Metalink 4', () => {
  test('reads a document as mirror redirectors write it', () => {
    const pieces = ['a', 'b', 'c'].map((text) => hex('sha1', text));
    const description = parseMetalink(`<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <generator>Redirector/2.19</generator>
  <origin dynamic="true">https://download.example.org/iso/distro-15.iso.meta4</origin>
  <published>2026-05-01T12:15:02Z</published>
  <updated>2026-05-02T00:00:00+02:00</updated>
  <file name="distro-15.iso">
    <publisher name="The Distribution" url="https://www.example.org/"/>
    <identity>Distribution</identity>
    <version>15.6</version>
    <description>Installation &amp; rescue</description>
    <copyright>GPL</copyright>
    <logo>https://www.example.org/logo.png</logo>
    <language>en</language>
    <language>de-AT</language>
    <os>Linux-x86_64</os>
    <size>700000</size>
    <hash type="md5">${MD5.toUpperCase()}</hash>
    <hash type="sha-256">
      ${SHA256}
    </hash>
    <hash type="ripemd-160">00</hash>
    <pieces length="262144" type="sha-1">
      ${pieces.map((piece) => `<hash>${piece}</hash>`).join('\n      ')}
    </pieces>
    <signature mediatype="application/pgp-signature">
-----BEGIN PGP SIGNATURE-----
abc=
-----END PGP SIGNATURE-----
    </signature>
    <!-- Found 2 mirrors -->
    <url location="DE" priority="1">https://ftp.example.de/distro-15.iso</url>
    <url location="at" priority="20">ftp://ftp.example.at/distro-15.iso</url>
    <url>https://download.example.org/distro-15.iso</url>
    <metaurl mediatype="torrent" priority="3">https://example.org/distro-15.iso.torrent</metaurl>
  </file>
</metalink>`);
    expect(description).toEqual({
      generator: 'Redirector/2.19',
      origin: { url: 'https://download.example.org/iso/distro-15.iso.meta4', dynamic: true },
      published: '2026-05-01T12:15:02Z',
      updated: '2026-05-02T00:00:00+02:00',
      extra: [],
      files: [
        {
          name: 'distro-15.iso',
          publisher: { name: 'The Distribution', url: 'https://www.example.org/' },
          identity: 'Distribution',
          version: '15.6',
          description: 'Installation & rescue',
          copyright: 'GPL',
          logo: 'https://www.example.org/logo.png',
          languages: ['en', 'de-AT'],
          os: ['Linux-x86_64'],
          size: 700_000,
          digests: [
            { algorithm: 'md5', hex: MD5 },
            { algorithm: 'sha256', hex: SHA256 },
          ],
          pieces: [{ algorithm: 'sha1', pieceBytes: 262_144, hexes: pieces }],
          signatures: [
            {
              mediaType: 'application/pgp-signature',
              text: '-----BEGIN PGP SIGNATURE-----\nabc=\n-----END PGP SIGNATURE-----',
            },
          ],
          replicas: [
            { url: 'https://ftp.example.de/distro-15.iso', priority: 1, location: 'de' },
            { url: 'ftp://ftp.example.at/distro-15.iso', priority: 20, location: 'at' },
            { url: 'https://download.example.org/distro-15.iso', priority: 999_999 },
          ],
          metaurls: [
            {
              url: 'https://example.org/distro-15.iso.torrent',
              priority: 3,
              mediaType: 'torrent',
            },
          ],
          extra: [
            {
              uri: 'urn:ietf:params:xml:ns:metalink',
              local: 'hash',
              attributes: [{ uri: '', local: 'type', value: 'ripemd-160' }],
              content: ['00'],
            },
          ],
        },
      ],
    });
  });

  test('reads several files, in folders, with a prefix for the namespace', () => {
    const { files } = parseMetalink(`<m:metalink xmlns:m="urn:ietf:params:xml:ns:metalink">
      <m:file name="a/one"><m:url>http://x/1</m:url></m:file>
      <m:file name="a/two"><m:metaurl mediatype="torrent" name="d/two">http://x/2</m:metaurl></m:file>
    </m:metalink>`);
    expect(files.map((file) => file.name)).toEqual(['a/one', 'a/two']);
    expect(files[1]?.metaurls[0]?.name).toBe('d/two');
  });

  test('relative URLs are relative to xml:base, and xml:base to the URL of the document', () => {
    const document = `<metalink xmlns="urn:ietf:params:xml:ns:metalink" xml:base="iso/">
      <file name="a" xml:base="15/"><url>a</url><url xml:base="/pub/">a</url><url>//y/a</url></file>
    </metalink>`;
    const { files } = parseMetalink(document, 'https://example.com/x.meta4');
    expect(files[0]?.replicas.map(({ url }) => url)).toEqual([
      'https://example.com/iso/15/a',
      'https://example.com/pub/a',
      'https://y/a',
    ]);
    expect(files[0]?.attributes).toBeUndefined();
    expect(refusal(document)).toBe('line 1, column 1, <metalink>: xml:base iso/ is not a URL');
  });

  test('characters beyond ASCII in a URL are encoded for HTTP', () => {
    const { files } = parseMetalink(withFile('<url>https://bücher.example/ü b</url>'));
    expect(files[0]?.replicas[0]?.url).toBe('https://xn--bcher-kva.example/%C3%BC%20b');
  });

  test('text, CDATA and character references are one text', () => {
    expect(only('<version> 1.<![CDATA[2&]]>&#51;<!-- x -->&lt; </version>')?.version).toBe(
      '1.2&3<',
    );
  });

  test('unknown elements and attributes are kept', () => {
    const description = parseMetalink(`<metalink xmlns="urn:ietf:params:xml:ns:metalink"
        xmlns:x="urn:x" xml:lang="en" x:a="1">
      <file name="f" x:b="2" c="3">
        <url x:d="4" preference="5" priority="2">http://x/f</url>
        <x:thing y="1">one <b>two</b></x:thing>
        <version>1</version><version>2</version>
        <publisher url="http://x/"/>
      </file>
      <x:more/>
      <dynamic>true</dynamic>
    </metalink>`);
    const [file] = description.files;
    expect(description.attributes).toEqual([
      { uri: 'http://www.w3.org/XML/1998/namespace', local: 'lang', value: 'en' },
      { uri: 'urn:x', local: 'a', value: '1' },
    ]);
    expect(description.extra.map(({ uri, local }) => `${uri} ${local}`)).toEqual([
      'urn:x more',
      'urn:ietf:params:xml:ns:metalink dynamic',
    ]);
    expect(file?.attributes).toEqual([
      { uri: 'urn:x', local: 'b', value: '2' },
      { uri: '', local: 'c', value: '3' },
    ]);
    expect(file?.replicas[0]?.attributes?.map(({ local }) => local)).toEqual(['d', 'preference']);
    expect(file?.version).toBe('1');
    expect(file?.extra.map(({ local }) => local)).toEqual(['thing', 'version', 'publisher']);
    expect(file?.extra[0]).toEqual({
      uri: 'urn:x',
      local: 'thing',
      attributes: [{ uri: '', local: 'y', value: '1' }],
      content: [
        'one ',
        { uri: 'urn:ietf:params:xml:ns:metalink', local: 'b', attributes: [], content: ['two'] },
      ],
    });
  });

  test.each([
    ['<size>0</size><pieces type="md5" length="9"><hash>', '</hash></pieces>', 1],
    ['<size>9</size><pieces type="md5" length="9"><hash>', '</hash></pieces>', 1],
    [
      '<size>10</size><pieces type="md5" length="9"><hash>',
      `</hash><hash>${MD5}</hash></pieces>`,
      2,
    ],
    ['<pieces type="md5" length="9"><hash>', '</hash></pieces>', 1],
  ])('%s has its pieces', (before, after, pieces) => {
    expect(only(`${before}${MD5}${after}`)?.pieces[0]?.hexes).toHaveLength(pieces);
  });
});

describe('refusing faults, with their position', () => {
  const sum = `<hash type="md5">${MD5}</hash>`;

  test.each([
    ['<size>12x</size>', '<size>: the size 12x is not a number of bytes'],
    ['<size/>', '<size>: the size nothing is not a number of bytes'],
    ['<size>-1</size>', '<size>: the size -1 is not a number of bytes'],
    ['<size>1e9</size>', '<size>: the size 1e9 is not a number of bytes'],
    ['<size>9007199254740993</size>', '<size>: the size 9007199254740993 is not a number of bytes'],
    ['<size>1<b/></size>', '<b>: <size> can hold text only', 12],
    ['<hash>ab</hash>', '<hash>: it has no type'],
    ['<hash type="md5">abcd</hash>', '<hash>: abcd is not a digest of type md5'],
    ['<hash type="sha256"></hash>', '<hash>: nothing is not a digest of type sha256'],
    ['<pieces type="md5"><hash/></pieces>', '<pieces>: it has no length'],
    ['<pieces length="1"><hash/></pieces>', '<pieces>: it has no type'],
    ['<pieces type="md5" length="0"><hash/></pieces>', '<pieces>: pieces have at least one byte'],
    ['<pieces type="md5" length="8"/>', '<pieces>: there is no <hash> in it'],
    ['<url>file.iso</url>', '<url>: file.iso is not a complete URL'],
    ['<url/>', '<url>: nothing is not a complete URL'],
    ['<url>http://</url>', '<url>: http:// is not a complete URL'],
    [
      `<url>http://x/${'a'.repeat(8192)}</url>`,
      /^<url>: http:\/\/x\/a{51}\.\.\. is not a complete/,
    ],
    ['<url priority="0">http://x/</url>', /^<url>: the priority 0 is not a number from 1/],
    ['<url priority="1000000">http://x/</url>', /^<url>: the priority 1000000 is not/],
    ['<url priority="">http://x/</url>', /^<url>: the priority nothing is not/],
    ['<metaurl>http://x/</metaurl>', '<metaurl>: it has no mediatype'],
    [
      '<metaurl mediatype="torrent" name="../x">http://x/</metaurl>',
      '<metaurl>: the name ../x has an empty part, "." or ".."',
    ],
    ['<signature>x</signature>', '<signature>: it has no mediatype'],
    [`<version>${'a'.repeat(70_000)}</version>`, '<version>: more than 65536 characters'],
  ])('%s', (inside, why, column = 5) => {
    const detail = refusal(withFile(`${inside}${URL_ELEMENT}`));
    const place = `line 3, column ${column}, `;
    expect(detail.slice(0, place.length)).toBe(place);
    const rest = detail.slice(place.length);
    if (typeof why === 'string') expect(rest).toBe(why);
    else expect(rest).toMatch(why);
  });

  test.each([
    [`${sum}\n    <hash type="MD5">${hex('md5', 'other')}</hash>`, 'another digest of that type'],
    ['<size>1</size>\n    <size>2</size>', 'it has another size too'],
  ])('two elements that contradict each other: %s', (inside, why) => {
    expect(refusal(withFile(`${inside}${URL_ELEMENT}`))).toMatch(
      new RegExp(`^line 4, column 5, <\\w+>: ${why}`),
    );
    // Repeating the same statement is not a contradiction.
    expect(only(sum + sum)?.digests).toHaveLength(1);
    expect(only('<size>1</size><size>1</size>')?.size).toBe(1);
  });

  test('a wrong number of pieces', () => {
    const inside = `<pieces type="md5" length="4"><hash>${MD5}</hash></pieces><size>9</size>`;
    expect(refusal(withFile(inside + URL_ELEMENT))).toBe(
      'line 2, column 3, <file>: a file of 9 bytes has 3 pieces of 4, but there are digests of 1',
    );
  });

  test.each(['../f', '/f', 'a/../f', '', 'a\\f', 'C:/f', './f'])('the file name %j', (name) => {
    expect(refusal(withFile(URL_ELEMENT, name))).toMatch(/^line 2, column 3, <file>: the /);
  });

  test('files that would be saved to the same path', () => {
    const document = (a: string, b: string) => `<metalink xmlns="urn:ietf:params:xml:ns:metalink">
      <file name="${a}">${URL_ELEMENT}</file><file name="${b}">${URL_ELEMENT}</file></metalink>`;
    expect(refusal(document('a', 'a'))).toContain('two files have the same name');
    expect(refusal(document('a?', 'a*'))).toContain('two files have the same name');
    expect(parseMetalink(document('a', 'b')).files).toHaveLength(2);
  });

  test.each([
    ['', 'line 1, column 1: document must contain a root element'],
    ['no XML', /^line 1, column \d+: /],
    ['<html/>', 'line 1, column 1, <html>: this is not a Metalink document'],
    ['<metalink/>', 'line 1, column 1, <metalink>: this is not a Metalink document'],
    ['<metalink xmlns="urn:other"/>', /this is not a Metalink document$/],
    ['<metalink xmlns="urn:ietf:params:xml:ns:metalink"/>', /<metalink>: it describes no file$/],
    [withFile(''), 'line 2, column 3, <file>: there is no <url> in it'],
    ['<metalink>\r\n<file>\r\n</metalink>', /^line 3, column \d+, <metalink>: unexpected close/],
    ['<metalink', /^line 1, column \d+: document must contain/],
    ['<a>&nbsp;</a>', /^line 1, column \d+, <a>: undefined entity/],
    ['<a x="1" x="2"/>', /^line 1, column \d+: duplicate attribute/],
    ['<a><b:c/></a>', /unbound namespace prefix/],
    ['<a/><b/>', /^line 1, column \d+/],
  ])('the document %j', (document, why) => {
    if (typeof why === 'string') expect(refusal(document)).toBe(why);
    else expect(refusal(document)).toMatch(why);
  });
});

describe('hostile Metalink documents', () => {
  test('a name from the document cannot break the line of the message', () => {
    const detail = refusal(withFile(`<size>1\n2\u202e${'x'.repeat(500)}</size>`));
    expect(detail).not.toMatch(/[\n\u202e]/);
    expect(detail.length).toBeLessThan(200);
  });

  test('attributes with the names of object members are attributes', () => {
    const { files } = parseMetalink(withFile(URL_ELEMENT, 'f" __proto__="x" constructor="y'));
    expect(files[0]?.attributes?.map(({ local }) => local)).toEqual(['__proto__', 'constructor']);
  });

  test('a document with any changes is either read or refused', () => {
    const whole = withFile(
      `<size>9</size><hash type="md5">${MD5}</hash>
      <pieces type="md5" length="9"><hash>${MD5}</hash></pieces>${URL_ELEMENT}<x:y xmlns:x="u"/>`,
    );
    const change = fc.record({
      at: fc.nat(whole.length),
      cut: fc.nat(20),
      put: fc.oneof(
        anyText({ maxLength: 5 }),
        fc.constantFrom('<', '>', '&', '"', '</file>', '<![CDATA[', '<!--', '\0', '\ud800'),
      ),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        let document = whole;
        for (const { at, cut, put } of changes) {
          document = document.slice(0, at) + put + document.slice(at + cut);
        }
        try {
          const { files } = parseMetalink(document);
          for (const { name } of files) expect(name).not.toMatch(/^\/|(^|\/)\.\.(\/|$)/);
        } catch (error) {
          if (!isMillraceError(error, 'bad-metalink')) throw error;
          expect(error.detail).toMatch(/^line \d+, column \d+/);
        }
      }),
      { numRuns: 500 },
    );
  });
});

test('a document with a lone surrogate is refused, because it could not be written again', () => {
  const document =
    '<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a"><url \ud800="">http://a/</url></file></metalink>';
  expect(() => parseMetalink(document)).toThrow('lone surrogate');
});
