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

test('the same URL is told from the same file under another signature', () => {
  const { gid } = daemon.manager.add({ urls: ['http://b.example/x', URL], paused: true });
  expect(find(`${URL}#part`)).toMatchObject({ same: 'url', gid, status: 'paused' });
  expect(find(URL.replace('sig=1', 'sig=2'))).toMatchObject({ same: 'path', gid });
  expect(find('http://a.example/dir/File')).toBeUndefined();
  expect(find('http://a.example/DIR/File%20One.iso?sig=1')).toBeUndefined();
  expect(find('no URL')).toBeUndefined();
});

test('the history is known too, but for what was removed', () => {
  finished([URL], 'removed');
  expect(find(URL)).toBeUndefined();
  const gid = finished([URL], 'complete');
  expect(find(URL)).toMatchObject({ same: 'url', gid, status: 'complete' });
});

test('a URL that has been replaced is not known any more, nor what is forgotten', () => {
  const { gid } = daemon.manager.add({ urls: [URL], paused: true });
  daemon.manager.setUrls(gid, ['http://c.example/new']);
  expect(find(URL)).toBeUndefined();
  expect(find('http://c.example/new')).toMatchObject({ same: 'url', gid });
  daemon.manager.remove(gid, false);
  daemon.manager.forget(gid);
  expect(daemon.db.prepare('SELECT count(*) AS n FROM urls').get()).toEqual({ n: 0 });
});

test('what is still to be done comes before what is done', () => {
  finished([URL], 'complete');
  const { gid } = daemon.manager.add({ urls: [URL], paused: true });
  expect(find(URL)).toMatchObject({ gid, status: 'paused' });
});
