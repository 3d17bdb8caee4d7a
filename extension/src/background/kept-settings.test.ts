import { expect, test } from '@jest/globals';
import type { BrowserApi } from '../browser/api.ts';
import { KeptSettings } from './kept-settings.ts';

type Changes = Readonly<Record<string, { readonly newValue?: unknown }>>;

/** A storage that stores, and reports what it has stored, only when the test says so. */
function heldStorage() {
  const kept = new Map<string, unknown>();
  const stored: (() => void)[] = [];
  const reports: (() => void)[] = [];
  let listener: (changes: Changes, area: string) => void = () => {};
  const storage = {
    onChanged: {
      addListener: (given: typeof listener) => {
        listener = given;
      },
    },
    local: {
      get: async (key: string) => (kept.has(key) ? { [key]: kept.get(key) } : {}),
      set: (values: Readonly<Record<string, unknown>>) =>
        new Promise<void>((resolve) => {
          stored.push(resolve);
          for (const [key, newValue] of Object.entries(values)) {
            kept.set(key, newValue);
            reports.push(() => listener({ [key]: { newValue } }, 'local'));
          }
        }),
    },
  } as unknown as BrowserApi['storage'];
  return { storage, stored, reports };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('the late report of an earlier change does not undo a later one', async () => {
  const { storage, stored, reports } = heldStorage();
  let told = 0;
  const settings = new KeptSettings(storage, () => told++);
  await settings.ready;
  const earlier = settings.change({ on: false });
  await turn();
  stored.shift()?.();
  await earlier;
  const later = settings.change({ skipKey: 'none' });
  await turn();
  const before = told;
  reports.shift()?.();
  expect(told).toBe(before + 1);
  const third = settings.change({ on: true });
  await turn();
  for (const resolve of stored) resolve();
  await Promise.all([later, third]);
  for (const report of reports) report();
  expect(settings.now).toMatchObject({ on: true, skipKey: 'none' });
});

test('a change that somebody else has stored counts', async () => {
  const { storage, stored, reports } = heldStorage();
  const settings = new KeptSettings(storage, () => {});
  await settings.ready;
  void storage.local.set({ settings: { on: false } });
  stored.shift()?.();
  reports.shift()?.();
  expect(settings.now).toMatchObject({ on: false });
});
