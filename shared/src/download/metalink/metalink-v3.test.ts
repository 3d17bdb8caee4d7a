import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { isMillraceError } from '../../base/errors.ts';
import { parseMetalink } from './metalink.ts';

const hex = (algorithm: string, text: string) => createHash(algorithm).update(text).digest('hex');
const [FIRST, SECOND] = [hex('sha1', 'first'), hex('sha1', 'second')];

const withFile = (inside: string) =>
  `<metalink version="3.0" xmlns="http://www.metalinker.org/">
<files><file name="f">
${inside}
</file></files>
</metalink>`;
const RESOURCES = '<resources><url type="http">http://example.com/f</url></resources>';

describe('reading Metalink 3', () => {
  test('reads a document as download pages serve it', () => {
    const description = parseMetalink(`<?xml version="1.0" encoding="utf-8"?>
<metalink version="3.0" xmlns="http://www.metalinker.org/" type="dynamic"
    origin="http://example.org/tool.metalink" pubdate="Fri, 01 May 2026 10:00:00 GMT"
    generator="Editor 1.2">
  <publisher><name>The Project</name><url>http://example.org/</url></publisher>
  <license><name>GPL</name></license>
  <identity>Tool</identity>
  <version>1.0</version>
  <files>
    <file name="tool-1.0.tar.gz">
      <size>300000</size>
      <version>1.0.1</version>
      <language>en-US</language>
      <os>Source</os>
      <verification>
        <hash type="md5">${hex('md5', 'tool')}</hash>
        <hash type="sha1">${hex('sha1', 'tool')}</hash>
        <hash type="tiger">abc</hash>
        <signature type="pgp" file="tool.sig">-----BEGIN-----</signature>
        <pieces length="262144" type="sha1">
          <hash piece="1">${SECOND}</hash>
          <hash piece="0">${FIRST}</hash>
        </pieces>
      </verification>
      <resources maxconnections="4">
        <url type="http" location="us" preference="100">http://us.example.org/tool-1.0.tar.gz</url>
        <url type="ftp" location="JP" preference="90">ftp://jp.example.org/tool-1.0.tar.gz</url>
        <url type="http" maxconnections="1">http://example.org/tool-1.0.tar.gz</url>
        <url type="bittorrent" preference="95">http://example.org/tool-1.0.tar.gz.torrent</url>
      </resources>
    </file>
  </files>
</metalink>`);
    expect(description).toEqual({
      generator: 'Editor 1.2',
      origin: { url: 'http://example.org/tool.metalink', dynamic: true },
      extra: [],
      files: [
        {
          name: 'tool-1.0.tar.gz',
          size: 300_000,
          identity: 'Tool',
          version: '1.0.1',
          publisher: { name: 'The Project', url: 'http://example.org/' },
          languages: ['en-US'],
          os: ['Source'],
          digests: [
            { algorithm: 'md5', hex: hex('md5', 'tool') },
            { algorithm: 'sha1', hex: hex('sha1', 'tool') },
          ],
          pieces: [{ algorithm: 'sha1', pieceBytes: 262_144, hexes: [FIRST, SECOND] }],
          signatures: [{ mediaType: 'application/pgp-signature', text: '-----BEGIN-----' }],
          replicas: [
            { url: 'http://us.example.org/tool-1.0.tar.gz', priority: 1, location: 'us' },
            { url: 'ftp://jp.example.org/tool-1.0.tar.gz', priority: 11, location: 'jp' },
            { url: 'http://example.org/tool-1.0.tar.gz', priority: 999_999 },
          ],
          metaurls: [
            {
              url: 'http://example.org/tool-1.0.tar.gz.torrent',
              priority: 6,
              mediaType: 'application/x-bittorrent',
            },
          ],
          extra: [],
        },
      ],
    });
  });

  test.each([
    ['<size>x</size>', /<size>: the size x is not a number of bytes/],
    ['<size>1</size><size>2</size>', /<file>: it has several sizes/],
    [
      '<verification><hash type="md5">x</hash></verification>',
      /^line 3, column 15, <hash>: x is not a digest/,
    ],
    [
      `<verification><pieces length="1" type="sha1"><hash piece="1">${FIRST}</hash></pieces></verification>`,
      /<hash>: the pieces are not numbered/,
    ],
    [
      `<verification><pieces length="1" type="sha1"><hash piece="0">${FIRST}</hash><hash piece="0">${FIRST}</hash></pieces></verification>`,
      /<hash>: the pieces are not numbered/,
    ],
    [
      '<resources><url preference="101">http://x/</url></resources>',
      /<url>: the preference is not a number from 0 to 100/,
    ],
  ])('%s is refused', (inside, why) => {
    let error: unknown;
    try {
      parseMetalink(withFile(inside + RESOURCES));
    } catch (caught) {
      error = caught;
    }
    expect(isMillraceError(error, 'bad-metalink') && error.detail).toMatch(why);
  });

  test('a file without a URL, and a document without a file, are refused', () => {
    expect(() => parseMetalink(withFile(''))).toThrow(/<file>: there is no <url> in it/);
    expect(() =>
      parseMetalink('<metalink version="3.0" xmlns="http://www.metalinker.org/"/>'),
    ).toThrow(/it describes no file/);
    expect(() => parseMetalink(withFile(RESOURCES).replace('"f"', '"../f"'))).toThrow(/name/);
  });
});
