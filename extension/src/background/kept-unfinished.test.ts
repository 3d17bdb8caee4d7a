import { expect, test } from '@jest/globals';
import type { ShownDownload } from '../contract/taker.ts';
import { FakeBrowser } from '../testing/fake-browser.ts';
import { KeptUnfinished } from './kept-unfinished.ts';

const shown = (more: Partial<ShownDownload>): ShownDownload => ({
  ...{ taker: 'desktop', id: 'x', name: 'a.zip', status: 'error', length: 5 },
  ...{ storedBytes: 1, bytesPerSecond: 0, createdAt: 0 },
  ...more,
});

test('failed and paused downloads are known by name and length, after a restart as well', async () => {
  const { api } = new FakeBrowser(false);
  const before = new KeptUnfinished(api.storage);
  const downloads = [
    shown({ name: 'folder/A (1).zip' }),
    shown({ name: 'b.zip', status: 'paused' }),
    shown({ name: 'c.zip', status: 'active' }),
    shown({ name: 'd.zip', length: undefined }),
    shown({ name: 'e.zip', taker: 'browser' }),
  ];
  await before.note(downloads, ['desktop', 'browser']);
  const after = new KeptUnfinished(api.storage);
  await after.ready;
  const names = ['a.zip', 'a (2).zip', 'b.zip', 'c.zip', 'd.zip', 'e.zip'];
  const known = (kept: KeptUnfinished) => names.filter((name) => kept.has(name, 5));
  expect(known(after)).toEqual(['a.zip', 'a (2).zip', 'b.zip', 'e.zip']);
  expect(after.has('a.zip', 6)).toBe(false);
  await after.note([shown({ name: 'b.zip' })], ['desktop']);
  expect(known(after)).toEqual(['b.zip', 'e.zip']);
});

test('what is stored and unreadable is forgotten', async () => {
  const { api, local } = new FakeBrowser(false);
  await local.set({ unfinished: [{ taker: 'desktop', name: 5 }] });
  const kept = new KeptUnfinished(api.storage);
  await kept.ready;
  expect(kept.has('5', 5)).toBe(false);
});
