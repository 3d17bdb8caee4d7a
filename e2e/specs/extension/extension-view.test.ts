/** The extension's popup and options in a real Chromium: what they show, and what they ask of the background. */

import { expect } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { buildExtension, ExtensionBrowser } from '../../fixtures/pages/extension.ts';
import { idOf, manyShown, SHOWN } from '../../fixtures/pages/shown-downloads.ts';
import { ViewStage } from '../../fixtures/pages/view-stage.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { becomes, until } from '../../fixtures/until.ts';

const stage = new ViewStage('the popup and the options of the extension');
const { describe, test } = stage;

interface Runtime {
  getManifest(): { permissions: string[]; host_permissions: string[] };
}

const openPopup = () => stage.open('popup.html', { width: 380, height: 580 });
const hasFocus = (element: Locator) => element.evaluate((e) => e === document.activeElement);

describe('the popup', () => {
  const row = (name: string) => stage.page.getByRole('row').filter({ hasText: name });
  const command = (name: string, what: string, taker = 'desktop') => ({
    type: 'command',
    taker,
    id: idOf(name),
    command: what,
  });

  test('shows downloads of both takers, and what can be done about failed ones', async () => {
    await stage.fake.set({ state: { downloads: SHOWN } });
    await openPopup();
    await row('fedora').getByText('31 MiB/s · 0:44 left').waitFor();
    expect(await row('fedora').textContent()).toContain('40%');
    expect(await row('planet-osm').textContent()).toContain('In this browser');
    await row('game-assets').getByText('The server refuses access').waitFor();
    await row('game-assets').getByText('get a new one', { exact: false }).waitFor();
    await row('openstreetmap').getByText('Paused · 310 MiB of 1 GiB').waitFor();
    // The popup changes as the downloads do.
    await stage.fake.set({ state: { downloads: [{ ...SHOWN[0], status: 'complete' }] } });
    await row('fedora').getByText('Done · 2.25 GiB').waitFor();
    await row('planet-osm').waitFor({ state: 'detached' });
    await stage.fake.set({ state: { downloads: [] } });
    await stage.page.getByText('Nothing to show yet').waitFor();
  });

  test('does what its buttons say when they are clicked', async () => {
    await stage.fake.set({ state: { downloads: SHOWN } });
    await openPopup();
    await stage.button('Pause: fedora-workstation-42-x86_64.iso').click();
    await row('planet-osm').hover();
    await stage.button('Pause: planet-osm-europe-latest.tar.zst').click();
    await stage.button('Try again: game-assets-season-3.zip').click();
    await stage.button('Resume: openstreetmap-tiles.mbtiles').click();
    // A download without bytes is removed without asking.
    await row('proxmox').hover();
    await stage.button('Remove: proxmox-ve_9.1.iso').click();
    await row('lecture').scrollIntoViewIfNeeded();
    await row('lecture').hover();
    const name = String(SHOWN.at(-1)?.name);
    await stage.button(`Open: ${name}`).click();
    await stage.button(`Show in folder: ${name}`).click();
    expect(await stage.fake.waitFor(7)).toEqual([
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
    await stage.fake.set({ state: { downloads: SHOWN } });
    await openPopup();
    const list = stage.page.getByRole('grid');
    await row('fedora').waitFor();
    await until(() => hasFocus(list));
    await stage.page.keyboard.press('ArrowDown');
    await stage.page.keyboard.press('Space');
    await stage.page.keyboard.press('ArrowDown');
    await stage.page.keyboard.press('Delete');
    await stage.page.getByText('Delete the downloaded part?').waitFor();
    await stage.page.keyboard.press('Escape');
    await stage.page.getByText('Delete the downloaded part?').waitFor({ state: 'detached' });
    await until(() => hasFocus(list));
    await stage.page.keyboard.press('Delete');
    await until(() => hasFocus(stage.button('Keep: planet-osm')));
    await stage.page.keyboard.press('Tab');
    await stage.page.keyboard.press('Enter');
    await stage.page.keyboard.press('End');
    await stage.page.keyboard.press('Enter');
    // The row's buttons come next in the tab order.
    await stage.page.keyboard.press('Tab');
    await stage.page.keyboard.press('Tab');
    await stage.page.keyboard.press('Enter');
    const name = String(SHOWN.at(-1)?.name);
    expect(await stage.fake.waitFor(4)).toEqual([
      command('fedora-workstation-42-x86_64.iso', 'pause'),
      command('planet-osm-europe-latest.tar.zst', 'remove', 'browser'),
      command(name, 'open'),
      command(name, 'show'),
    ]);
  });

  test('has switches for everything, for this site, and for the next download', async () => {
    await stage.fake.set({ state: { host: { name: 'files.example', off: false } } });
    await openPopup();
    await stage.page.getByRole('switch', { name: 'From files.example too' }).click();
    await stage.button('Skip the next download').click();
    await stage.button('The next download stays with the browser').click();
    await stage.page.getByRole('switch', { name: 'Take large downloads' }).click();
    await stage.page.getByText('Millrace is switched off').waitFor();
    expect(await stage.page.getByRole('switch').count()).toBe(1);
    await stage.page.getByRole('switch', { name: 'Take large downloads' }).click();
    await stage.page
      .getByRole('switch', { name: 'From files.example too', checked: false })
      .waitFor();
    expect(await stage.fake.waitFor(5)).toEqual([
      { type: 'switch-host', host: 'files.example', off: true },
      { type: 'skip-next', skip: true },
      { type: 'skip-next', skip: false },
      { type: 'switch-all', on: false },
      { type: 'switch-all', on: true },
    ]);
  });

  test('says who takes downloads, and what to do when nobody does', async () => {
    await openPopup();
    await stage.page.getByText('The desktop app takes downloads').waitFor();
    await stage.button('Open the app').click();
    expect(await stage.fake.waitFor(1)).toEqual([{ type: 'open-app' }]);
    const desktopProblem = 'The desktop app is not set up for this browser.';
    await stage.fake.set({ state: { taker: 'browser', desktopProblem } });
    await stage.page.getByText('This browser takes downloads').waitFor();
    await stage.fake.set({ state: { taker: null, desktopProblem } });
    await stage.page.getByText('No downloads are taken now').waitFor();
    await stage.page.getByText(desktopProblem).waitFor();
    const [options] = await Promise.all([
      stage.fake.browser.context.waitForEvent('page'),
      stage.button('Set up').click(),
    ]);
    const part = options.getByRole('region', { name: 'Where downloads go' });
    await part.getByRole('link', { name: 'Get the app' }).waitFor();
    await until(() => part.evaluate((e) => Math.abs(e.getBoundingClientRect().top) < 100));
    await options.close();
  });

  test('says what failed, and tries again', async () => {
    await stage.fake.set({ failures: { state: 'the store is being repaired' } });
    await openPopup();
    await stage.page.getByText('the store is being repaired').waitFor();
    await stage.fake.set({
      failures: { command: 'the file is gone' },
      state: { downloads: SHOWN },
    });
    await row('fedora').waitFor();
    await stage.button('Pause: fedora-workstation-42-x86_64.iso').click();
    await stage.page.getByRole('alert').getByText('the file is gone').waitFor();
    await stage.button('Dismiss').click();
    await stage.page.getByRole('alert').waitFor({ state: 'detached' });
    await stage.fake.set({ failures: { state: 'never' } });
    await stage.page.reload();
    await stage.page.getByText('Loading downloads…').waitFor();
  });

  test('lists 500 downloads from end to end, and renders only a window of them', async () => {
    await stage.fake.set({ state: { downloads: manyShown(500) } });
    await openPopup();
    const list = stage.page.getByRole('grid');
    await row('0-fedora').waitFor();
    expect(await list.getAttribute('aria-rowcount')).toBe('500');
    await list.focus();
    await stage.page.keyboard.press('End');
    await row('499-').waitFor();
    expect(await stage.page.getByRole('row').count()).toBeLessThan(30);
    await stage.page.keyboard.press('Home');
    await row('0-fedora').waitFor();
  });
});

describe('the options', () => {
  const field = (name: string) => stage.page.getByRole('textbox', { name });
  const saved = async () => (await stage.fake.waitFor(1)).map(({ settings }) => settings);

  test('are saved at once, and can be changed back', async () => {
    await stage.open('options.html');
    await field('Smallest size').fill('1,5 GiB');
    await field('Smallest size').blur();
    await stage.button('Undo').click();
    await stage.page.getByText('Changed back').waitFor();
    await becomes(() => field('Smallest size').inputValue(), '16 MiB');
    const [first, second] = await stage.fake.waitFor(2);
    expect(first?.settings).toMatchObject({ minBytes: 1.5 * 1024 ** 3, on: true });
    expect(second?.settings).toMatchObject({ minBytes: 16 * 1024 ** 2, on: true });
  });

  test('refuse invalid values, and say so beside the field', async () => {
    await stage.open('options.html');
    await field('Smallest size').fill('a lot');
    await stage.page.getByText('Enter a size, for example').waitFor();
    await field('Always these types').fill('.ISO, *.zip');
    await field('Always these types').blur();
    expect(await saved()).toMatchObject([
      { alwaysTypes: ['iso', 'zip'], minBytes: 16 * 1024 ** 2 },
    ]);
    await field('Never these types').fill('zip');
    await stage.page.getByText('“zip” is in both lists.').waitFor();
    expect(await field('Never these types').getAttribute('aria-invalid')).toBe('true');
    await field('Leave these to the browser').fill('https://www.example.com/page\nb c!');
    await stage.page.getByText('“c!” is not a site like example.com.').waitFor();
    await field('Leave these to the browser').fill('https://www.example.com/page\n*.example.org');
    await field('Leave these to the browser').blur();
    expect(await saved()).toMatchObject([{ offHosts: ['www.example.com', 'example.org'] }]);
    await becomes(
      () => field('Leave these to the browser').inputValue(),
      'www.example.com\nexample.org',
    );
  });

  test('let edges be added with their sites, and removed', async () => {
    await stage.open('options.html');
    await stage.button('Add edge').click();
    await stage.page.getByText('Enter an address like').waitFor();
    await until(() => hasFocus(field('Address of the edge')));
    await field('Address of the edge').fill('https://me:secret@edge.example.net');
    await stage.page.getByText('An address with a password').waitFor();
    await field('Address of the edge').fill('https://edge.example.net/');
    await stage.page.getByText('Name at least one site.').waitFor();
    await field('For files of these sites').fill('example.com');
    await stage.page.keyboard.press('Enter');
    const edge = { url: 'https://edge.example.net', hosts: ['example.com'] };
    expect(await saved()).toMatchObject([{ edges: [edge] }]);
    const hosts = field('For files of these sites: https://edge.example.net');
    await hosts.fill('example.com, example.org');
    await hosts.blur();
    const both = { ...edge, hosts: ['example.com', 'example.org'] };
    expect(await saved()).toMatchObject([{ edges: [both] }]);
    await stage.button('Remove https://edge.example.net').click();
    expect(await saved()).toMatchObject([{ edges: [] }]);
    await stage.button('Undo').click();
    await hosts.waitFor();
    expect(await saved()).toMatchObject([{ edges: [both] }]);
  });

  test('keep what the popup has changed meanwhile, and show it', async () => {
    await stage.open('options.html');
    await stage.page.getByRole('switch', { name: 'Notifications' }).waitFor();
    await stage.fake.set({ settings: { offHosts: ['popup.example'] } });
    await until(
      async () => (await field('Leave these to the browser').inputValue()) === 'popup.example',
    );
    await stage.page.getByRole('radio', { name: 'Shift' }).check();
    await stage.page.getByRole('radio', { name: 'Dark' }).check();
    await stage.page.locator('html[data-theme="dark"]').waitFor();
    expect((await stage.fake.waitFor(2)).map(({ settings }) => settings)).toMatchObject([
      { offHosts: ['popup.example'], skipKey: 'shift', theme: 'system' },
      { offHosts: ['popup.example'], skipKey: 'shift', theme: 'dark' },
    ]);
  });

  test('say what to do without the desktop app, and what each permission is for', async () => {
    await stage.fake.set({ state: { taker: 'browser', desktopProblem: 'There is no such host.' } });
    await stage.open('options.html');
    await stage.page.getByText('There is no such host.').waitFor();
    const app = stage.page.getByRole('link', { name: 'Get the app' });
    expect(await app.getAttribute('href')).toMatch(/^https:/);
    await stage.fake.set({ state: { taker: 'desktop', desktopProblem: null } });
    await stage.page.getByText('Connected. The app takes downloads').waitFor();
    const asked = await stage.page.evaluate(() => {
      const { runtime } = (globalThis as unknown as { chrome: { runtime: Runtime } }).chrome;
      return runtime.getManifest();
    });
    const explained = await stage.page.locator('#permissions dt').allTextContents();
    expect(explained).toEqual([...asked.permissions, ...asked.host_permissions]);
  });

  test('say that they could not be saved, and show the values in force', async () => {
    await stage.fake.set({ failures: { 'set-settings': 'the disk is full' } });
    await stage.open('options.html');
    await stage.page.getByRole('switch', { name: 'Notifications' }).click();
    await stage.page.getByText('That did not work: the disk is full').waitFor();
    await becomes(
      () => stage.page.getByRole('switch', { name: 'Notifications' }).isChecked(),
      true,
    );
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
      await options.getByText('Saved', { exact: true }).waitFor();
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
