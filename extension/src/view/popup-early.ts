/**
 * Runs before the popup's own script has been read, which takes longer than the background needs to
 * answer: so the popup's data are there by then.
 */

import { api } from '../browser/api.ts';
import type { Early } from './popup/early.ts';

/**
 * Returns the URL of the tab below the popup. Without a URL, the popup has no switch for the site.
 */
async function pageUrl(): Promise<string | undefined> {
  const [tab] = await api.tabs.query({ active: true, currentWindow: true }).catch(() => []);
  return tab?.url;
}

async function askForState(url: Promise<string | undefined>): Promise<unknown> {
  const known = await url;
  return api.runtime.sendMessage({ type: 'state', ...(known && { url: known }) });
}

const url = pageUrl();
const answers = {
  'get-settings': api.runtime.sendMessage({ type: 'get-settings' }),
  state: askForState(url),
};
// Failures reach the code that uses the answer.
for (const answer of Object.values(answers)) answer.catch(() => {});
(globalThis as { early?: Early }).early = { url, answers };
