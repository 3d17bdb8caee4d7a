/** Removal of downloads whose bytes have all arrived. */

import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { FakeOrigin } from '../../testing/fake-origin.ts';
import { offerOf, World } from '../../testing/fake-surroundings.ts';

const LENGTH = 300_000;
const URL = 'http://origin.example/file.bin';
const REMOVE = { type: 'command', id: URL, command: 'remove' } as const;

/** Starts an engine with one download. */
async function downloading(it: World) {
  const engine = await it.start();
  await engine.call(offerOf(URL, LENGTH));
  await engine.call({ type: 'commit', handOff: URL });
  return engine;
}

const world = () => new World(new FakeOrigin(new Uint8Array(LENGTH)).fetch, seededRandom(1));

describe('a download that is removed', () => {
  test('after its last byte has arrived is not saved, and leaves nothing behind', async () => {
    const it = world();
    const given = Promise.withResolvers<void>();
    let asked = false;
    const url = it.files.url.bind(it.files);
    it.files.url = async (...which) => {
      asked = true;
      await given.promise;
      return url(...which);
    };
    const engine = await downloading(it);
    await it.until(engine, () => asked);
    const removed = engine.call(REMOVE);
    given.resolve();
    await removed;
    expect(it.records.records.size).toBe(0);
    expect(it.files.files.size).toBe(0);
    expect(it.files.urls.size).toBe(0);
    expect(it.saves).toEqual([]);
  });

  test('while the browser saves it is forgotten', async () => {
    const it = world();
    const engine = await downloading(it);
    await it.until(engine, () => it.saves.length > 0);
    const { url = '' } = it.saves[0] ?? {};
    const begun = { type: 'saving', id: URL, url, downloadId: 1 } as const;
    const file = { downloadId: 1, length: LENGTH, fileName: 'a.bin' };
    const saved = { type: 'saved', id: URL, file } as const;
    expect(await engine.call(begun)).toEqual({ known: true });
    await engine.call(REMOVE);
    expect(await engine.call(begun)).toEqual({ known: false });
    expect(await engine.call(saved)).toEqual({ known: false });
    expect(it.records.records.size).toBe(0);
  });
});
