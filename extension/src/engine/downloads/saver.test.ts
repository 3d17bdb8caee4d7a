import { describe, expect, test } from '@jest/globals';
import type { Save, SavedFile } from '../../contract/protocol.ts';
import { turn } from '../../testing/fake-surroundings.ts';
import { Saver } from './saver.ts';

type Item = chrome.downloads.DownloadItem;
const OWN = 'millrace';

/** Returns a browser's downloads, and the messages to the engine about them. */
function browser() {
  const items: Partial<Item>[] = [];
  const told: unknown[][] = [];
  const refused = { reason: '' };
  /** The engine's answer to messages. */
  const engine = { known: true };
  const stateOf = (id: number) => items.find((item) => item.id === id)?.state;
  const downloads = {
    search: async (query: { id?: number; url?: string }) =>
      items.filter(({ id, url }) => (query.id ?? id) === id && (query.url ?? url) === url),
    download: async ({ url, filename }: { url: string; filename: string }) => {
      if (refused.reason !== '') throw new Error(refused.reason);
      const id = items.length + 1;
      const begun = { id, url, filename, byExtensionId: OWN, state: 'in_progress' as const };
      items.push({ ...begun, fileSize: 10, bytesReceived: 0 });
      return id;
    },
    cancel: async (id: number) => {
      if (stateOf(id) === 'complete') throw new Error('it is complete');
      told.push(['cancelled', id]);
    },
    erase: async ({ id }: { id: number }) =>
      void items.splice(
        items.findIndex((item) => item.id === id),
        1,
      ),
    removeFile: async (id: number) => {
      if (stateOf(id) !== 'complete') throw new Error('it is not complete');
      told.push(['removed', id]);
    },
  };
  const saver = () =>
    new Saver(downloads as unknown as typeof chrome.downloads, OWN, {
      saving: async (...given) => {
        told.push(['saving', ...given]);
        return engine;
      },
      saved: async (...given) => {
        told.push(['saved', ...given]);
        return engine;
      },
      notSaved: async (...given) => void told.push(['not saved', ...given]),
    });
  return { items, told, refused, engine, saver };
}

const SAVE: Save = { id: 'a', url: 'blob:x/1', fileName: 'a.bin', length: 10 };
const BEGUN: Save = { ...SAVE, begun: { url: SAVE.url, downloadId: 1 } };
const FILE: SavedFile = { downloadId: 1, length: 10, fileName: 'a.bin' };
const isComplete = { id: 1, state: { current: 'complete' as const } };

describe('saving', () => {
  test('starts once for repeated orders, and ends when the browser reports it', async () => {
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
      ['saved', 'a', FILE],
    ]);
  });

  test('reports the name that the browser has given the file', async () => {
    const { items, told, saver } = browser();
    saver().save(SAVE);
    await turn();
    const filename = 'C:\\Users\\Ann\\Downloads\\a (1).bin';
    Object.assign(items[0] as object, { state: 'complete', filename });
    saver().save(BEGUN);
    await turn();
    expect(told.at(-1)).toEqual(['saved', 'a', { ...FILE, fileName: 'a (1).bin' }]);
  });

  test('is not started again by a new background', async () => {
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
      ['saved', 'a', FILE],
    ]);
  });

  test('starts over if the browser ended in the middle', async () => {
    const { items, told, saver } = browser();
    saver().save(SAVE);
    await turn();
    Object.assign(items[0] as object, { state: 'interrupted', error: 'CRASH' });
    saver().save({ ...BEGUN, url: 'blob:x/2' });
    await turn();
    expect(items).toMatchObject([{ url: 'blob:x/2', state: 'in_progress' }]);
    expect(told).toContainEqual(['cancelled', 1]);
  });

  test('fails with the browser’s reason if the browser refuses or interrupts it', async () => {
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

describe('a download that is removed while it is saved', () => {
  const OF_ORIGIN: Save = { ...SAVE, url: 'http://origin.example/a.bin' };

  test.each([
    ['in_progress' as const, 'cancelled'],
    ['complete' as const, 'removed'],
  ])('leaves nothing in the user’s folder: %s', async (state, what) => {
    const { items, told, saver } = browser();
    const one = saver();
    one.save(SAVE);
    await turn();
    Object.assign(items[0] as object, { state });
    await one.leave('a');
    expect(items).toEqual([]);
    expect(told.slice(1)).toEqual([[what, 1]]);
    // Later events of the download are ignored.
    one.onChanged(isComplete);
    await turn();
    expect(told).toHaveLength(2);
  });

  test('is ended even if the browser was just about to start it', async () => {
    const { items, told, saver } = browser();
    const one = saver();
    one.save(SAVE);
    await one.leave('a');
    expect(items).toEqual([]);
    expect(told.at(-1)).toEqual(['cancelled', 1]);
  });

  test('is discarded if the engine does not know it', async () => {
    const { items, told, engine, saver } = browser();
    engine.known = false;
    const one = saver();
    one.save(SAVE);
    await turn();
    expect(items).toEqual([]);
    expect(told).toEqual([
      ['saving', 'a', SAVE.url, 1],
      ['cancelled', 1],
    ]);
    engine.known = true;
    one.save(SAVE);
    await turn();
    engine.known = false;
    Object.assign(items[0] as object, { state: 'complete' });
    one.onChanged(isComplete);
    await turn();
    expect(items).toEqual([]);
    expect(told.slice(-2)).toEqual([
      ['saved', 'a', FILE],
      ['removed', 1],
    ]);
  });

  test('is ended if the browser fetches it itself', async () => {
    const { items, told, saver } = browser();
    const one = saver();
    one.save(OF_ORIGIN);
    await turn();
    await one.leave('a');
    expect(items).toEqual([]);
    expect(told.at(-1)).toEqual(['cancelled', 1]);
  });

  test.each([
    ['number', { begun: { url: OF_ORIGIN.url, downloadId: 1 } }],
    ['address', {}],
  ])('is not taken for another download of the same %s', async (_what, more) => {
    const { items, told, saver } = browser();
    const others = [
      { id: 1, url: 'http://other.example/', state: 'complete' as const },
      { id: 2, url: OF_ORIGIN.url, state: 'complete' as const },
    ];
    items.push(...others);
    const one = saver();
    one.save({ ...OF_ORIGIN, ...more });
    await turn();
    expect(items).toHaveLength(3);
    await one.leave('a');
    expect(items).toEqual(others);
    expect(told).toEqual([
      ['saving', 'a', OF_ORIGIN.url, 3],
      ['cancelled', 3],
    ]);
    await one.leave('never heard of');
  });
});
