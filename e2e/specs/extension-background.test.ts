/** The extension where there is no desktop: it takes downloads itself, and says what goes on. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { BrowserFiles } from '../fixtures/browser-files.ts';
import { contentOf, sha256 } from '../fixtures/content.ts';
import { buildExtension, ExtensionBrowser } from '../fixtures/extension.ts';
import { temporaryFolder } from '../fixtures/processes.ts';
import { testsWhere } from '../fixtures/tests-where.ts';
import { browserOrComplain } from '../fixtures/ui.ts';
import { until } from '../fixtures/until.ts';

const MB = 1024 * 1024;
const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  browserOrComplain('the extension without the desktop'),
);

interface Shown {
  readonly taker: string;
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let files: BrowserFiles;
let browser: ExtensionBrowser;
const pages: Page[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  files = await BrowserFiles.start();
  const built = await buildExtension(join(folder.path, 'built'));
  const profile = join(folder.path, 'profile');
  browser = await ExtensionBrowser.start({ extension: built.chromium, profile });
  await browser.set({ minBytes: MB });
  // The background hears of it by an event, and may just have been starting.
  const heard = async () => JSON.stringify(await ask({ type: 'get-settings' }));
  await until(async () => (await heard()).includes(`"minBytes":${MB}`));
});

afterEach(async () => {
  files?.release();
  for (const page of pages.splice(0)) await page.close();
});

afterAll(async () => {
  await browser?.stop();
  await files.stop();
  await folder.remove();
});

async function open(url: string): Promise<Page> {
  const page = await browser.context.newPage();
  pages.push(page);
  await page.goto(url);
  return page;
}

const ask = <T>(request: object) =>
  browser.asExtension<T>(`chrome.runtime.sendMessage(${JSON.stringify(request)})`);
const state = () => ask<{ downloads: Shown[]; taker: string }>({ type: 'state' });
const shown = async (name: string) =>
  (await state()).downloads.find((download) => download.name === name);

async function savedOnce(path: string, name: string): Promise<void> {
  await until(async () => (await shown(name))?.status === 'complete');
  // What the browser had of it is taken from it when another has the file.
  await until(async () => (await browser.listed()).every(({ url }) => !url.startsWith('http')));
  expect(await readdir(browser.downloads)).toEqual([name]);
  expect(sha256(await readFile(join(browser.downloads, name)))).toBe(files.digest(path));
}

describe('without the desktop', () => {
  test('a large download is fetched in the extension, and saved once', async () => {
    const body = contentOf('auto', 3 * MB);
    const page = await open(files.add('/auto', { body, name: 'auto.bin' }));
    await page.evaluate(() => (document.querySelector('#link') as HTMLElement).click());
    await savedOnce('/auto', 'auto.bin');
    expect(files.asked('/auto', 'browser')).toHaveLength(1);
    expect((await state()).taker).toBe('browser');
  });

  test('the end of a download is told, also by a background that has not seen its beginning', async () => {
    const told = () =>
      browser.asExtension<object>('chrome.notifications.getAll()').then((all) => Object.keys(all));
    for (const id of await told()) {
      await browser.asExtension(`chrome.notifications.clear(${JSON.stringify(id)})`);
    }
    const file = { body: contentOf('told', MB), name: 'told.bin' };
    files.add('/told', { ...file, toTakers: 'later' });
    await ask({ type: 'add', links: [{ url: files.url('/told') }] });
    await until(async () => (await browser.asExtension('chrome.action.getBadgeText({})')) === '1');
    await browser.killBackground();
    files.add('/told', file);
    files.release();
    await until(async () => (await shown('told.bin'))?.status === 'complete');
    await until(async () => (await told()).length === 1);
  });

  test('the badge counts what runs', async () => {
    const badge = () => browser.asExtension<string>('chrome.action.getBadgeText({})');
    files.add('/silent', { body: contentOf('silent', MB), name: 's.bin', toTakers: 'nothing' });
    await ask({ type: 'add', links: [{ url: files.url('/silent') }] });
    await until(async () => (await badge()) === '1');
    const [running] = (await state()).downloads.filter(({ status }) => status !== 'complete');
    await ask({ type: 'command', taker: 'browser', id: running?.id, command: 'remove' });
    await until(async () => (await badge()) === '');
    await ask({ type: 'switch-all', on: false });
    await until(async () => (await badge()) !== '');
    await ask({ type: 'switch-all', on: true });
    await until(async () => (await badge()) === '');
  });

  test('what the browser fetches for it ends when it is removed', async () => {
    // Nothing tells its versions apart: it is to be had in one piece only.
    const file = { body: contentOf('whole', 3 * MB), name: 'whole.bin', validator: false };
    files.add('/whole', file);
    await ask({ type: 'add', links: [{ url: files.url('/whole') }] });
    const listed = async () =>
      (await browser.listed()).filter(({ url }) => url === files.url('/whole'));
    await until(async () => files.held === 1 && (await listed()).length === 1);
    const running = (await state()).downloads.find(({ name }) => name.startsWith('whole'));
    const before = await readdir(browser.downloads);
    await ask({ type: 'command', taker: 'browser', id: running?.id, command: 'remove' });
    await until(async () => files.held === 0 && (await listed()).length === 0);
    const after = await readdir(browser.downloads);
    expect(after.filter((name) => !before.includes(name))).toEqual([]);
    expect(after.filter((name) => /whole/.test(name))).toEqual([]);
  });

  test('the links of a page are there to choose from', async () => {
    const body = contentOf('chosen', MB);
    const page = await open(files.add('/chosen', { body, name: 'chosen.bin' }));
    await browser.chooseInMenu(page, 'menuPage');
    const isPicker = (one: Page) => one.url().includes('/picker.html?key=');
    await until(() => browser.context.pages().some(isPicker));
    const picker = browser.context.pages().find(isPicker) as Page;
    pages.push(picker);
    await picker.getByText('chosen', { exact: false }).first().waitFor();
  });

  test('what no page of ours would ask is not answered', async () => {
    for (const request of [{ type: 'other' }, { type: 'state', url: 5 }, 'state', null]) {
      const asked = `chrome.runtime.sendMessage(${JSON.stringify(request)})`;
      const answer = `${asked}.then((answer) => answer ?? 'nothing', () => 'nothing')`;
      expect(await browser.asExtension(answer)).toBe('nothing');
    }
    expect(await state()).toMatchObject({ on: true });
  });
});
