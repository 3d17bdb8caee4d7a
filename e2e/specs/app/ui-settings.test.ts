/** The interface: export and import of lists, limits learned from servers, and categories. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { SECOND } from '@millrace/shared/download/signatures/testing/signed';
import type { Locator } from 'playwright-core';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { rowOf } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { until } from '../../fixtures/until.ts';

const NAMES = ['one.zip', 'two.zip', 'three.mkv'];

let origin: FaultOrigin;
let other: FaultOrigin;
const ui = new UiStage('settings of the interface', async (stage) => {
  origin = stage.keep(await FaultOrigin.start());
  other = stage.keep(await FaultOrigin.start());
  for (const name of NAMES) {
    await stage.daemon.add({ urls: [origin.url('none', { name })], paused: true });
  }
});

/** Opens a page of the settings. */
async function settings(name: string): Promise<Locator> {
  await ui.page.keyboard.press('Control+,');
  await ui.page.getByRole('tab', { name }).click();
  return ui.page.getByRole('tabpanel', { name });
}

async function close(): Promise<void> {
  await ui.page.keyboard.press('Escape');
  await ui.page.getByRole('dialog').waitFor({ state: 'detached' });
}

async function list() {
  return (await ui.daemon.call('millrace.list')).downloads;
}

const named = async (name: string) => (await list()).find((one) => one.name === name);

ui.when('resolvers', () => {
  test('are set up, tried and switched off, and details name the one that has found a link', async () => {
    const file = origin.url('none', { name: 'found.bin' });
    const script = join(ui.folder, 'resolver.sh');
    const answer = JSON.stringify({ urls: [file], name: 'found.bin', note: 'the best one' });
    await writeFile(script, `read -r url\necho '${answer}'\n`);
    const page = await settings('Resolvers');
    await page.getByText('None is set up.').waitFor();
    await page.getByRole('button', { name: 'Add a program…' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('own');
    await page.getByRole('textbox', { name: 'Program and arguments' }).fill(`./sh\n${script}`);
    await page.getByRole('textbox', { name: 'Links that it is for' }).fill('http://127.0.0.1/page');
    await page.getByRole('button', { name: 'Save' }).click();
    await ui.page
      .getByText(/absolute path/)
      .first()
      .waitFor();
    await page.getByRole('textbox', { name: 'Program and arguments' }).fill(`/bin/sh\n${script}`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('switch', { name: 'own' }).waitFor();

    const link = 'http://127.0.0.1/page';
    const test = page.getByRole('textbox', { name: 'Link to ask about' });
    await test.fill(link);
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByText(file).waitFor();
    await page.getByText('the best one').waitFor();
    await close();

    const { gid } = await ui.daemon.call('millrace.add', { urls: [link], paused: true });
    await rowOf(ui.page, 'found.bin').click();
    await ui.page.getByRole('tab', { name: 'File' }).click();
    await ui.page.getByRole('tabpanel').getByText(link, { exact: true }).waitFor();
    await ui.page.getByRole('tabpanel').getByText('own', { exact: true }).waitFor();
    const { duplicates } = await ui.daemon.call('millrace.checkDuplicates', { urls: [link] });
    expect(duplicates).toMatchObject([{ gid, same: 'url' }]);
    await ui.daemon.call('millrace.remove', { gids: [gid], forget: true });

    await (await settings('Resolvers')).getByRole('switch', { name: 'own' }).click();
    const isOff = async () => {
      const { resolvers } = await ui.daemon.call('millrace.getResolvers');
      return resolvers[0]?.off === true;
    };
    await until(isOff);
    await close();
  });
});

ui.when('categories', () => {
  test('of several downloads are changed by their menu', async () => {
    await rowOf(ui.page, 'one.zip').click();
    await rowOf(ui.page, 'two.zip').click({ modifiers: ['Control'] });
    await rowOf(ui.page, 'two.zip').click({ button: 'right' });
    await ui.page.getByRole('menuitem', { name: 'Category' }).click();
    const archives = ui.page.getByRole('menuitemradio', { name: 'Archives' });
    expect(await archives.getAttribute('aria-checked')).toBe('true');
    await ui.page.getByRole('menuitemradio', { name: 'Documents' }).click();
    const filters = ui.page.getByRole('navigation');
    await filters.getByRole('button', { name: /Documents\s*2/ }).waitFor();
    await filters.getByRole('button', { name: /Archives/ }).waitFor({ state: 'detached' });
    await ui.page.keyboard.press('Escape');
  });

  test('of one download decide its folder, unless the user has chosen one or it has begun', async () => {
    const [dir, films] = [join(ui.folder, 'downloads'), 'films'];
    const category = { name: 'films', folder: films, extensions: ['mp4'] };
    const { categories } = await ui.daemon.call('millrace.getSettings');
    await ui.daemon.call('millrace.setSettings', { categories: [...categories, category] });
    await rowOf(ui.page, 'three.mkv').click();
    await ui.page.getByRole('tab', { name: 'File' }).click();
    await ui.page.getByRole('combobox', { name: 'Category' }).selectOption({ label: 'films' });
    await until(async () => (await named('three.mkv'))?.category === 'films');
    expect((await named('three.mkv'))?.dir).toBe(join(dir, films));
    await ui.page.getByText(join(dir, films)).waitFor();

    await rowOf(ui.page, 'three.mkv').click({ button: 'right' });
    await ui.page.getByRole('menuitem', { name: 'Change…' }).click();
    const dialog = ui.page.getByRole('dialog', { name: 'Change three.mkv' });
    const folder = dialog.getByRole('textbox', { name: 'Folder' });
    expect(await folder.getAttribute('placeholder')).toBe(join(dir, films));
    await folder.fill(join(dir, 'elsewhere'));
    await dialog.getByRole('combobox', { name: 'Category' }).selectOption({ label: 'None' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await until(async () => (await named('three.mkv'))?.category === undefined);
    expect((await named('three.mkv'))?.dir).toBe(join(dir, 'elsewhere'));

    // A complete download's file stays where it is.
    const gid = await ui.gidOf('three.mkv');
    await ui.daemon.call('millrace.resume', { gids: [gid] });
    await ui.daemon.reaches(gid, 'complete');
    await ui.page.getByRole('combobox', { name: 'Category' }).selectOption({ label: 'films' });
    await until(async () => (await named('three.mkv'))?.category === 'films');
    expect((await named('three.mkv'))?.dir).toBe(join(dir, 'elsewhere'));
  });
});

ui.when('the list', () => {
  test('is exported to a file, and imported from it', async () => {
    const before = await list();
    const page = await settings('Import & export');
    const saved = ui.page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export to a file…' }).click();
    const file = join(ui.folder, 'exported.json');
    expect((await saved).suggestedFilename()).toMatch(/^millrace-\d{4}-\d\d-\d\d\.json$/);
    await (await saved).saveAs(file);
    expect(await readFile(file, 'utf8')).toContain(origin.url('none', { name: 'one.zip' }));

    const gids = await Promise.all(NAMES.map((name) => ui.gidOf(name)));
    await ui.daemon.call('millrace.remove', { gids, forget: true });
    await rowOf(ui.page, 'one.zip').waitFor({ state: 'detached' });
    await page.locator('input[type="file"]').setInputFiles(file);
    // The preview shows the downloads, and none is added before the user confirms.
    await page.getByText('one.zip').waitFor();
    expect(await list()).toEqual([]);
    await page.getByRole('button', { name: 'Add 3 downloads' }).click();
    await page.getByText('3 downloads added').waitFor();
    const after = await list();
    const what = ({ name, category, dir, status }: (typeof after)[number]) => ({
      name,
      category,
      dir,
      status,
    });
    expect(after.map(what)).toEqual(before.map(what));
  });

  test('names the entries of a file that it could not import, and why', async () => {
    const page = ui.page.getByRole('tabpanel', { name: 'Import & export' });
    const file = join(ui.folder, 'links.txt');
    const link = origin.url('none', { name: 'four.zip' });
    await writeFile(file, `${link}\n dir=/etc/cron.d\nftp://example.com/five.zip\n`);
    await page.locator('input[type="file"]').setInputFiles(file);
    await page.getByText('Entry 1: Folder outside the download folder: /etc/cron.d').waitFor();
    await page.getByText('1 risky setting is left out').waitFor();
    await page.getByText('I trust this list').click();
    await page.getByText('1 download to /etc/cron.d:').waitFor();
    await page.getByText('I trust this list').click();
    await page.getByText('1 risky setting is left out').waitFor();
    await page.getByText('Add them paused').click();
    await page.getByRole('button', { name: 'Add 1 download' }).click();
    await page.getByText('1 download added').waitFor();
    await page.getByText('1 entry was left out:').waitFor();
    await page.getByText(/Entry 3: .*ftp:/).waitFor();
    expect((await named('four.zip'))?.status).toBe('paused');

    await writeFile(file, '{"millrace": "downloads", "format": 99, "downloads": []}');
    await page.locator('input[type="file"]').setInputFiles(file);
    await page.getByText(/links.txt cannot be imported: .*newer version/).waitFor();
    await page.getByText('1 entry was left out:').waitFor({ state: 'detached' });
    await close();
  });
});

async function learned() {
  return (await ui.daemon.call('millrace.getLimits')).hosts;
}

ui.when('what servers have taught', () => {
  test('is listed, and forgotten one by one', async () => {
    for (const server of [origin, other]) {
      // While one request waits at the gate, the next one is refused.
      const url = server.url('gate+one-at-a-time', { name: 'busy.bin' });
      const gid = await ui.daemon.add({ urls: [url] });
      await until(async () => (await learned()).some(({ host }) => host === server.host));
      server.openGate();
      await ui.daemon.reaches(gid, 'complete');
    }
    const page = await settings('Limits');
    const hosts = page.getByRole('listitem');
    const mine = hosts.filter({ hasText: origin.host });
    const limit = (await learned()).find(({ host }) => host === origin.host)?.limit ?? 0;
    // Fewer than where nothing was learned; the limit rises again while the rest of the file comes.
    expect(limit).toBeLessThan(REQUEST_DEFAULTS.connectionsPerHost);
    await mine.getByText(new RegExp(`^${limit} connections? at a time$`)).waitFor();
    expect(await hosts.count()).toBe(2);
    await page.getByRole('button', { name: `Forget ${origin.host}` }).click();
    await mine.waitFor({ state: 'detached' });
    await close();

    const again = (await settings('Limits')).getByRole('listitem');
    await again.filter({ hasText: other.host }).waitFor();
    expect(await again.count()).toBe(1);
    await ui.page.getByRole('button', { name: 'Forget all' }).click();
    await ui.page.getByText('Nothing has been learned so far.').waitFor();
    await close();
    expect(await learned()).toEqual([]);
    expect(ui.problems).toEqual([]);
  });
});

ui.when('what happens after a download', () => {
  test('is set by category, and its end is shown in the details', async () => {
    const page = await settings('After the download');
    await page.getByLabel('Move the file to').fill('Sorted');
    await page.getByRole('button', { name: 'Save' }).first().click();
    const after = () => ui.daemon.call('millrace.getAfter');
    await until(async () => (await after()).rules.length === 1);
    expect((await after()).rules).toEqual([{ move: 'Sorted' }]);
    await page.getByLabel('For downloads of the category').selectOption('archives');
    await page.getByRole('switch', { name: 'Extract archives' }).click();
    await page.getByRole('button', { name: 'Save' }).first().click();
    await until(async () => (await after()).rules.length === 2);
    await close();
    const url = origin.url('none', { name: 'then.bin' });
    await ui.daemon.reaches(await ui.daemon.add({ urls: [url] }), 'complete');
    await rowOf(ui.page, 'then.bin').click();
    await ui.page.getByRole('tab', { name: 'File' }).click();
    const step = ui.page.getByRole('listitem').filter({ hasText: 'Move' });
    await step.getByText('done').waitFor();
    await step.getByText(join(ui.folder, 'downloads', 'Sorted', 'then.bin')).waitFor();
    expect(ui.problems).toEqual([]);
  });
});

ui.when('keys of publishers', () => {
  test('are added by their fingerprint, and removed', async () => {
    const page = await settings('Integration');
    const key = page.getByLabel('Public key');
    const fingerprint = page.getByLabel('Fingerprint');
    const add = page.getByRole('button', { name: 'Add key' });
    const shown = page.getByText(SECOND.fingerprint.replace(/.{4}(?=.)/g, '$& '));
    await key.fill(SECOND.key);
    await fingerprint.fill('ab'.repeat(20));
    await page.getByLabel('For files from').fill('example.org');
    await add.click();
    await ui.page
      .getByText(/has no key/)
      .first()
      .waitFor();
    expect((await ui.daemon.call('millrace.getKeys')).keys).toEqual([]);
    await fingerprint.fill(SECOND.fingerprint);
    await add.click();
    await shown.waitFor();
    expect((await ui.daemon.call('millrace.getKeys')).keys).toEqual([
      { fingerprint: SECOND.fingerprint, name: 'Second Publisher', patterns: ['example.org'] },
    ]);
    await page.getByRole('button', { name: 'Remove the key of Second Publisher' }).click();
    await shown.waitFor({ state: 'detached' });
    expect((await ui.daemon.call('millrace.getKeys')).keys).toEqual([]);
    await close();
  });
});
