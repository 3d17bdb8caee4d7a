/** Orders to the browser, which may be lost with the background that received them. */

import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { FakeOrigin } from '../../testing/fake-origin.ts';
import { offerOf, World } from '../../testing/fake-surroundings.ts';

const LENGTH = 300_000;
const URL = 'http://origin.example/file.bin';

describe('an order to save a file', () => {
  /** Starts an engine, and waits for its order to save a download. */
  const saving = async () => {
    const origin = new FakeOrigin(new Uint8Array(LENGTH));
    const it = new World(origin.fetch, seededRandom(1));
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    await engine.call({ type: 'commit', handOff: URL });
    await it.until(engine, () => it.saves.length > 0);
    return { it, engine, order: it.saves.splice(0)[0] };
  };
  const tenSecondsLater = (it: World, engine: { tick(): void }) => {
    it.now += 10_000;
    engine.tick();
  };

  test('is repeated until the file is saved, because a background can end with it', async () => {
    const { it, engine, order } = await saving();
    tenSecondsLater(it, engine);
    expect(it.saves.splice(0)).toEqual([order]);
    // The browser's report that it is done may end with a background, too.
    const url = order?.url as string;
    await engine.call({ type: 'saving', id: URL, url, downloadId: 7 });
    tenSecondsLater(it, engine);
    expect(it.saves).toEqual([{ ...order, begun: { url, downloadId: 7 } }]);
    const file = { downloadId: 7, length: LENGTH, fileName: 'a.bin' };
    await engine.call({ type: 'saved', id: URL, file });
    it.saves.splice(0);
    tenSecondsLater(it, engine);
    expect(it.saves).toEqual([]);
  });

  test('is over under the name that the browser has given the file', async () => {
    const { it, engine } = await saving();
    const file = { downloadId: 7, length: LENGTH, fileName: 'a (1).bin' };
    await engine.call({ type: 'saved', id: URL, file });
    expect(it.records.records.get(URL)).toMatchObject({ state: 'complete', fileName: 'a (1).bin' });
  });

  test('is not repeated while the browser fetches a file itself', async () => {
    const whole = async () => new Response(new Uint8Array(LENGTH));
    const it = new World(whole, seededRandom(1));
    const engine = await it.start();
    await engine.call({ type: 'add', links: [{ url: URL, headers: {}, edges: [] }] });
    await it.until(engine, () => it.saves.length > 0);
    const [order] = it.saves.splice(0);
    tenSecondsLater(it, engine);
    expect(it.saves.splice(0)).toEqual([order]);
    const id = order?.id as string;
    await engine.call({ type: 'saving', id, url: URL, downloadId: 7 });
    tenSecondsLater(it, engine);
    expect(it.saves).toEqual([]);
  });
});
