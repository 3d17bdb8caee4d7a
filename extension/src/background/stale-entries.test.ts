import { describe, expect, test } from '@jest/globals';
import type { BrowserApi } from '../browser/api.ts';
import type { DownloadItem } from '../browser/downloads.ts';
import { StaleEntries } from './stale-entries.ts';

const OWN = 'own-id';
const BEGUN = Date.parse('2026-11-21T10:00:00.123Z');

type Item = Partial<DownloadItem> & { id: number };

const item = (id: number, more: Partial<DownloadItem> = {}): Item => ({
  id,
  url: 'https://example.com/a',
  state: 'interrupted',
  startTime: new Date(BEGUN + id).toISOString(),
  error: 'USER_CANCELED',
  ...more,
});

/** Returns a browser with these downloads in its list, and the stored state of an earlier run. */
function browser(items: Item[], kept = new Map<string, unknown>()) {
  const created: ((item: Item) => void)[] = [];
  const started: (() => void)[] = [];
  const erased: number[] = [];
  const api = {
    downloads: {
      onCreated: { addListener: (listener: (item: Item) => void) => created.push(listener) },
      search: async ({ state }: { state: string }) => items.filter((one) => one.state === state),
      erase: async ({ id }: { id: number }) => erased.push(id),
    },
    storage: {
      local: {
        get: async (key: string) => (kept.has(key) ? { [key]: kept.get(key) } : {}),
        set: async (values: object) => {
          for (const [name, value] of Object.entries(values)) kept.set(name, value);
        },
      },
    },
    runtime: {
      id: OWN,
      onStartup: { addListener: (listener: () => void) => started.push(listener) },
    },
  } as unknown as BrowserApi;
  return { stale: new StaleEntries(api), created, started, erased, kept };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('after a browser was killed before it wrote its list to disk', () => {
  test('a download that was handed over is removed from the list again', async () => {
    const before = browser([]);
    await before.stale.add({ id: 7, begunAt: BEGUN + 1 });
    const items = [item(1), item(2), item(3, { state: 'complete' })];
    const { erased, started } = browser(items, before.kept);
    for (const start of started) start();
    await turn();
    // The user cancelled the second download.
    expect(erased).toEqual([1]);
  });

  test('a download that the browser reads later is removed too', async () => {
    const before = browser([]);
    await before.stale.add({ id: 7, begunAt: BEGUN + 1 });
    const { erased, created } = browser([], before.kept);
    for (const listener of created) {
      listener(item(1));
      listener(item(2));
    }
    await turn();
    expect(erased).toEqual([1]);
  });

  test('an unfinished copy of our own is removed too, but no other extension’s', async () => {
    const url = 'blob:chrome-extension://own-id/1';
    const { erased, stale } = browser([
      item(1, { url, byExtensionId: OWN }),
      item(2, { url, byExtensionId: 'another' }),
      item(3, { url, byExtensionId: OWN, state: 'complete' }),
      item(4, { byExtensionId: OWN }),
      item(5, { url }),
    ]);
    await stale.sweep();
    expect(erased).toEqual([1]);
  });

  test('a hundred ended downloads are remembered', async () => {
    const { stale, kept } = browser([]);
    for (let i = 0; i < 150; i++) await stale.add({ id: i, begunAt: i });
    expect([...kept.values()][0]).toEqual(Array.from({ length: 100 }, (_, i) => 50 + i));
  });
});
