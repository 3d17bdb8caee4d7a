/** The popup, which has to appear at once: see popup-early.ts. */

import { api } from '../browser/api.ts';
import './style/popup.css';
import { followTheme, openPage } from './common/page.tsx';
import { type Early, withEarly } from './popup/early.ts';
import { Popup } from './popup/popup.tsx';
import { PopupModel } from './popup/popup-model.ts';

/**
 * Longest wait for the data before the first drawing, ms: drawing a list once is faster than
 * drawing a loading state and then the list.
 */
const WAIT_MS = 100;

const { early } = globalThis as unknown as { early: Early };
const page = openPage(withEarly(api.runtime, early));
const model = new PopupModel(page.background, page.text, early.url);
page.background.watch(() => void model.refresh());
document.title = page.text.t('popup.title');
const ready = Promise.all([
  model.refresh(),
  followTheme(page),
  // Load the font first, so that text is laid out only once.
  document.fonts.load('13px "Inter Variable"'),
]);
await Promise.race([ready, new Promise((resolve) => setTimeout(resolve, WAIT_MS))]);
page.show(
  <Popup
    model={model}
    openOptions={() => void api.runtime.openOptionsPage()}
    setUp={() => void api.tabs.create({ url: api.runtime.getURL('options.html#taker') })}
  />,
);
