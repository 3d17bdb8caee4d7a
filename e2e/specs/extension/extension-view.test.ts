/** The extension's pages in a real Chromium: what they show and what they ask of the background. */

import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { buildExtension, ExtensionBrowser } from '../../fixtures/pages/extension.ts';
import { FakeBackgroundBrowser } from '../../fixtures/pages/fake-background.ts';
import { idOf, manyShown, SHOWN } from '../../fixtures/pages/shown-downloads.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { becomes, until } from '../../fixtures/until.ts';

const { afterAll, afterEach, beforeAll, beforeEach, describe, test } = testsWhere(
  browserOrComplain('the pages of the extension'),
);

interface Runtime {
  getManifest(): { permissions: string[]; host_permissions: string[] };
}

let fake: FakeBackgroundBrowser;
let page: Page;
let problems: string[] = [];

beforeAll(async () => {
  fake = await FakeBackgroundBrowser.start();
});
afterAll(async () => fake?.stop());
beforeEach(async () => fake?.reset());
/** Checks after every test that its page sent only allowed requests and had no error. */
afterEach(async () => {
  await page?.close();
  expect(await fake?.refused()).toEqual([]);
  expect(problems).toEqual([]);
});

const open = async (path: string, size = { width: 1100, height: 900 }) => {
  ({ page, problems } = await fake.open(path, size));
};
const openPopup = () => open('popup.html', { width: 380, height: 580 });
const button = (name: string | RegExp) => page.getByRole('button', { name });
const hasFocus = (element: Locator) => element.evaluate((e) => e === document.activeElement);

describe('the popup', () => {
  const row = (name: string) => page.getByRole('row').filter({ hasText: name });
  const command = (name: string, what: string, taker = 'desktop') => ({
    type: 'command',
    taker,
    id: idOf(name),
    command: what,
  });

  test('shows downloads of both takers, and what can be done about failed ones', async () => {
    await fake.set({ state: { downloads: SHOWN } });
    await openPopup();
    await row('fedora').getByText('31 MiB/s · 0:44 left').waitFor();
    expect(await row('fedora').textContent()).toContain('40%');
    expect(await row('planet-osm').textContent()).toContain('In this browser');
    await row('game-assets').getByText('The server refuses access').waitFor();
    await row('game-assets').getByText('get a new one', { exact: false }).waitFor();
    await row('openstreetmap').getByText('Paused · 310 MiB of 1 GiB').waitFor();
    // The popup changes as the downloads do.
    await fake.set({ state: { downloads: [{ ...SHOWN[0], status: 'complete' }] } });
    await row('fedora').getByText('Done · 2.25 GiB').waitFor();
    await row('planet-osm').waitFor({ state: 'detached' });
    await fake.set({ state: { downloads: [] } });
    await page.getByText('Nothing to show yet').waitFor();
  });

  test('does what its buttons say when they are clicked', async () => {
    await fake.set({ state: { downloads: SHOWN } });
    await openPopup();
    await button('Pause: fedora-workstation-42-x86_64.iso').click();
    await row('planet-osm').hover();
    await button('Pause: planet-osm-europe-latest.tar.zst').click();
    await button('Try again: game-assets-season-3.zip').click();
    await button('Resume: openstreetmap-tiles.mbtiles').click();
    // A download without bytes is removed without asking.
    await row('proxmox').hover();
    await button('Remove: proxmox-ve_9.1.iso').click();
    await row('lecture').scrollIntoViewIfNeeded();
    await row('lecture').hover();
    const name = String(SHOWN.at(-1)?.name);
    await button(`Open: ${name}`).click();
    await button(`Show in folder: ${name}`).click();
    expect(await fake.waitFor(7)).toEqual([
      command('fedora-workstation-42-x86_64.iso', 'pause'),
      command('planet-osm-europe-latest.tar.zst', 'pause', 'browser'),
      command('game-assets-season-3.zip', 'resume'),
      command('openstreetmap-tiles.mbtiles', 'resume'),
      command('proxmox-ve_9.1.iso', 'remove'),
      command(name, 'open'),
      command(name, 'show'),
    ]);
  });

  test('can be used by keyboard alone, and asks before bytes are thrown away', async () => {
    await fake.set({ state: { downloads: SHOWN } });
    await openPopup();
    const list = page.getByRole('grid');
    await row('fedora').waitFor();
    await until(() => hasFocus(list));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Delete');
    await page.getByText('Delete the downloaded part?').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Delete the downloaded part?').waitFor({ state: 'detached' });
    expect(await hasFocus(list)).toBe(true);
    await page.keyboard.press('Delete');
    await until(() => hasFocus(button('Keep: planet-osm')));
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    // The row's buttons come next in the tab order.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const name = String(SHOWN.at(-1)?.name);
    expect(await fake.waitFor(4)).toEqual([
      command('fedora-workstation-42-x86_64.iso', 'pause'),
      command('planet-osm-europe-latest.tar.zst', 'remove', 'browser'),
      command(name, 'open'),
      command(name, 'show'),
    ]);
  });

  test('has switches for everything, for this site, and for the next download', async () => {
    await fake.set({ state: { host: { name: 'files.example', off: false } } });
    await openPopup();
    await page.getByRole('switch', { name: 'From files.example too' }).click();
    await button('Skip the next download').click();
    await button('The next download stays with the browser').click();
    await page.getByRole('switch', { name: 'Take large downloads' }).click();
    await page.getByText('Millrace is switched off').waitFor();
    expect(await page.getByRole('switch').count()).toBe(1);
    await page.getByRole('switch', { name: 'Take large downloads' }).click();
    await page.getByRole('switch', { name: 'From files.example too', checked: false }).waitFor();
    expect(await fake.waitFor(5)).toEqual([
      { type: 'switch-host', host: 'files.example', off: true },
      { type: 'skip-next', skip: true },
      { type: 'skip-next', skip: false },
      { type: 'switch-all', on: false },
      { type: 'switch-all', on: true },
    ]);
  });

  test('says who takes downloads, and what to do when nobody does', async () => {
    await openPopup();
    await page.getByText('The desktop app takes downloads').waitFor();
    await button('Open the app').click();
    expect(await fake.waitFor(1)).toEqual([{ type: 'open-app' }]);
    const desktopProblem = 'The desktop app is not set up for this browser.';
    await fake.set({ state: { taker: 'browser', desktopProblem } });
    await page.getByText('This browser takes downloads').waitFor();
    await fake.set({ state: { taker: null, desktopProblem } });
    await page.getByText('No downloads are taken now').waitFor();
    await page.getByText(desktopProblem).waitFor();
    const [options] = await Promise.all([
      fake.browser.context.waitForEvent('page'),
      button('Set up').click(),
    ]);
    const part = options.getByRole('region', { name: 'Where downloads go' });
    await part.getByText('millrace native-host install').waitFor();
    await until(() => part.evaluate((e) => Math.abs(e.getBoundingClientRect().top) < 100));
    await options.close();
  });

  test('says what failed, and tries again', async () => {
    await fake.set({ failures: { state: 'the store is being repaired' } });
    await openPopup();
    await page.getByText('the store is being repaired').waitFor();
    await fake.set({ failures: { command: 'the file is gone' }, state: { downloads: SHOWN } });
    await row('fedora').waitFor();
    await button('Pause: fedora-workstation-42-x86_64.iso').click();
    await page.getByRole('alert').getByText('the file is gone').waitFor();
    await button('Dismiss').click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await fake.set({ failures: { state: 'never' } });
    await page.reload();
    await page.getByText('Loading downloads…').waitFor();
  });

  test('lists 500 downloads from end to end, and renders only a window of them', async () => {
    await fake.set({ state: { downloads: manyShown(500) } });
    await openPopup();
    const list = page.getByRole('grid');
    await row('0-fedora').waitFor();
    expect(await list.getAttribute('aria-rowcount')).toBe('500');
    await list.focus();
    await page.keyboard.press('End');
    await row('499-').waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(30);
    await page.keyboard.press('Home');
    await row('0-fedora').waitFor();
  });
});

describe('the options', () => {
  const field = (name: string) => page.getByRole('textbox', { name });
  const saved = async () => (await fake.waitFor(1)).map(({ settings }) => settings);

  test('are saved at once, and can be changed back', async () => {
    await open('options.html');
    await field('Smallest size').fill('1,5 GiB');
    await field('Smallest size').blur();
    await button('Undo').click();
    await page.getByText('Changed back').waitFor();
    await becomes(() => field('Smallest size').inputValue(), '16 MiB');
    const [first, second] = await fake.waitFor(2);
    expect(first?.settings).toMatchObject({ minBytes: 1.5 * 1024 ** 3, on: true });
    expect(second?.settings).toMatchObject({ minBytes: 16 * 1024 ** 2, on: true });
  });

  test('refuse invalid values, and say so beside the field', async () => {
    await open('options.html');
    await field('Smallest size').fill('a lot');
    await page.getByText('Enter a size, for example').waitFor();
    await field('Always these types').fill('.ISO, *.zip');
    await field('Always these types').blur();
    expect(await saved()).toMatchObject([
      { alwaysTypes: ['iso', 'zip'], minBytes: 16 * 1024 ** 2 },
    ]);
    await field('Never these types').fill('zip');
    await page.getByText('“zip” is in both lists.').waitFor();
    expect(await field('Never these types').getAttribute('aria-invalid')).toBe('true');
    await field('Leave these to the browser').fill('https://www.example.com/page\nb c!');
    await page.getByText('“c!” is not a site like example.com.').waitFor();
    await field('Leave these to the browser').fill('https://www.example.com/page\n*.example.org');
    await field('Leave these to the browser').blur();
    expect(await saved()).toMatchObject([{ offHosts: ['www.example.com', 'example.org'] }]);
    await becomes(
      () => field('Leave these to the browser').inputValue(),
      'www.example.com\nexample.org',
    );
  });

  test('let edges be added with their sites, and removed', async () => {
    await open('options.html');
    await button('Add edge').click();
    await page.getByText('Enter an address like').waitFor();
    expect(await hasFocus(field('Address of the edge'))).toBe(true);
    await field('Address of the edge').fill('https://me:secret@edge.example.net');
    await page.getByText('An address with a password').waitFor();
    await field('Address of the edge').fill('https://edge.example.net/');
    await page.getByText('Name at least one site.').waitFor();
    await field('For files of these sites').fill('example.com');
    await page.keyboard.press('Enter');
    const edge = { url: 'https://edge.example.net', hosts: ['example.com'] };
    expect(await saved()).toMatchObject([{ edges: [edge] }]);
    const hosts = field('For files of these sites: https://edge.example.net');
    await hosts.fill('example.com, example.org');
    await hosts.blur();
    const both = { ...edge, hosts: ['example.com', 'example.org'] };
    expect(await saved()).toMatchObject([{ edges: [both] }]);
    await button('Remove https://edge.example.net').click();
    expect(await saved()).toMatchObject([{ edges: [] }]);
    await button('Undo').click();
    await hosts.waitFor();
    expect(await saved()).toMatchObject([{ edges: [both] }]);
  });

  test('keep what the popup has changed meanwhile, and show it', async () => {
    await open('options.html');
    await page.getByRole('switch', { name: 'Notifications' }).waitFor();
    await fake.set({ settings: { offHosts: ['popup.example'] } });
    await until(
      async () => (await field('Leave these to the browser').inputValue()) === 'popup.example',
    );
    await page.getByRole('radio', { name: 'Shift' }).check();
    await page.getByRole('radio', { name: 'Dark' }).check();
    await page.locator('html[data-theme="dark"]').waitFor();
    expect((await fake.waitFor(2)).map(({ settings }) => settings)).toMatchObject([
      { offHosts: ['popup.example'], skipKey: 'shift', theme: 'system' },
      { offHosts: ['popup.example'], skipKey: 'shift', theme: 'dark' },
    ]);
  });

  test('say what to do without the desktop app, and what each permission is for', async () => {
    await fake.set({ state: { taker: 'browser', desktopProblem: 'There is no such host.' } });
    await open('options.html');
    await page.getByText('There is no such host.').waitFor();
    await page.getByText('millrace native-host install').waitFor();
    await fake.set({ state: { taker: 'desktop', desktopProblem: null } });
    await page.getByText('Connected. The app takes downloads').waitFor();
    const asked = await page.evaluate(() => {
      const { runtime } = (globalThis as unknown as { chrome: { runtime: Runtime } }).chrome;
      return runtime.getManifest();
    });
    const explained = await page.locator('#permissions dt').allTextContents();
    expect(explained).toEqual([...asked.permissions, ...asked.host_permissions]);
  });

  test('say that they could not be saved, and show the values in force', async () => {
    await fake.set({ failures: { 'set-settings': 'the disk is full' } });
    await open('options.html');
    await page.getByRole('switch', { name: 'Notifications' }).click();
    await page.getByText('That did not work: the disk is full').waitFor();
    await becomes(() => page.getByRole('switch', { name: 'Notifications' }).isChecked(), true);
  });
});

describe('the picker', () => {
  const site = 'https://files.example/';
  const names = ['a.iso', 'b.zip', 'c.mp4', 'd.pdf', 'e.zip', 'f.html'];
  const links = [
    ...names.map((name) => ({ url: site + name, text: `The file ${name}` })),
    { url: `${site}a.iso#notes`, text: 'again' },
    { url: 'mailto:someone@files.example', text: 'write' },
    { url: 'javascript:alert(1)', text: 'run' },
  ];
  const found = { page: `${site}list`, title: 'All files', links };
  const option = (name: string) => page.getByRole('option').filter({ hasText: name });
  const chosen = async () =>
    (await page.getByRole('option', { selected: true }).locator('.name').allTextContents()).join();
  const added = (list: readonly string[]) => ({
    type: 'add',
    links: list.map((name) => ({ url: site + name, referrer: found.page })),
  });
  const openPicker = async () => {
    await fake.set({ links: { k: found } });
    await open('picker.html?key=k');
    await option('a.iso').waitFor();
    await fake.sent();
  };

  test('lists every file once, filters by type and text, and adds the chosen files', async () => {
    await openPicker();
    expect(await page.getByRole('option').count()).toBe(names.length);
    await button('Archives 2').click();
    await button('Choose all shown').click();
    await button('All 6').click();
    expect(await chosen()).toBe('b.zip,e.zip');
    await page.getByRole('textbox').fill('FILE mp4');
    await until(async () => (await page.getByRole('option').count()) === 1);
    await option('c.mp4').click();
    await page.getByRole('textbox').fill('nothing like it');
    await page.getByText('No match').waitFor();
    await button('Show all links').click();
    await button('Add 3 downloads').click();
    await page.getByText('3 downloads added').waitFor();
    expect(await fake.sent()).toEqual([added(['b.zip', 'c.mp4', 'e.zip'])]);
    await button('Back to the links').click();
    expect(await chosen()).toBe('');
  });

  test('selects ranges by mouse and by keyboard', async () => {
    await openPicker();
    await option('b.zip').click();
    await option('e.zip').click({ modifiers: ['Shift'] });
    expect(await chosen()).toBe('b.zip,c.mp4,d.pdf,e.zip');
    await option('d.pdf').click();
    await option('e.zip').click({ modifiers: ['Shift'] });
    expect(await chosen()).toBe('b.zip,c.mp4');
    await button('Choose none').click();
    await page.getByRole('textbox').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Home');
    await page.keyboard.press('Space');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    expect(await chosen()).toBe('a.iso,b.zip,c.mp4');
    await page.keyboard.press('Control+a');
    expect(await page.getByText('6 chosen').count()).toBe(1);
    await page.keyboard.press('End');
    await page.keyboard.press('Space');
    await button('Add 5 downloads').click();
    expect(await fake.waitFor(1)).toEqual([added(names.slice(0, -1))]);
  });

  test('lists at most 10,000 links, and renders only a window of them', async () => {
    const many = Array.from({ length: 10_050 }, (_, i) => ({ url: `${site}${i}.iso`, text: '' }));
    await fake.set({ links: { k: { ...found, links: many } } });
    await open('picker.html?key=k');
    await page.getByText('Only the first 10,000 links').waitFor();
    await option('0.iso').first().waitFor();
    expect(await page.getByRole('option').count()).toBeLessThan(60);
    await page.getByRole('listbox').focus();
    await page.keyboard.press('End');
    await option('9999.iso').waitFor();
    await page.keyboard.press('Control+a');
    await button('Add 10,000 downloads').click();
    await page.getByText('10,000 downloads added').waitFor();
  });

  test('says when there are no links, and what failed', async () => {
    await open('picker.html?key=unheard-of');
    await page.getByText('The links are no longer here').waitFor();
    await fake.set({ links: { k: { ...found, links: links.slice(-2) } } });
    await page.goto(page.url().replace('unheard-of', 'k'));
    await page.getByText('No link to download').waitFor();
    await fake.set({ links: { k: found }, failures: { add: 'nobody takes them' } });
    await page.reload();
    await option('a.iso').click();
    await button('Add 1 download').click();
    await page.getByRole('alert').getByText('nobody takes them').waitFor();
    expect(await chosen()).toBe('a.iso');
  });
});

describe('with the real background', () => {
  test('options and switches are kept, and every page shows what another changes', async () => {
    const folder = await temporaryFolder();
    const built = await buildExtension(folder.path);
    const browser = await ExtensionBrowser.start({ extension: built.chromium });
    try {
      const options = await browser.ownPage('options.html');
      await options.getByRole('radio', { name: 'Dark' }).check();
      await options.getByText('Saved').waitFor();
      const popup = await browser.ownPage('popup.html');
      await popup.getByText('Nothing to show yet').waitFor();
      await popup.locator('html[data-theme="dark"]').waitFor();
      await popup.getByText('This browser takes downloads').waitFor();
      await popup.getByRole('switch', { name: 'Take large downloads' }).click();
      await popup.getByText('Millrace is switched off').waitFor();
      const off = options.getByRole('switch', { name: 'Take large downloads', checked: false });
      await off.waitFor();
      await options.reload();
      await off.waitFor();
    } finally {
      await browser.stop();
      await folder.remove();
    }
  });
});

describe('for everybody', () => {
  const desktopProblem = 'The desktop app is not set up for this browser.';
  const host = { name: 'a-rather-long-name-of-a-host.downloads.example.com', off: false };
  const links = SHOWN.map(({ name }) => ({ url: `https://files.example/${name}`, text: '' }));
  const state = { downloads: SHOWN, host, taker: 'browser', desktopProblem };
  const PAGES = [
    { path: 'popup.html', first: 'row', width: 380, height: 580 },
    { path: 'options.html', first: 'textbox', width: 380, height: 760 },
    { path: 'picker.html?key=k', first: 'option', width: 380, height: 760 },
  ] as const;

  /** Rules to check in each theme: themes differ only in their colours. */
  const RULES = { light: undefined, dark: ['color-contrast'] } as const;

  test.each(PAGES)('$path is accessible in both themes', async ({ path, first, ...size }) => {
    await fake.set({ state, links: { k: { page: 'https://a.example/', title: 'A', links } } });
    await open(path, size);
    for (const theme of ['light', 'dark'] as const) {
      await fake.set({ settings: { theme } });
      await page.reload();
      await page.locator(`html[data-theme="${theme}"]`).waitFor();
      await page.getByRole(first).nth(2).click();
      expect({ theme, barriers: await barriers(page, RULES[theme]) }).toEqual({
        theme,
        barriers: [],
      });
      await fits(page);
    }
  });

  test.each(PAGES)(
    '$path speaks German when the browser does',
    async ({ path, first, ...size }) => {
      await fake.set({ state, links: { k: { page: 'https://a.example/', title: 'A', links } } });
      await open(path, size);
      await fake.speak(page, 'de-DE');
      await page.getByRole(first).nth(2).waitFor();
      expect(await page.locator('html').getAttribute('lang')).toBe('de');
      const words = {
        row: 'Der Server verweigert',
        textbox: 'Kleinste Größe',
        option: 'Links von A',
      };
      await page.getByText(words[first]).first().waitFor();
      await fits(page);
    },
  );
});
