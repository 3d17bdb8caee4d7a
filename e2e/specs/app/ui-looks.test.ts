/** The interface for everybody: accessible in both themes, in two languages, in narrow windows. */

import { expect, test } from '@jest/globals';
import { MINISIGN } from '@millrace/shared/download/signatures/testing/signed';
import type { Locator, Page } from 'playwright-core';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { SlowFiles } from '../../fixtures/origins/slow-files.ts';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { readEveryView } from '../../fixtures/pages/broken-texts.ts';
import { rowOf } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { until } from '../../fixtures/until.ts';

const MIB = 1024 * 1024;

const ui = new UiStage('looks and accessibility of the interface', async (stage) => {
  const { daemon } = stage;
  const origin = stage.keep(await SlowFiles.start(MIB / 4));
  const urls = (path: string, file: Parameters<SlowFiles['add']>[1]) => [origin.add(path, file)];
  await daemon.reaches(await daemon.add({ urls: urls('/done.pdf', { bytes: 9 }) }), 'complete');
  const gone = urls('/gone.zip', { bytes: 1, status: 410 });
  await daemon.reaches(await daemon.add({ urls: gone }), 'error');
  const files = stage.keep(await FileServer.start());
  const signed = [files.add('/signed.iso', { body: Buffer.from(MINISIGN.file) })];
  const vouched = { urls: signed, keys: [MINISIGN.key], signatures: [MINISIGN.signature] };
  await daemon.reaches(await daemon.add(vouched), 'complete');
  await daemon.call('millrace.addKey', { text: MINISIGN.key, patterns: ['example.org'] });
  const resolver = { name: 'own', args: ['/bin/true'], patterns: ['example.org'], seconds: 30 };
  await daemon.call('millrace.setResolvers', { resolvers: [{ ...resolver, prints: 'answer' }] });
  await daemon.add({ urls: urls('/paused.mkv', { bytes: MIB }), paused: true });
  // Each connection has the origin's rate: only a limit holds for all, and for longer than any wait.
  await daemon.add({ urls: urls('/running.iso', { bytes: 400 * MIB }), limit: 200_000 });
});

/** Opens a tab of the details, and waits until its panel is shown. */
async function openTab(name: string): Promise<void> {
  await ui.page.getByRole('tab', { name }).click();
  await ui.page.getByRole('tabpanel', { name }).waitFor();
}

const STATES: readonly (readonly [string, () => Promise<void>])[] = [
  ['the list', async () => rowOf(ui.page, 'done.pdf').click()],
  [
    'a download that runs',
    async () => {
      await rowOf(ui.page, 'running.iso').click();
      await ui.page.getByRole('tab', { name: 'Overview' }).click();
      await ui.page.getByRole('img', { name: /Block map/ }).waitFor();
    },
  ],
  ['its sources', () => openTab('Sources')],
  ['its log', () => openTab('Log')],
  ['its file', () => openTab('File')],
  [
    'a signed file',
    async () => {
      const row = rowOf(ui.page, 'signed.iso');
      await row.getByText('Signed by A publisher').click();
      await ui.page.getByText('The file itself is signed').waitFor();
    },
  ],
  [
    'a failed download',
    async () => {
      await rowOf(ui.page, 'gone.zip').click();
      await ui.page.getByRole('complementary').getByRole('heading', { name: 'gone.zip' }).waitFor();
    },
  ],
  [
    'the dialog for adding',
    async () => {
      await ui.page.getByRole('button', { name: 'Add downloads' }).click();
      await ui.page
        .getByRole('textbox', { name: 'Links' })
        .fill('http://a.example/x.iso http://b.example/y.iso');
      await ui.page.getByText('2 links found').waitFor();
      await ui.page.getByRole('button', { name: 'More options' }).click();
    },
  ],
];

const PAGES = [
  'Folders',
  'Categories',
  'After the download',
  'Edges',
  'Depots',
  'Limits',
  'Schedule',
  'Proxy',
  'Resolvers',
  'Import & export',
  'Devices',
  'Integration',
  'Appearance',
  'Language',
];

async function setTheme(theme: 'light' | 'dark'): Promise<void> {
  await ui.daemon.call('millrace.setSettings', { appearance: { theme } });
  await ui.page.locator(`html[data-theme="${theme}"]`).waitFor();
}

/** Names fields, choices and switches of the page that have neither a sentence nor an example. */
const undescribed = (page: Page) =>
  page.evaluate(() => {
    const controls = document.querySelectorAll<HTMLInputElement>(
      '.field :is(.input, .textarea, .select, .choice), .switch [role="switch"]',
    );
    const isDescribed = (control: HTMLInputElement) => {
      const note = document.getElementById(control.getAttribute('aria-describedby') ?? '');
      return Boolean(note?.textContent || control.placeholder);
    };
    const nameOf = (control: Element) =>
      (control.closest('.field') ?? control.closest('.switch'))?.textContent ?? '';
    return [...controls].filter((control) => !isDescribed(control)).map(nameOf);
  });

/** Rules to check in each theme; undefined: all. Themes differ only in their colours. */
const RULES = { light: undefined, dark: ['color-contrast'] } as const;

ui.when.each(['light', 'dark'] as const)('in the %s theme axe finds nothing serious', (theme) => {
  test('in the list, the details, and the dialog for adding', async () => {
    await setTheme(theme);
    for (const [name, show] of STATES) {
      await show();
      expect({ name, undescribed: await undescribed(ui.page) }).toEqual({ name, undescribed: [] });
      expect({ name, barriers: await barriers(ui.page, RULES[theme]) }).toEqual({
        name,
        barriers: [],
      });
    }
    await ui.page.keyboard.press('Escape');
    await ui.page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('in the settings', async () => {
    await setTheme(theme);
    await ui.page.keyboard.press('Control+,');
    for (const name of PAGES) {
      await openTab(name);
      if (name === 'Schedule')
        await ui.page.getByRole('button', { name: 'Add time window' }).click();
      if (name === 'Resolvers')
        await ui.page.getByRole('button', { name: 'Add a program…' }).click();
      expect({ name, undescribed: await undescribed(ui.page) }).toEqual({ name, undescribed: [] });
      expect({ name, barriers: await barriers(ui.page, RULES[theme]) }).toEqual({
        name,
        barriers: [],
      });
    }
    await ui.page.keyboard.press('Escape');
    await ui.page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

ui.when('a narrow window', () => {
  test('shows the details over the list, as high as the window', async () => {
    await rowOf(ui.page, 'gone.zip').click();
    await ui.page.setViewportSize({ width: 900, height: 700 });
    const details = ui.page.getByRole('complementary');
    await until(async () => {
      const { x = 0, y, width = 0, height } = (await details.boundingBox()) ?? {};
      return x + width === 900 && y === 0 && height === 700;
    });
    await until(async () => {
      const { y, height } = (await ui.page.getByRole('main').boundingBox()) ?? {};
      return y === 0 && height === 700;
    });
    await fits(ui.page);
  });

  test('shows the list, and filters and details over it', async () => {
    await ui.page.setViewportSize({ width: 420, height: 760 });
    const details = ui.page.getByRole('complementary');
    await ui.page.getByRole('button', { name: 'Close details' }).click();
    await details.waitFor({ state: 'detached' });
    await fits(ui.page);
    expect(await barriers(ui.page)).toEqual([]);
    const filters = ui.page.getByRole('navigation');
    // They slide out of view.
    await filters.waitFor({ state: 'hidden' });
    // The side bar's own button is hidden with it.
    expect(await ui.page.getByRole('button', { name: 'Add downloads' }).count()).toBe(1);
    await ui.page.getByRole('button', { name: 'Show filters' }).click();
    await filters.getByRole('button', { name: /Failed/ }).click();
    await filters.waitFor({ state: 'hidden' });
    await rowOf(ui.page, 'gone.zip').dblclick();
    await details.getByText('The file has been removed from the server').waitFor();
    await fits(ui.page);
    await ui.page.getByRole('button', { name: 'Close details' }).click();
    await ui.page.setViewportSize({ width: 1280, height: 800 });
    await filters.getByRole('button', { name: /^All/ }).click();
  });
});

/** Lists axe's findings without those about contrast: axe compares colours that are not shown then. */
const barriersWhereForced = async (page: Page) =>
  (await barriers(page)).filter((one) => !one.startsWith('color-contrast'));

ui.when('colours that the system sets', () => {
  test('leave bars and the selection visible', async () => {
    await ui.page.emulateMedia({ forcedColors: 'active' });
    await rowOf(ui.page, 'running.iso').click();
    const bar = rowOf(ui.page, 'running.iso').locator('.name-bar .bar');
    const [frame, fill, line] = await bar.evaluate((element) => {
      const style = getComputedStyle(element);
      const inner = getComputedStyle(element.firstElementChild as Element);
      return [style.backgroundColor, inner.backgroundColor, style.borderTopStyle];
    });
    expect(fill).not.toBe(frame);
    expect(line).toBe('solid');
    const outline = (row: Element) => getComputedStyle(row).outlineStyle;
    await until(async () => (await rowOf(ui.page, 'running.iso').evaluate(outline)) !== 'none');
    expect(await rowOf(ui.page, 'done.pdf').evaluate(outline)).toBe('none');
    expect(await barriersWhereForced(ui.page)).toEqual([]);
    await ui.page.emulateMedia({ forcedColors: 'none' });
  });
});

ui.when('the mini view', () => {
  test('has what runs, and pauses and resumes it', async () => {
    const page = await ui.page.context().newPage();
    try {
      await page.setViewportSize({ width: 320, height: 150 });
      await page.goto(new URL('/mini', ui.page.url()).href);
      const list = page.getByRole('list', { name: 'Running downloads' });
      await list.getByText('running.iso').waitFor();
      expect(await list.getByRole('listitem').count()).toBe(1);
      await page.getByText('1 running').waitFor();
      await fits(page);
      expect(await barriers(page)).toEqual([]);
      await page.emulateMedia({ forcedColors: 'active' });
      expect(await barriersWhereForced(page)).toEqual([]);
      await page.emulateMedia({ forcedColors: 'none' });
      await page.getByRole('button', { name: 'Pause all' }).click();
      await page.getByText('0 running').waitFor();
      await page.getByText('Nothing is running').waitFor();
      await page.getByText('1 failed · 2 paused', { exact: true }).waitFor();
      await list.getByText('running.iso').waitFor({ state: 'detached' });
      // Half of its width: what zooming by 200% leaves.
      await page.setViewportSize({ width: 160, height: 75 });
      await fits(page);
      const { downloads } = await ui.daemon.call('millrace.list', { status: ['paused'] });
      const running = downloads.filter(({ name }) => name === 'running.iso');
      expect(running).toHaveLength(1);
      await ui.daemon.call('millrace.resume', { gids: running.map(({ gid }) => gid) });
      await list.getByText('running.iso').waitFor();
    } finally {
      await page.close();
    }
  });
});

ui.when('in German', () => {
  test('everything is German at once, and fits', async () => {
    await ui.page.setViewportSize({ width: 1280, height: 800 });
    await ui.daemon.call('millrace.setSettings', { language: 'de' });
    await ui.page.getByRole('button', { name: 'Einstellungen' }).waitFor();
    await rowOf(ui.page, 'gone.zip').getByText('Die Datei wurde vom Server entfernt').waitFor();
    await ui.page.locator('html[lang="de"]').waitFor();
    for (const width of [1280, 420]) {
      await ui.page.setViewportSize({ width, height: 760 });
      await fits(ui.page);
    }
    await ui.page.setViewportSize({ width: 1280, height: 800 });
  });

  // German words are long. A window of 1,280 by 800 pixels that is zoomed to 200% has the second size.
  test.each([
    { width: 380, height: 760 },
    { width: 640, height: 400 },
    { width: 190, height: 380 },
  ])('every text can be read at $width by $height pixels', async (size) => {
    const { page } = ui;
    await ui.daemon.call('millrace.setSettings', { language: 'de' });
    await page.locator('html[lang="de"]').waitFor();
    await page.setViewportSize(size);
    await readEveryView(page, ['running.iso', 'signed.iso', 'gone.zip']);
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

/** Waits until an element has the focus. */
const focused = (element: Locator) =>
  until(() => element.evaluate((e) => e === document.activeElement));

ui.when('the keyboard alone', () => {
  test('reaches search, list and details, and dialogs return the focus', async () => {
    await ui.daemon.call('millrace.setSettings', { language: 'en' });
    await ui.page.getByRole('button', { name: 'Settings' }).waitFor();
    await ui.page.keyboard.press('/');
    await focused(ui.page.getByRole('textbox', { name: /Search/ }));
    await ui.page.keyboard.press('ArrowDown');
    await ui.page.keyboard.press('Home');
    const grid = ui.page.getByRole('grid');
    await focused(grid);
    await until(async () =>
      /^row-[0-9a-f]{16}$/.test((await grid.getAttribute('aria-activedescendant')) ?? ''),
    );
    await ui.page.keyboard.press('n');
    await ui.page.getByRole('dialog').waitFor();
    await ui.page.keyboard.type('http://a.example/typed.iso');
    await ui.page.getByRole('checkbox', { name: /Add typed.iso/ }).waitFor();
    await ui.page.keyboard.press('Escape');
    await ui.page.getByRole('dialog').waitFor({ state: 'detached' });
    // The focus returns after the dialog has gone.
    await focused(grid);
    expect(ui.problems).toEqual([]);
  });
});
