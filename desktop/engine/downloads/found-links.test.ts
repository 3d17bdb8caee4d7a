import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FakeDaemon } from '../../testing/fake-daemon.ts';
import { linksOf } from './found-links.ts';

let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(() => daemon.remove());

test('other calls have their turns while a long list is described', async () => {
  const urls = Array.from({ length: 1000 }, (_, i) => ({ url: `http://h.example/${i}.iso` }));
  let ended = false;
  const described = linksOf(daemon.manager, urls).finally(() => {
    ended = true;
  });
  for (let turn = 0; turn < 5; turn++) {
    expect(ended).toBe(false);
    await nextTurn();
  }
  const links = await described;
  expect(links.map(({ url }) => ({ url }))).toEqual(urls);
  expect(links[999]).toMatchObject({ name: '999.iso', category: 'images' });
});
