/** The interface for everybody: accessible in both themes, in two languages, in narrow windows. */

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { barriers, overflow } from '../fixtures/axe.ts';
import type { DaemonProcess } from '../fixtures/daemon.ts';
import { temporaryFolder } from '../fixtures/processes.ts';
import { SlowFiles } from '../fixtures/slow-files.ts';
import { browserOrComplain, launchBrowser, openUi, rowOf, startUiDaemon } from '../fixtures/ui.ts';

const MIB = 1024 * 1024;
const available = browserOrComplain('looks and accessibility of the interface');
const when = available ? describe : describe.skip;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: SlowFiles;
let daemon: DaemonProcess;
let browser: Browser;
let page: Page;
let problems: string[];

beforeAll(async () => {
  if (!available) return;
  folder = await temporaryFolder();
  origin = await SlowFiles.start(MIB / 4);
  [daemon, browser] = await Promise.all([startUiDaemon(folder.path), launchBrowser()]);
  const urls = (path: string, file: Parameters<SlowFiles['add']>[1]) => [origin.add(path, file)];
  await daemon.reaches(await daemon.add({ urls: urls('/done.pdf', { bytes: 9 }) }), 'complete');
  const gone = urls('/gone.zip', { bytes: 1, status: 410 });
  await daemon.reaches(await daemon.add({ urls: gone }), 'error');
  await daemon.add({ urls: urls('/paused.mkv', { bytes: MIB }), paused: true });
  await daemon.add({ urls: urls('/running.iso', { bytes: 400 * MIB }) });
  ({ page, problems } = await openUi(browser, daemon));
  await rowOf(page, 'running.iso').waitFor();
});
afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  await origin?.stop();
  await folder?.remove();
});

const STATES: readonly (readonly [string, () => Promise<void>])[] = [
  ['the list', async () => rowOf(page, 'done.pdf').click()],
  [
    'a download that runs',
    async () => {
      await rowOf(page, 'running.iso').click();
      await page.getByRole('tab', { name: 'Overview' }).click();
      await page.getByRole('img', { name: /Block map/ }).waitFor();
    },
  ],
  ['its sources', async () => page.getByRole('tab', { name: 'Sources' }).click()],
  ['its log', async () => page.getByRole('tab', { name: 'Log' }).click()],
  ['its file', async () => page.getByRole('tab', { name: 'File' }).click()],
  ['a failed download', async () => rowOf(page, 'gone.zip').click()],
  [
    'the dialog for adding',
    async () => {
      await page.getByRole('button', { name: 'Add downloads' }).click();
      await page
        .getByRole('textbox', { name: 'Links' })
        .fill('http://a.example/x.iso http://b.example/y.iso');
      await page.getByText('2 links found').waitFor();
      await page.getByRole('button', { name: 'More options' }).click();
    },
  ],
];

const PAGES = [
  'Folders',
  'Categories',
  'Edges',
  'Limits',
  'Schedule',
  'Proxy',
  'Integration',
  'Appearance',
  'Language',
];

async function setTheme(theme: 'light' | 'dark'): Promise<void> {
  await daemon.call('millrace.setSettings', { appearance: { theme } });
  await page.locator(`html[data-theme="${theme}"]`).waitFor();
}

/** Themes differ in nothing but their colours. */
const RULES = { light: undefined, dark: ['color-contrast'] } as const;

when.each(['light', 'dark'] as const)('in the %s theme axe finds nothing serious', (theme) => {
  test('in the list, the details, and the dialog for adding', async () => {
    await setTheme(theme);
    for (const [name, show] of STATES) {
      await show();
      expect({ name, barriers: await barriers(page, RULES[theme]) }).toEqual({
        name,
        barriers: [],
      });
    }
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('in the settings', async () => {
    await setTheme(theme);
    await page.keyboard.press('Control+,');
    for (const name of PAGES) {
      await page.getByRole('tab', { name }).click();
      if (name === 'Schedule') await page.getByRole('button', { name: 'Add time window' }).click();
      expect({ name, barriers: await barriers(page, RULES[theme]) }).toEqual({
        name,
        barriers: [],
      });
    }
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

when('a narrow window', () => {
  test('shows the list, and filters and details over it', async () => {
    await page.setViewportSize({ width: 420, height: 760 });
    const details = page.getByRole('complementary');
    if (await details.isVisible())
      await page.getByRole('button', { name: 'Close details' }).click();
    await details.waitFor({ state: 'detached' });
    expect(await overflow(page)).toBe(0);
    expect(await barriers(page)).toEqual([]);
    const filters = page.getByRole('navigation');
    expect(await filters.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Show filters' }).click();
    await filters.getByRole('button', { name: /Failed/ }).click();
    await filters.waitFor({ state: 'hidden' });
    await rowOf(page, 'gone.zip').dblclick();
    await details.getByText('The file has been taken off the server').waitFor();
    expect(await overflow(page)).toBe(0);
    await page.getByRole('button', { name: 'Close details' }).click();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: 'All', exact: false }).first().click();
  });
});

when('in German', () => {
  test('everything is German at once, and fits', async () => {
    await daemon.call('millrace.setSettings', { language: 'de' });
    await page.getByRole('button', { name: 'Einstellungen' }).waitFor();
    await rowOf(page, 'gone.zip').getByText('Die Datei wurde vom Server genommen').waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    for (const width of [1280, 420]) {
      await page.setViewportSize({ width, height: 760 });
      expect(await overflow(page)).toBe(0);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

when('the keyboard alone', () => {
  test('goes from search to list to details, and dialogs give the focus back', async () => {
    await daemon.call('millrace.setSettings', { language: 'en' });
    await page.getByRole('button', { name: 'Settings' }).waitFor();
    await page.keyboard.press('/');
    expect(
      await page
        .getByRole('textbox', { name: /Search/ })
        .evaluate((e) => e === document.activeElement),
    ).toBe(true);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Home');
    const grid = page.getByRole('grid');
    expect(await grid.evaluate((e) => e === document.activeElement)).toBe(true);
    expect(await grid.getAttribute('aria-activedescendant')).toMatch(/^row-[0-9a-f]{16}$/);
    await page.keyboard.press('n');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await grid.evaluate((e) => e === document.activeElement)).toBe(true);
    expect(problems).toEqual([]);
  });
});
