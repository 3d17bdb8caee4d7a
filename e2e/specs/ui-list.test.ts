/** The interface with thousands of downloads: scrolled, searched, sorted, selected, reordered. */

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { DaemonProcess } from '../fixtures/daemon.ts';
import { temporaryFolder } from '../fixtures/processes.ts';
import { browserOrComplain, launchBrowser, openUi, rowOf, startUiDaemon } from '../fixtures/ui.ts';
import { until } from '../fixtures/until.ts';

const ENTRIES = 2000;
const LINE = 6;
const available = browserOrComplain('long lists in the interface');
const when = available ? describe : describe.skip;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let daemon: DaemonProcess;
let browser: Browser;
let page: Page;

/** A history as the daemon exports it, and some paused downloads before it. */
async function fill(): Promise<void> {
  const ended = Array.from({ length: ENTRIES }, (_, i) => ({
    request: { urls: [`http://127.0.0.1:9/file-${String(i).padStart(4, '0')}.iso`] },
    state: 'complete',
    name: `file-${String(i).padStart(4, '0')}.iso`,
    length: (i + 1) * 1000,
    finishedAt: 1_700_000_000_000 + i * 60_000,
  }));
  const text = JSON.stringify({ millrace: 'downloads', format: 1, downloads: ended });
  await daemon.call('millrace.import', { text, format: 'json' });
  for (let i = 0; i < LINE; i++) {
    await daemon.add({ urls: [`http://127.0.0.1:9/waits-${i}.zip`], paused: true });
  }
}

beforeAll(async () => {
  if (!available) return;
  folder = await temporaryFolder();
  [daemon, browser] = await Promise.all([startUiDaemon(folder.path), launchBrowser()]);
  await fill();
  ({ page } = await openUi(browser, daemon));
});
afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  await folder?.remove();
});

const rows = () => page.getByRole('grid').locator('[data-gid]');
const selected = () => page.getByRole('grid').locator('[aria-selected="true"]');
const line = async () => {
  const { downloads } = await daemon.call<{ downloads: { name: string }[] }>('millrace.list', {
    status: ['paused'],
  });
  return downloads.map(({ name }) => name.replace(/\D/g, '')).join('');
};

when('two thousand entries', () => {
  test('are there from end to end, a screen of them at a time', async () => {
    await rowOf(page, 'waits-0.zip').waitFor();
    expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe(
      String(ENTRIES + LINE + 1),
    );
    expect(await rows().count()).toBeLessThan(40);
    await page.getByRole('grid').focus();
    await page.keyboard.press('End');
    await rowOf(page, 'file-0000.iso').waitFor();
    expect(await rows().count()).toBeLessThan(40);
    await page.keyboard.press('Home');
    await rowOf(page, 'waits-0.zip').waitFor();
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    expect(elements).toBeLessThan(1500);
  });

  test('are counted by the filters', async () => {
    const filter = (name: string) => page.getByRole('navigation').getByRole('button', { name });
    expect(await filter('All').textContent()).toContain('2,006');
    await filter('Done').click();
    await rowOf(page, 'file-1999.iso').waitFor();
    await filter('Archives').click();
    await rowOf(page, 'waits-5.zip').waitFor();
    expect(await rows().count()).toBe(LINE);
    await filter('Failed').click();
    await page.getByText('No download has failed.').waitFor();
    await page.getByRole('button', { name: 'Show all downloads' }).click();
    await rowOf(page, 'waits-0.zip').waitFor();
  });

  test('are searched as a whole', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('0042');
    await rowOf(page, 'file-0042.iso').waitFor();
    await until(async () => (await rows().count()) === 1);
    await page.keyboard.type('nothing like it');
    await page.getByText('No match').waitFor();
    await page.keyboard.press('Escape');
    await rowOf(page, 'waits-0.zip').waitFor();
  });

  test('are sorted as a whole', async () => {
    const sort = async (what: string) => {
      await page.getByRole('button', { name: /Sorted by/ }).click();
      await page.getByRole('menuitemradio', { name: what }).click();
    };
    await sort('Size');
    await rowOf(page, 'file-1999.iso').waitFor();
    await sort('Size');
    await rowOf(page, 'file-0000.iso').waitFor();
    await sort('Queue order');
    await rowOf(page, 'waits-0.zip').waitFor();
  });

  test('are selected by pointer and keyboard, and changed together', async () => {
    await rowOf(page, 'waits-1.zip').click();
    await rowOf(page, 'waits-3.zip').click({ modifiers: ['Shift'] });
    expect(await selected().count()).toBe(3);
    await rowOf(page, 'waits-2.zip').click({ modifiers: ['Control'] });
    expect(await selected().count()).toBe(2);
    await page.keyboard.press('Control+a');
    await page.getByText('2,006 selected').waitFor();
    await page.keyboard.press('Escape');
    await rowOf(page, 'waits-4.zip').click();
    await page.keyboard.press('Shift+ArrowDown');
    await page.getByText('2 selected').waitFor();
    await page.getByRole('toolbar').getByRole('button', { name: 'Remove' }).click();
    await rowOf(page, 'waits-4.zip').waitFor({ state: 'detached' });
    await page.getByText('2 downloads removed').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await rowOf(page, 'waits-5.zip').waitFor();
  });

  test('of the queue change places by keyboard and by dragging', async () => {
    const before = await line();
    expect(before).toHaveLength(LINE);
    const [first = '', second = '', third = ''] = before;
    await rowOf(page, `waits-${first}.zip`).click();
    await page.keyboard.press('Alt+ArrowDown');
    await until(async () => (await line()).startsWith(second + first));
    await page.keyboard.press('Alt+ArrowUp');
    await until(async () => (await line()) === before);

    const from = await rowOf(page, `waits-${third}.zip`).boundingBox();
    const to = await rowOf(page, `waits-${first}.zip`).boundingBox();
    if (from === null || to === null) throw new Error('rows are not shown');
    await page.mouse.move(from.x + 120, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(to.x + 120, to.y + to.height / 2, { steps: 6 });
    await page.mouse.move(to.x + 120, to.y + 4, { steps: 3 });
    await page.mouse.up();
    await until(async () => (await line()).startsWith(third + first + second));
    await until(async () => {
      const names = await rows().locator('.name').allTextContents();
      return names[0] === `waits-${third}.zip`;
    });
  });
});
