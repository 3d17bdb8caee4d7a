import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FakeDaemon } from '../../testing/fake-daemon.ts';
import { Duplicates } from './duplicates.ts';

const URL = 'http://a.example/dir/File%20One.iso?sig=1';
let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(() => daemon.remove());

const find = (url: string) => new Duplicates(daemon.manager).of(url);
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

test('what is still to be done comes before what is done', () => {
  finished([URL], 'complete');
  const { gid } = daemon.manager.add({ urls: [URL], paused: true });
  expect(find(URL)).toMatchObject({ gid, status: 'paused' });
});
