import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { checkInfoHash, parseMagnet } from './magnet.ts';
import { SEVERAL_HYBRID, SINGLE_V1, SINGLE_V2 } from './testing/torrents.ts';
import { parseTorrent } from './torrent.ts';

const HEX = 'a9993e364706816aba3e25717850c26c9cd0d89d';
const BASE32 = 'VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5';
const URL_OF = encodeURIComponent;

describe('parseMagnet', () => {
  test('finds the torrent, web seeds, and the file', () => {
    const magnet = parseMagnet(
      `magnet:?xt=urn:btih:${HEX.toUpperCase()}&dn=a+b%2F..%2Fc.iso&xl=12` +
        `&tr=udp%3A%2F%2Ft.example&ws=${URL_OF('https://w.example/c.iso')}&ws=ftp://f/` +
        `&xs=${URL_OF('https://x.example/c.torrent?k=1')}&as=${URL_OF('http://y.example/c.iso')}`,
    );
    expect(magnet.infoHashes).toEqual({ v1: HEX });
    expect(magnet.torrents).toEqual(['https://x.example/c.torrent?k=1']);
    expect(magnet.seeds).toEqual(['https://w.example/c.iso']);
    expect(magnet.file).toMatchObject({ name: 'c.iso', size: 12 });
    expect(magnet.file.replicas.map(({ url }) => url)).toEqual([
      'https://w.example/c.iso',
      'http://y.example/c.iso',
    ]);
  });

  test('reads infohashes in base32, and those of version 2', () => {
    const v2 = 'b'.repeat(64);
    const magnet = parseMagnet(`MAGNET:?xt.1=urn:btih:${BASE32}&xt.2=urn:btmh:1220${v2}`);
    expect(magnet.infoHashes).toEqual({ v1: HEX, v2 });
  });

  test('takes digests of the file itself', () => {
    const { file } = parseMagnet(`magnet:?xt=urn:sha1:${BASE32}&as=http://a.example/x`);
    expect(file.digests).toEqual([{ algorithm: 'sha1', hex: HEX }]);
  });

  test('a link of a network without web servers has no sources', () => {
    const magnet = parseMagnet(`magnet:?xt=urn:btih:${HEX}&dn=x`);
    expect(magnet.file.replicas).toEqual([]);
    expect(magnet.torrents).toEqual([]);
  });

  test.each([
    ['http://a.example/', /begin with magnet/],
    ['magnet:?xt=urn:btih:12', /infohash is wrong/],
    ['magnet:?xt=urn:btmh:1114ab', /infohash is wrong/],
    [`magnet:?xt=urn:btih:${HEX}&xt=urn:btih:${'0'.repeat(40)}`, /two torrents/],
    [`magnet:?dn=${'x'.repeat(100_000)}`, /characters/],
  ])('%s is refused', (link, why) => {
    expect(() => parseMagnet(link)).toThrow(
      expect.objectContaining({ code: 'bad-metalink', detail: expect.stringMatching(why) }),
    );
  });
});

test('a torrent must have all infohashes that the link names', () => {
  const read = (document: Uint8Array) =>
    parseTorrent(document, (algorithm, bytes) => createHash(algorithm).update(bytes).digest());
  const { document, v1, v2 } = SEVERAL_HYBRID;
  const both = parseMagnet(`magnet:?xt=urn:btih:${v1}&xt=urn:btmh:1220${v2}`);
  expect(() => checkInfoHash(both, read(document))).not.toThrow();
  const mismatch = expect.objectContaining({ code: 'checksum-mismatch' });
  expect(() => checkInfoHash(both, read(SINGLE_V1.document))).toThrow(mismatch);
  expect(() => checkInfoHash(both, read(SINGLE_V2.document))).toThrow(/has none/);
});
