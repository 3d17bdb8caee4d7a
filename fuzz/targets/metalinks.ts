/** Metalink documents, torrents, magnet links and lists of blocks, which anyone may publish. */

import { createHash } from 'node:crypto';
import { DIGEST_DIGITS } from '../../shared/src/base/digest.ts';
import { parseMetalink } from '../../shared/src/download/metalink/metalink.ts';
import { formatMetalink } from '../../shared/src/download/metalink/metalink-write.ts';
import { safePath } from '../../shared/src/download/request/file-path.ts';
import { parseMagnet } from '../../shared/src/download/torrent/magnet.ts';
import * as torrents from '../../shared/src/download/torrent/testing/torrents.ts';
import { parseTorrent } from '../../shared/src/download/torrent/torrent.ts';
import { BlockSearch } from '../../shared/src/reuse/block-search.ts';
import { makeZsync } from '../../shared/src/reuse/testing/make-zsync.ts';
import { parseZsync } from '../../shared/src/reuse/zsync-file.ts';
import { mutatedBytes, mutatedText } from '../mutate.ts';
import {
  fuzzTarget,
  hold,
  holdEqual,
  holdInside,
  readOrRefuse,
  type Verdict,
  weightOf,
} from '../target.ts';

const HASH = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const MEGABYTE = 2 ** 20;

const METALINKS = [
  `<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink" xmlns:m="urn:millrace:description">
  <generator>x</generator><published>2026-01-01T00:00:00Z</published>
  <file name="folder/example.iso"><identity>Example &amp; more</identity><size>100000</size>
    <hash type="sha-256">${HASH}</hash>
    <pieces length="65536" type="sha-256"><hash>${HASH}</hash><hash>${HASH}</hash></pieces>
    <url location="de" priority="1" m:expires="2030-01-01T00:00:00Z">ftp://a.example/e.iso</url>
    <url priority="2">https://b.example/e.iso</url>
    <metaurl mediatype="torrent" name="x">https://b.example/e.torrent</metaurl>
    <signature mediatype="application/pgp-signature">abc</signature>
    <other xmlns="urn:x" y="z"><![CDATA[text]]></other>
  </file>
</metalink>`,
  `<metalink version="3.0" type="dynamic" origin="http://a.example/e.metalink" xmlns="http://www.metalinker.org/">
  <publisher><name>P</name><url>http://p.example/</url></publisher><files>
  <file name="e.iso"><size>3</size><verification><hash type="md5">900150983cd24fb0d6963f7d28e17f72</hash>
    <pieces length="2" type="sha1"><hash piece="0">a9993e364706816aba3e25717850c26c9cd0d89d</hash><hash piece="1">a9993e364706816aba3e25717850c26c9cd0d89d</hash></pieces></verification>
    <resources><url type="http" location="us" preference="90">http://a.example/e.iso</url><url type="bittorrent">http://a.example/t</url></resources>
  </file></files></metalink>`,
];

function checkMetalink(document: string | Uint8Array): Verdict {
  const read = readOrRefuse(['bad-metalink'], () =>
    parseMetalink(document, 'http://base.example/'),
  );
  if (read === undefined) return 'refused';
  for (const file of read.files) {
    holdInside(safePath(file.name));
    for (const { url } of [...file.replicas, ...file.metaurls]) new URL(url);
    hold(file.size === undefined || Number.isSafeInteger(file.size), 'a size is a whole number');
    for (const { algorithm, hex } of file.digests) {
      hold(
        hex.length === DIGEST_DIGITS[algorithm] && /^[0-9a-f]+$/.test(hex),
        'a digest is well formed',
      );
    }
  }
  hold(weightOf(read) <= 64 * document.length + 20_000, 'memory is in proportion to the document');
  const written = formatMetalink(read);
  const again = parseMetalink(written);
  const rewritten = formatMetalink(again);
  // The same text is read as the same document.
  if (rewritten === written) return;
  holdEqual(parseMetalink(rewritten), again, 'a written document is read again');
}

const element = (content: string) =>
  `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a"><url>http://a/</url>${content}</file></metalink>`;

/** A file with blocks that equal each other, and its lists in two shapes. */
const BLOCKS = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i < 1024 ? 0 : i % 89)));
const SHA1 = 'a9993e364706816aba3e25717850c26c9cd0d89d';
const LISTS = [
  makeZsync(BLOCKS, SHA1, { blockBytes: 256 }),
  makeZsync(BLOCKS, SHA1, { blockBytes: 256, inRow: 1, sumBytes: 4, md4Bytes: 16 }),
];

function checkZsync(list: Uint8Array): Verdict {
  const read = readOrRefuse(['bad-zsync'], () => parseZsync(list));
  if (read === undefined) return 'refused';
  hold(read.count === Math.ceil(read.length / read.blockBytes), 'blocks cover the file');
  hold(read.sums.length + read.md4s.length <= list.length, 'memory is in proportion to the list');
  const search = new BlockSearch(read);
  const bytes = Buffer.concat([BLOCKS, Buffer.alloc(search.windowBytes)]);
  search.scan(bytes, 0, 0, BLOCKS.length);
  let end = 0;
  for (const run of search.runs()) {
    hold(run.start >= end && run.bytes > 0, 'runs are in order, and do not overlap');
    hold(run.from >= 0 && run.from < BLOCKS.length, 'runs are in the searched file');
    end = run.start + run.bytes;
  }
  hold(end <= read.length, 'runs are within the file');
}

const TORRENTS = [
  torrents.SINGLE_V1,
  torrents.SEVERAL_V1,
  torrents.SINGLE_V2,
  torrents.SEVERAL_V2,
  torrents.SEVERAL_HYBRID,
].map(({ document }) => Buffer.from(torrents.withSeeds(document, ['http://a.example/x/'])));

function checkTorrent(document: Uint8Array): Verdict {
  const read = readOrRefuse(['bad-metalink'], () =>
    parseTorrent(document, (algorithm, bytes) => createHash(algorithm).update(bytes).digest()),
  );
  if (read === undefined) return 'refused';
  for (const { name, size = -1, pieces, replicas } of read.files) {
    holdInside(safePath(name));
    hold(Number.isSafeInteger(size) && size >= 0, 'a size is a whole number');
    for (const { url } of replicas) new URL(url);
    for (const piece of pieces) {
      const { from = 0, pieceBytes, hexes, algorithm } = piece;
      const isWhole = piece.from === undefined;
      hold(from <= size, 'pieces begin in the file');
      hold(hexes.length <= Math.ceil((size - from) / pieceBytes), 'pieces end in the file');
      hold(!isWhole || hexes.length === Math.ceil(size / pieceBytes), 'pieces cover the file');
      hold(
        hexes.every((hex) => hex.length === DIGEST_DIGITS[algorithm]),
        'a digest is complete',
      );
    }
  }
  hold(weightOf(read.files) <= 64 * document.length + 20_000, 'memory is in proportion');
}

const HASH_32 = 'VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5';
const MAGNETS = [
  `magnet:?xt=urn:btih:${HASH_32}&dn=a+b.iso&xl=12&tr=udp://t&ws=http://w/a.iso&xs=http://x/a.torrent`,
  `magnet:?xt.1=urn:btmh:1220${HASH}&xt.2=urn:sha1:${HASH_32}&as=http%3A%2F%2Fa.example%2Fx`,
];

function checkMagnet(link: string): Verdict {
  const read = readOrRefuse(['bad-metalink'], () => parseMagnet(link));
  if (read === undefined) return 'refused';
  holdInside(safePath(read.file.name));
  for (const url of [...read.torrents, ...read.seeds]) new URL(url);
  for (const { url } of read.file.replicas) new URL(url);
}

/** Makes a torrent of one file from what is in its `info` besides. */
const torrentWith = (more: string) => Buffer.from(`d4:infod${more}6:lengthi0e4:name1:aee`);

export const targets = [
  fuzzTarget({
    name: 'torrent',
    cases: mutatedBytes(TORRENTS),
    check: checkTorrent,
    long: {
      'lists inside of lists': () => Buffer.alloc(MEGABYTE, 'l'),
      'folders inside of folders': () => torrentWith(`9:file tree${'d1:a'.repeat(MEGABYTE / 4)}`),
      'many values': () => torrentWith(`1:al${'0:'.repeat(MEGABYTE / 2)}e`),
      'many keys': () =>
        torrentWith(Array.from({ length: 80_000 }, (_, i) => `7:k${1e5 + i}0:`).join('')),
      'a number without end': () => Buffer.from(`di${'1'.repeat(MEGABYTE)}`),
      'many files': () =>
        Buffer.from(
          `d4:infod5:filesl${'d6:lengthi0e4:pathl1:aee'.repeat(40_000)}e4:name1:a12:piece lengthi16384e6:pieces0:ee`,
        ),
    },
  }),
  fuzzTarget({
    name: 'magnet',
    cases: mutatedText(MAGNETS),
    check: checkMagnet,
    long: {
      'many topics': () => `magnet:?${'xt=urn:x:&'.repeat(MEGABYTE / 10)}`,
      'a long name': () => `magnet:?dn=${'%41'.repeat(MEGABYTE / 3)}`,
    },
  }),
  fuzzTarget({
    name: 'zsync',
    cases: mutatedBytes(LISTS),
    check: checkZsync,
    long: {
      'a header without end': () => Buffer.alloc(MEGABYTE, 'zsync: 0.6.2\n'),
      'many blocks': () =>
        Buffer.from(makeZsync(Buffer.alloc(MEGABYTE * 8), SHA1, { blockBytes: 256 })),
    },
  }),
  fuzzTarget({
    name: 'metalink',
    cases: mutatedText(METALINKS),
    check: checkMetalink,
    long: {
      'elements inside elements': () => element('<a>'.repeat(MEGABYTE / 3)),
      'many elements': () => element('<a/>'.repeat(50_000)),
      'many attributes': () =>
        element(`<a ${Array.from({ length: 50_000 }, (_, i) => `a${i}=""`).join(' ')}/>`),
      'a long name': () => element(`<${'a'.repeat(MEGABYTE)}/>`),
      'many line ends': () => element('\r'.repeat(MEGABYTE)),
      'many entities': () => element('&amp;'.repeat(200_000)),
      'blanks in an address': () => element(`<url>${' '.repeat(MEGABYTE)}a</url>`),
      'many pieces': () =>
        element(
          `<pieces type="sha-1" length="1">${`<hash>${'a'.repeat(40)}</hash>`.repeat(15_000)}</pieces>`,
        ),
    },
  }),
  fuzzTarget({
    name: 'metalink-bytes',
    cases: mutatedBytes([
      Buffer.from(METALINKS[0] as string),
      Buffer.from(`\ufeff${METALINKS[1]}`, 'utf16le'),
      Buffer.from((METALINKS[0] as string).replace('UTF-8', 'ISO-8859-1'), 'latin1'),
    ]),
    check: checkMetalink,
  }),
];
