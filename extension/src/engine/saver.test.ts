import { describe, expect, test } from '@jest/globals';
import { turn } from './fake-surroundings.ts';
import type { Save } from './protocol.ts';
import { Saver } from './saver.ts';

type Item = chrome.downloads.DownloadItem;

/** The browser's downloads, and what the engine was told of them. */
function browser() {
  const items: Partial<Item>[] = [];
  const told: unknown[][] = [];
  const refused = { reason: '' };
  const downloads = {
    search: async (query: { id?: number; url?: string }) =>
      items.filter(({ id, url }) => (query.id ?? id) === id && (query.url ?? url) === url),
    download: async ({ url, filename }: { url: string; filename: string }) => {
      if (refused.reason !== '') throw new Error(refused.reason);
      const id = items.length + 1;
      items.push({ id, url, filename, state: 'in_progress', fileSize: 10, bytesReceived: 0 });
      return id;
    },
    cancel: async (id: number) => void told.push(['cancelled', id]),
    erase: async ({ id }: { id: number }) =>
      void items.splice(
        items.findIndex((item) => item.id === id),
        1,
      ),
    removeFile: async (id: number) => void told.push(['removed', id]),
  };
  const saver = () =>
    new Saver(downloads as unknown as typeof chrome.downloads, {
      saving: async (...given) => void told.push(['saving', ...given]),
      saved: async (...given) => void told.push(['saved', ...given]),
      notSaved: async (...given) => void told.push(['not saved', ...given]),
    });
  return { items, told, refused, saver };
}

const SAVE: Save = { id: 'a', url: 'blob:x/1', fileName: 'a.bin', length: 10 };
const BEGUN: Save = { ...SAVE, begun: { url: SAVE.url, downloadId: 1 } };
const isComplete = { id: 1, state: { current: 'complete' as const } };

describe('saving', () => {
  test('is begun once however often it is asked for, and ends when the browser says so', async () => {
    const { items, told, saver } = browser();
    const one = saver();
    one.save(SAVE);
    one.save(SAVE);
    await turn();
    expect(items).toHaveLength(1);
    Object.assign(items[0] as object, { state: 'complete' });
    one.onChanged(isComplete);
    await turn();
    expect(told).toEqual([
      ['saving', 'a', SAVE.url, 1],
      ['saved', 'a', 1, 10],
    ]);
  });

  test('is not begun again by a background that knows nothing of it', async () => {
    const { items, told, saver } = browser();
    saver().save(SAVE);
    await turn();
    told.splice(0);
    Object.assign(items[0] as object, { state: 'complete' });
    saver().save(SAVE);
    await turn();
    expect(items).toHaveLength(1);
    expect(told).toEqual([
      ['saving', 'a', SAVE.url, 1],
      ['saved', 'a', 1, 10],
    ]);
  });

  test('begins anew where the browser has ended in the middle', async () => {
    const { items, told, saver } = browser();
    saver().save(SAVE);
    await turn();
    Object.assign(items[0] as object, { state: 'interrupted', error: 'CRASH' });
    saver().save({ ...BEGUN, url: 'blob:x/2' });
    await turn();
    expect(items).toMatchObject([{ url: 'blob:x/2', state: 'in_progress' }]);
    expect(told).toContainEqual(['cancelled', 1]);
  });

  test('is over where the browser has refused it or broken it off, with the reason', async () => {
    const { items, told, refused, saver } = browser();
    refused.reason = 'Invalid filename';
    saver().save(SAVE);
    await turn();
    refused.reason = '';
    saver().save(SAVE);
    await turn();
    Object.assign(items[0] as object, { state: 'interrupted', error: 'FILE_NO_SPACE' });
    saver().save(BEGUN);
    await turn();
    expect(told).toEqual([
      ['not saved', 'a', 'file-not-writable', 'Invalid filename'],
      ['saving', 'a', SAVE.url, 1],
      ['not saved', 'a', 'disk-full', 'FILE_NO_SPACE'],
    ]);
  });

  test('leaves no file of another length', async () => {
    const { items, told, saver } = browser();
    saver().save(SAVE);
    await turn();
    Object.assign(items[0] as object, { state: 'complete', fileSize: 9, bytesReceived: 9 });
    saver().save(BEGUN);
    await turn();
    expect(told.slice(1)).toEqual([
      ['removed', 1],
      ['not saved', 'a', 'wrong-length', '9 of 10 bytes came'],
    ]);
    expect(items).toEqual([]);
  });
});
