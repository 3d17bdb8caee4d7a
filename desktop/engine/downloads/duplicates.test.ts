import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FakeDaemon } from '../../testing/fake-daemon.ts';
import { duplicateOf } from './duplicates.ts';

const URL = 'http://a.example/dir/File%20One.iso?sig=1';
let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(() => daemon.remove());

const find = (url: string) => duplicateOf(daemon.manager.store, url);
const finished = (urls: string[], state: 'complete' | 'removed') =>
  daemon.manager.addFinished({ urls }, { state, createdAt: 1, finishedAt: 1 }).gid;

test('an identical URL is told apart from the same file under another signature', () => {
  const { gid } = daemon.manager.add({ urls: ['http://b.example/x', URL], paused: true });
  expect(find(`${URL}#part`)).toMatchObject({ same: 'url', gid, status: 'paused' });
  expect(find(URL.replace('sig=1', 'sig=2'))).toMatchObject({ same: 'path', gid });
  expect(find('http://a.example/dir/File')).toBeUndefined();
  expect(find('http://a.example/DIR/File%20One.iso?sig=1')).toBeUndefined();
  expect(find('no URL')).toBeUndefined();
});

test('completed downloads are found, and removed ones are not', () => {
  finished([URL], 'removed');
  expect(find(URL)).toBeUndefined();
  const gid = finished([URL], 'complete');
  expect(find(URL)).toMatchObject({ same: 'url', gid, status: 'complete' });
});

test('a replaced URL is not found any more, nor is a forgotten download', () => {
  const { gid } = daemon.manager.add({ urls: [URL], paused: true });
  daemon.manager.changes.setUrls(gid, ['http://c.example/new']);
  expect(find(URL)).toBeUndefined();
  expect(find('http://c.example/new')).toMatchObject({ same: 'url', gid });
  daemon.manager.remover.end(gid, false);
  daemon.manager.forget(gid);
  expect(daemon.db.prepare('SELECT count(*) AS n FROM urls').get()).toEqual({ n: 0 });
});

test('an unfinished download comes before a finished one', () => {
  finished([URL], 'complete');
  const { gid } = daemon.manager.add({ urls: [URL], paused: true });
  expect(find(URL)).toMatchObject({ gid, status: 'paused' });
});

test('a download that a resolver has found is found by the URL of its page, and not by another page', () => {
  const page = 'https://p.example/watch?v=1';
  const resolved = { by: 'own', url: page, urls: ['https://cdn.example/f'] };
  const { gid } = daemon.manager.add({ urls: resolved.urls, paused: true });
  expect(find(page)).toBeUndefined();
  daemon.manager.resolvedLinks.keep(gid, resolved);
  expect(find(`${page}#t=5`)).toMatchObject({ same: 'url', gid });
  expect(find('https://cdn.example/f')).toMatchObject({ same: 'url', gid });
  expect(find('https://p.example/watch?v=2')).toBeUndefined();
  daemon.manager.changes.setUrls(gid, ['http://c.example/own']);
  expect(find('https://cdn.example/f')).toBeUndefined();
});
