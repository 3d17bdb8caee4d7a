import { describe, expect, test } from '@jest/globals';
import type { PopupState } from '../../contract/messages.ts';
import type { ShownDownload } from '../../contract/taker.ts';
import { AskedBackground } from '../../testing/asked-background.ts';
import { textFor } from '../../text/text.ts';
import { PopupModel } from './popup-model.ts';

const download = (storedBytes: number): ShownDownload => ({
  taker: 'desktop',
  id: '1',
  name: 'a.iso',
  status: 'active',
  storedBytes,
  bytesPerSecond: 0,
  createdAt: 0,
});
const state = (...downloads: ShownDownload[]): PopupState => ({
  downloads,
  taker: 'desktop',
  on: true,
  skipNext: false,
});

/** Returns a model, and its background, whose answers the test gives by hand. */
function byHand() {
  const background = new AskedBackground();
  const model = new PopupModel(background, textFor(['en']), Promise.resolve('https://a.example/'));
  const { asked } = background;
  return { model, asked, next: () => background.next(), settled: () => background.settled() };
}

describe('the state of the popup', () => {
  test('is requested once more after any number of changes during a request', async () => {
    const { model, next, settled, asked } = byHand();
    for (let i = 0; i < 5; i++) void model.refresh();
    const first = await next();
    expect(first.request).toEqual({ type: 'state', url: 'https://a.example/' });
    first.answer(state(download(1)));
    (await next()).answer(state(download(2)));
    await settled();
    expect(asked).toEqual([]);
    expect(model.get().state?.downloads).toEqual([download(2)]);
  });

  test('keeps unchanged rows as the same objects', async () => {
    const { model, next, settled } = byHand();
    void model.refresh();
    (await next()).answer(state(download(1)));
    await settled();
    const [before] = model.get().state?.downloads ?? [];
    void model.refresh();
    (await next()).answer(state(download(1)));
    await settled();
    expect(model.get().state?.downloads[0]).toBe(before);
  });

  test('is switched at once, and an older answer does not switch it back', async () => {
    const { model, next, settled } = byHand();
    void model.refresh();
    (await next()).answer(state());
    await settled();
    void model.refresh();
    const old = await next();
    void model.switchAll(false);
    expect(model.get().state?.on).toBe(false);
    const command = await next();
    old.answer(state());
    await settled();
    expect(model.get().state?.on).toBe(false);
    command.answer({});
    const now = await next();
    now.answer({ ...state(), on: false });
    await settled();
    expect(model.get().state?.on).toBe(false);
  });

  test('goes back with a reason if a switch fails', async () => {
    const { model, next, settled } = byHand();
    void model.refresh();
    (await next()).answer(state());
    await settled();
    void model.skipNext(true);
    (await next()).fail();
    (await next()).answer(state());
    await settled();
    expect(model.get()).toMatchObject({
      state: { skipNext: false },
      problem: 'That did not work: no',
    });
  });
});
