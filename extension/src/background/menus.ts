/** The context menu: links, images, selections, and all links of a page. */

import { linksInText } from '@millrace/shared/download/request/links-in-text';
import type { BrowserApi } from '../browser/api.ts';
import type { FoundLinks } from '../contract/messages.ts';

export const FOUND = 'found:';

/** Contexts in which each menu item is shown, by the name of its text. */
const ITEMS = {
  menuLink: 'link',
  menuImage: 'image',
  menuSelection: 'selection',
  menuPage: 'page',
} as const;

type Info = chrome.contextMenus.OnClickData;

export interface MenusOptions {
  readonly api: BrowserApi;
  readonly add: (links: readonly { url: string; referrer?: string | undefined }[]) => Promise<void>;
  /** Called when there is no link to add. */
  readonly onNothing: () => void;
}

export class Menus {
  readonly #options: MenusOptions;

  /** Must be called while the background's script runs for the first time. */
  constructor(options: MenusOptions) {
    this.#options = options;
    const { runtime, contextMenus } = options.api;
    runtime.onInstalled.addListener(() => this.#create());
    runtime.onStartup.addListener(() => this.#create());
    contextMenus.onClicked.addListener((info, tab) => void this.#onClicked(info, tab));
  }

  #create(): void {
    const { contextMenus, i18n, runtime } = this.#options.api;
    contextMenus.removeAll(() => {
      for (const [id, context] of Object.entries(ITEMS)) {
        const of = { id, title: i18n.getMessage(id), contexts: [context] as never };
        // Creation fails only for an item that already exists.
        contextMenus.create(of, () => void runtime.lastError);
      }
    });
  }

  async #onClicked(info: Info, tab: chrome.tabs.Tab | undefined): Promise<void> {
    const page = info.frameUrl ?? info.pageUrl ?? tab?.url;
    if (info.menuItemId === 'menuLink' || info.menuItemId === 'menuImage') {
      const url = info.menuItemId === 'menuLink' ? info.linkUrl : info.srcUrl;
      if (url === undefined || !/^https?:/i.test(url)) return this.#options.onNothing();
      return this.#options.add([{ url, referrer: page }]);
    }
    const found = await this.#collect(info, tab);
    if (info.menuItemId === 'menuPage') return this.openPicker(found);
    const links = new Set(found.links.map(({ url }) => url));
    for (const url of linksInText(info.selectionText ?? '').urls) links.add(url);
    if (links.size === 0) return this.#options.onNothing();
    await this.#options.add([...links].map((url) => ({ url, referrer: page })));
  }

  /** Opens the picker, a page on which the user chooses among links. */
  async openPicker(found: FoundLinks): Promise<void> {
    if (found.links.length === 0) return this.#options.onNothing();
    const { storage, tabs, runtime } = this.#options.api;
    const key = crypto.randomUUID();
    await storage.session.set({ [FOUND + key]: found });
    await tabs.create({ url: runtime.getURL(`picker.html?key=${key}`) });
  }

  async #collect(info: Info, tab: chrome.tabs.Tab | undefined): Promise<FoundLinks> {
    const none = { page: info.pageUrl ?? '', title: tab?.title ?? '', links: [] };
    if (tab?.id === undefined) return none;
    const selected = info.menuItemId === 'menuSelection';
    try {
      const [result] = await this.#options.api.scripting.executeScript({
        target: { tabId: tab.id, frameIds: [info.frameId ?? 0] },
        func: linksOfPage,
        args: [selected],
      });
      return result?.result ?? none;
    } catch {
      return none; // one of the browser's own pages, which extensions cannot read
    }
  }
}

/** Collects links. Runs in the page, without access to anything else in this file. */
function linksOfPage(selected: boolean): FoundLinks {
  const MAX_FOUND = 10_000;
  const selection = selected ? getSelection() : null;
  const links: { url: string; text: string }[] = [];
  for (const anchor of document.querySelectorAll<HTMLAnchorElement>('a[href], area[href]')) {
    if (links.length === MAX_FOUND) break;
    if (selected && !selection?.containsNode(anchor, true)) continue;
    if (!/^https?:/i.test(anchor.href) || anchor.href.length > 65_536) continue;
    links.push({ url: anchor.href, text: (anchor.textContent ?? '').trim().slice(0, 300) });
  }
  return { page: location.href, title: document.title.slice(0, 300), links };
}
