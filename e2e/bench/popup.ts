/**
 * Measures the extension's popup, from opening it until its list is painted and usable. The page
 * and its message channel are the real ones; the background is a fake that answers at once. On a
 * busy machine the page's processor time says more than the clock.
 */

import type { CDPSession, Page } from 'playwright-core';
import { extensionUrl } from '../fixtures/pages/extension.ts';
import { FakeBackgroundBrowser } from '../fixtures/pages/fake-background.ts';
import { manyShown } from '../fixtures/pages/shown-downloads.ts';

/** A page of one row without a script: measures the browser itself. */
const BARE = '<!doctype html><main role="grid"><p role="row">bare</p></main>';
/** A minimal popup: a style sheet, a script that asks the background, and a row. */
const LEAST = `<!doctype html><link rel="stylesheet" href="popup.css"><main role="grid"></main>
<script type="module" src="least.js"></script>`;
const LEAST_SCRIPT = `const answer = await chrome.runtime.sendMessage({ type: 'state' });
const row = document.createElement('p');
row.role = 'row';
row.textContent = JSON.stringify(answer).length;
document.querySelector('main').append(row);`;
const SCENES = [
  { name: 'a bare page', path: 'bare.html', entries: 0 },
  { name: 'the least popup', path: 'least.html', entries: 8 },
  { name: '8 entries', path: 'popup.html', entries: 8 },
  { name: '500 entries', path: 'popup.html', entries: 500 },
];
const TIMES = 21;

interface Opening {
  /** Milliseconds since navigation began. */
  readonly painted: number;
  readonly answered: number;
  /** Processor milliseconds of the page's own thread until the list is painted and usable. */
  readonly processor: number;
}

export async function popup(): Promise<string> {
  const fake = await FakeBackgroundBrowser.start({
    'bare.html': BARE,
    'least.html': LEAST,
    'least.js': LEAST_SCRIPT,
  });
  try {
    await fake.browser.context.addInitScript(watchForList);
    const { page } = await fake.open('bare.html', { width: 380, height: 580 });
    const session = await fake.browser.context.newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const rows: string[] = [];
    for (const { name, path, entries } of SCENES) {
      await fake.set({ state: { downloads: manyShown(entries) } });
      await open(page, session, path);
      const openings: Opening[] = [];
      for (let i = 0; i < TIMES; i++) openings.push(await open(page, session, path));
      const figures = (['painted', 'answered', 'processor'] as const).map(
        (figure) => `${median(openings, figure)} ms`,
      );
      rows.push(`| ${name} | ${figures.join(' | ')} |`);
    }
    const head = '| medians | list painted | key answered | processor time |';
    return [head, '| --- | --- | --- | --- |', ...rows].join('\n');
  } finally {
    await fake.stop();
  }
}

/** Opens the popup in place of another page of the extension, and presses a key in its list. */
async function open(page: Page, session: CDPSession, path: string): Promise<Opening> {
  await page.goto(extensionUrl('bare.html'));
  await opened(page);
  const before = await processorMs(session);
  await page.goto(extensionUrl(path));
  const times = await opened(page);
  return { ...times, processor: (await processorMs(session)) - before };
}

const opened = (page: Page) =>
  page.evaluate(
    () => (globalThis as unknown as { opening: Promise<Omit<Opening, 'processor'>> }).opening,
  );

async function processorMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000;
}

/** Runs in the page before any other script. */
function watchForList(): void {
  const painted = () =>
    new Promise<number>((resolve) => {
      // The list has been drawn after the next frame.
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    });
  const list = new Promise<HTMLElement>((resolve) => {
    const look = () => {
      const grid = document.querySelector<HTMLElement>('[role="grid"]');
      if (grid === null || grid.querySelector('[role="row"]') === null) return;
      observer.disconnect();
      resolve(grid);
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true });
  });
  const measure = async () => {
    const grid = await list;
    const shown = await painted();
    grid.focus();
    grid.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));
    return { painted: shown, answered: await painted() };
  };
  Object.assign(globalThis, { opening: measure() });
}

function median(openings: readonly Opening[], figure: keyof Opening): number {
  const sorted = openings.map((opening) => opening[figure]).sort((a, b) => a - b);
  return Math.round(sorted[sorted.length >> 1] as number);
}
