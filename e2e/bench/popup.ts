/**
 * The extension's popup: how long it takes from opening it to a list that is painted and can be used.
 * The page is the true one; its messages go the true way, to a background that answers at once.
 */

import { FakeBackgroundBrowser } from '../fixtures/fake-background.ts';
import { manyShown } from '../fixtures/shown-downloads.ts';

/** 0: a page of one row without any script, which is what the browser itself needs. */
const ENTRIES = [0, 8, 500];
const BARE = '<!doctype html><main role="grid"><p role="row">bare</p></main>';
const TIMES = 21;

interface Opening {
  /** Milliseconds after navigation has begun. */
  readonly painted: number;
  readonly answered: number;
  readonly elements: number;
}

export async function popup(): Promise<string> {
  const fake = await FakeBackgroundBrowser.start({ 'bare.html': BARE });
  try {
    const rows: string[] = [];
    await fake.browser.context.addInitScript(watchForList);
    for (const entries of ENTRIES) {
      await fake.set({ state: { downloads: manyShown(entries) } });
      const path = entries === 0 ? 'bare.html' : 'popup.html';
      await open(fake, path);
      const openings: Opening[] = [];
      for (let i = 0; i < TIMES; i++) openings.push(await open(fake, path));
      const [painted, answered] = [median(openings, 'painted'), median(openings, 'answered')];
      const slowest = Math.max(...openings.map((opening) => opening.painted));
      rows.push(
        `| ${entries === 0 ? 'bare page' : entries} | ${painted} ms | ${Math.round(slowest)} ms | ${answered} ms | ${openings[0]?.elements} |`,
      );
    }
    const head = '| entries | list painted (median) | slowest | key answered (median) | elements |';
    return [head, '| --- | --- | --- | --- | --- |', ...rows].join('\n');
  } finally {
    await fake.stop();
  }
}

/** Opens a popup, which presses a key as soon as its list is there. */
async function open(fake: FakeBackgroundBrowser, path: string): Promise<Opening> {
  const { page } = await fake.open(path, { width: 380, height: 580 });
  const opening = await page.evaluate(
    () => (globalThis as unknown as { opening: Promise<Opening> }).opening,
  );
  await page.close();
  return opening;
}

/** Runs in the page before all else. */
function watchForList(): void {
  const painted = () =>
    new Promise<number>((resolve) => {
      // After the next frame: then it has been drawn.
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
    return {
      painted: shown,
      answered: await painted(),
      elements: document.querySelectorAll('*').length,
    };
  };
  Object.assign(globalThis, { opening: measure() });
}

function median(openings: readonly Opening[], figure: keyof Opening): number {
  const sorted = openings.map((opening) => opening[figure]).sort((a, b) => a - b);
  return Math.round(sorted[sorted.length >> 1] as number);
}
