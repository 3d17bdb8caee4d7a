import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { serveHttp } from '@millrace/shared/node/testing/http-server';
import { FakeDaemon } from '../../testing/fake-daemon.ts';
import { pageLinks } from './pages.ts';

/** Called with the path of each request. */
let asked: string[] = [];

/** Writes a listing as nginx does. */
const listing = (path: string, names: readonly string[]) =>
  `<html><head><title>Index of ${path}</title></head><body><a href="../">../</a><pre>${names
    .map((name) => `<a href="${name}">${name}</a>   01-May-2024 10:00   ${name.length}`)
    .join('\r\n')}</pre></body></html>`;

const PAGES: Readonly<Record<string, readonly string[]>> = {
  '/pub/': ['sub/', 'gone/', 'loop/', 'a.iso', 'notes'],
  '/pub/sub/': ['deep/', 'b.zip'],
  '/pub/sub/deep/': ['c.iso'],
};

const server = serveHttp((request, response) => {
  const path = request.url ?? '';
  asked.push(path);
  const html = { 'content-type': 'text/html; charset=utf-8' };
  const names = PAGES[path];
  if (names !== undefined) return void response.writeHead(200, html).end(listing(path, names));
  if (path === '/held') return;
  if (path === '/moved') return void response.writeHead(302, { location: '/pub/' }).end();
  if (path === '/pub/loop/') return void response.writeHead(302, { location: '/' }).end();
  if (path === '/') {
    const links = '<a href="a.iso"></a><a href="about">x</a><a href="https://m.example/c.zip"></a>';
    return void response.writeHead(200, html).end(`<!doctype html><title>Home</title>${links}`);
  }
  if (path === '/file') {
    response.writeHead(200, { 'content-type': 'application/zip', 'content-length': '100000000' });
    return void response.flushHeaders();
  }
  if (path === '/endless') {
    response.writeHead(200, html);
    const more = () => {
      while (!response.destroyed && response.write('<a href="x">'.repeat(10_000)));
    };
    response.on('drain', more);
    return void more();
  }
  response.writeHead(404).end();
});

let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
  asked = [];
});
afterEach(() => daemon.remove());

const read = (path: string, depth = 0, ms?: number) =>
  pageLinks(daemon.manager, { urls: [server.url + path] }, depth, ms);

test('a listing has its files, also after a redirect, and nothing is added', async () => {
  const page = await read('/moved');
  expect(page).toMatchObject({ url: `${server.url}/pub/`, listing: true, folders: 3, unread: [] });
  expect(
    page.links.map(({ name, category, size, wanted }) => [name, category, size, wanted]),
  ).toEqual([
    ['a.iso', 'images', 5, true],
    ['notes', undefined, 5, true],
  ]);
  expect(asked).toEqual(['/moved', '/pub/']);
  expect(daemon.manager.unfinished()).toEqual([]);
});

test('folders are looked into on demand, and those that fail or lead elsewhere are left out', async () => {
  const page = await read('/pub/', 8);
  expect(page.links.map(({ name, folder }) => `${folder}|${name}`)).toEqual([
    ...['|a.iso', '|notes', 'sub|b.zip', 'sub/deep|c.iso'],
  ]);
  expect(page.unread).toEqual([{ url: `${server.url}/pub/gone/`, code: 'origin-not-found' }]);
  expect((await read('/pub/', 1)).links.map(({ name }) => name)).toEqual([
    ...['a.iso', 'notes', 'b.zip'],
  ]);
});

test('of another page, links of known kinds are wanted, and earlier downloads are told', async () => {
  daemon.manager.add({ urls: [`${server.url}/a.iso`], paused: true });
  const page = await read('/');
  expect(page.listing).toBe(false);
  expect(page.links.map(({ url, wanted, duplicate }) => [url, wanted, duplicate?.same])).toEqual([
    [`${server.url}/a.iso`, true, 'url'],
    [`${server.url}/about`, false, undefined],
    ['https://m.example/c.zip', true, undefined],
  ]);
});

test('a file is not fetched, and an endless or silent page ends with the reason', async () => {
  await expect(read('/file')).rejects.toMatchObject({ code: 'not-a-page' });
  await expect(read('/endless')).rejects.toMatchObject({ code: 'wrong-length' });
  await expect(read('/held', 0, 300)).rejects.toMatchObject({ code: 'origin-timeout' });
  await expect(read('/none')).rejects.toMatchObject({ code: 'origin-not-found' });
});
