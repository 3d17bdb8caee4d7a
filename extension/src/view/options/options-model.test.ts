import { describe, expect, test } from '@jest/globals';
import type { Request } from '../../contract/messages.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../contract/settings.ts';
import { AskedBackground } from '../../testing/asked-background.ts';
import { textFor } from '../../text/text.ts';
import type { OptionsModel as Model } from './options-model.ts';

// Parts of the browser that show the theme; they must exist before the module that uses them.
Object.assign(globalThis, {
  window: { matchMedia: () => ({ matches: false }) },
  localStorage: { setItem() {} },
  document: { documentElement: { dataset: {} } },
});
const { OptionsModel } = await import('./options-model.ts');

/** Returns a model, and its background, whose answers the test gives by hand. */
function byHand() {
  const background = new AskedBackground();
  const model = new OptionsModel(background, textFor(['en']));
  const settled = () => background.settled();
  /** Returns the oldest unanswered request. */
  const next = async (type: Request['type']) => {
    const question = await background.next();
    expect(question.request.type).toBe(type);
    return question;
  };
  const load = async (settings: Settings) => {
    const loaded = model.load();
    (await next('get-settings')).answer(settings);
    await loaded;
  };
  return { model, next, settled, load };
}

const shown = (model: Model) => model.get().settings?.skipKey;

describe('a choice', () => {
  test('stays on the screen while it is saved, even if older settings arrive late', async () => {
    const { model, next, settled, load } = byHand();
    await load(DEFAULT_SETTINGS);
    void model.load();
    const late = await next('get-settings');
    void model.save({ skipKey: 'shift' });
    expect(shown(model)).toBe('shift');
    late.answer(DEFAULT_SETTINGS);
    await settled();
    expect(shown(model)).toBe('shift');
    (await next('get-settings')).answer({ ...DEFAULT_SETTINGS, minBytes: 1 });
    const set = await next('set-settings');
    expect(set.request).toMatchObject({ settings: { skipKey: 'shift', minBytes: 1 } });
    set.answer({});
    await settled();
    expect(model.get().settings).toEqual({
      ...DEFAULT_SETTINGS,
      skipKey: 'shift',
      minBytes: 1,
    });
  });

  test('that cannot be saved gives way to the valid settings', async () => {
    const { model, next, settled, load } = byHand();
    await load(DEFAULT_SETTINGS);
    void model.save({ skipKey: 'shift' });
    (await next('get-settings')).fail();
    (await next('get-settings')).answer(DEFAULT_SETTINGS);
    await settled();
    expect(shown(model)).toBe(DEFAULT_SETTINGS.skipKey);
    expect(model.get().note).toMatchObject({ bad: true });
  });
});
