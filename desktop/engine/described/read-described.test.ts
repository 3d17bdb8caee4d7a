import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SINGLE_HYBRID, SINGLE_V1 } from '@millrace/shared/download/torrent/testing/torrents';
import { readDescribed } from './read-described.ts';

const DOCUMENTS: Readonly<Record<string, Uint8Array>> = {
  '/right.torrent': SINGLE_HYBRID.document,
  '/other.torrent': SINGLE_V1.document,
  '/page.torrent': Buffer.from('<html>'),
};

let server: Server;

beforeEach(async () => {
  server = createServer(({ url = '' }, res) => {
    const document = DOCUMENTS[url];
    res.writeHead(document === undefined ? 404 : 200, {
      'content-length': document?.length ?? 0,
    });
    res.end(document);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.closeAllConnections();
  await once(server.close(), 'close');
});

const at = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
const { signal } = new AbortController();
const read = (text: string, mirrors: string[] = []) =>
  readDescribed(Buffer.from(text), { mirrors, signal });

const magnet = (...paths: string[]) =>
  `magnet:?xt=urn:btih:${SINGLE_HYBRID.v1}&xt=urn:btmh:1220${SINGLE_HYBRID.v2}&dn=my.iso` +
  paths.map((path) => `&xs=${encodeURIComponent(at(path))}`).join('');

test('of the torrents that a magnet link leads to, the first right one counts', async () => {
  const link = magnet('/gone.torrent', '/page.torrent', '/other.torrent', '/right.torrent');
  const { files, named } = await read(link, ['http://a.example/']);
  expect(files.map(({ name }) => name)).toEqual(['one.bin']);
  expect([...named]).toEqual(['http://a.example/one.bin']);
});

test.each([
  ['/gone.torrent', 'origin-not-found'],
  ['/page.torrent', 'bad-metalink'],
  ['/other.torrent', 'checksum-mismatch'],
])('%s ends a magnet link without another torrent: %s', async (path, code) => {
  await expect(read(`${magnet(path)}&ws=http://a.example/x`)).rejects.toMatchObject({ code });
});

test('a magnet link to a file is that file, and one to nothing needs a mirror', async () => {
  const { files } = await read(`${magnet()}&as=http://a.example/x&xl=7`, ['http://b.example/y']);
  expect(files).toMatchObject([{ name: 'my.iso', size: 7 }]);
  // A note says that the infohash alone proves none of its bytes.
  expect(files[0]?.pieces).toMatchObject([{ hexes: [], from: 0 }]);
  expect(files[0]?.replicas.map(({ url }) => url)).toEqual([
    'http://a.example/x',
    'http://b.example/y',
  ]);
  await expect(read(magnet())).rejects.toMatchObject({ code: 'no-web-seed' });
  expect((await read(magnet(), ['http://b.example/y'])).files).toHaveLength(1);
});

test('a further address is refused for a Metalink of several files', async () => {
  const file = (name: string) => `<file name="${name}"><url>http://a.example/${name}</url></file>`;
  const document = (files: string) =>
    `<metalink xmlns="urn:ietf:params:xml:ns:metalink">${files}</metalink>`;
  const { named } = await read(document(file('a')), ['http://b.example/a']);
  expect([...named]).toEqual(['http://b.example/a']);
  await expect(read(document(file('a') + file('b')), ['http://b.example/'])).rejects.toMatchObject({
    code: 'bad-option',
  });
});
