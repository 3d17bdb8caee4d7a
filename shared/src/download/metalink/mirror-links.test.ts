import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyUrl } from '../../../testing/draws/any-text.ts';
import { parseMirrorLinks } from './mirror-links.ts';

const URL_ASKED = 'https://www.example.com/pub/f.iso';
const parse = (...link: string[]) => parseMirrorLinks({ link }, URL_ASKED);
const urls = (...link: string[]) => parse(...link).mirrors.map(({ url }) => url);

describe('Metalink/HTTP', () => {
  test('reads an answer of a mirror redirector', () => {
    const links = parse(
      '<http://www.example.com/pub/f.iso.meta4>; rel=describedby; type="application/metalink4+xml"',
      '<http://www.example.com/pub/f.iso.torrent>; rel=describedby; type="application/x-bittorrent"',
      '<https://mirror-b.example.de/f.iso>; rel=duplicate; pri=2; geo=DE; pref',
      '<https://mirror-a.example.uk/f.iso>; rel=duplicate; pri=1; geo=gb; depth=1',
      '<f.iso.asc>; rel=describedby; type="application/pgp-signature"',
      '</pub/f.iso.metalink>; rel=describedby; type=application/metalink+xml',
    );
    expect(links).toEqual({
      // A mirror that shares entity tags comes first, because it needs no proof by overlaps.
      mirrors: [
        { url: 'https://mirror-b.example.de/f.iso', priority: 2, location: 'de', preferred: true },
        {
          url: 'https://mirror-a.example.uk/f.iso',
          priority: 1,
          location: 'gb',
          preferred: false,
          depth: 1,
        },
      ],
      metalinks: [
        'http://www.example.com/pub/f.iso.meta4',
        'https://www.example.com/pub/f.iso.metalink',
      ],
    });
  });

  test('mirrors without a priority are last, and equal ones stay in their order', () => {
    expect(
      urls(
        '<http://a/>; rel=duplicate, <http://b/>; rel=duplicate; pri=7',
        '<http://c/>; rel=duplicate; pri=7, <http://d/>; rel=duplicate; pri=x',
        '<http://e/>; rel=duplicate; pri=0, <http://f/>; rel=duplicate; pri=999999',
      ),
    ).toEqual(['http://b/', 'http://c/', 'http://a/', 'http://d/', 'http://e/', 'http://f/']);
  });

  test.each([
    ['<../f>', ['https://www.example.com/f']],
    ['<//m.example/f#part>', ['https://m.example/f']],
    ['<http://a/f>; anchor="/other"', []],
    ['<http://a/f>; anchor="f.iso"', ['http://a/f']],
    ['<http://a/f>; anchor="http://["', []],
    ['<f.iso>', []],
    ['<>', []],
    ['<ftp://a/f>', []],
    ['<javascript:alert(1)>', []],
    ['<file:///etc/passwd>', []],
    ['<http://user:secret@a/f>', []],
    ['<http://[>', []],
    [`<http://a/${'x'.repeat(8192)}>`, []],
  ])('%s', (link, expected) => {
    expect(urls(`${link}; rel=duplicate`)).toEqual(expected);
  });

  test('links with other relations are not mirrors', () => {
    expect(parse('<http://a/>; rel=next, <http://b/>, <http://c/>; rel=describedby')).toEqual({
      mirrors: [],
      metalinks: [],
    });
    expect(urls('<http://a/>; rel="next duplicate"')).toEqual(['http://a/']);
    expect(parseMirrorLinks({}, URL_ASKED)).toEqual({ mirrors: [], metalinks: [] });
  });

  test('each mirror counts once, and their number is limited', () => {
    expect(urls('<http://a/>; rel=duplicate; pri=1, <http://A>; rel=duplicate')).toEqual([
      'http://a/',
    ]);
    const many = Array.from({ length: 200 }, (_, i) => `<http://m${i}/>; rel=duplicate`);
    expect(urls(...many)).toHaveLength(64);
    const described = many.map((link) =>
      link.replace('duplicate', 'describedby; type=application/metalink4+xml'),
    );
    expect(parse(...described).metalinks).toHaveLength(8);
  });

  test('any answer gives only URLs that can be fetched', () => {
    const piece = fc.oneof(
      fc.constantFrom('<', '>', ';', ',', '"', 'rel=duplicate', 'http://', 'a', '/', ' ', ':', '@'),
      anyUrl().map((url) => `<${url}>; rel=duplicate`),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        for (const { url, priority } of parse(pieces.join('')).mirrors) {
          expect(new URL(url).href).toBe(url);
          expect(url).toMatch(/^https?:\/\/[^/]/);
          expect(priority).toBeGreaterThanOrEqual(1);
        }
      }),
    );
  });
});
