/** The popup. What it shows is asked for before anything is drawn: it is to be there at once. */

import { api } from '../browser/api.ts';
import './style/popup.css';
import { followTheme, openPage } from './common/page.tsx';
import { Popup } from './popup/popup.tsx';
import { PopupModel } from './popup/popup-model.ts';

/** Of the tab that the popup lies over. */
async function pageUrl(): Promise<string | undefined> {
  const [tab] = await api.tabs.query({ active: true, currentWindow: true });
  return tab?.url;
}

const page = openPage();
// Where there is no tab to ask for there is no switch for its site.
const url = pageUrl().catch(() => undefined);
const model = new PopupModel(page.background, page.text, url);
void model.refresh();
void followTheme(page);
page.background.watch(() => void model.refresh());
document.title = page.text.t('popup.title');
page.show(<Popup model={model} openOptions={() => void api.runtime.openOptionsPage()} />);
