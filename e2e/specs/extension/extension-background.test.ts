/** The extension without the desktop: it takes downloads itself, and reports on them. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { ExtensionStage } from '../../fixtures/pages/extension-stage.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1024 * 1024;
const hooks = testsWhere(browserOrComplain('the extension without the desktop'));
const { beforeAll, describe, test } = hooks;

interface Shown {
  readonly taker: string;
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

const stage = ExtensionStage.forAllTests(hooks);

beforeAll(async () => {
  await stage.browser.set({ minBytes: MB });
  // The background hears of the settings by an event, and may just be starting.
  const heard = async () => JSON.stringify(await ask({ type: 'get-settings' }));
  await until(async () => (await heard()).includes(`"minBytes":${MB}`));
});

/** Asks the background. @throws Error if it does not understand the request, or fails */
async function ask<T>(request: object): Promise<T> {
  const answer = await stage.browser.asExtension<T & { failed?: unknown }>(
    `chrome.runtime.sendMessage(${JSON.stringify(request)})`,
  );
  // `failed` of added links is their number; that of a failure is an object.
  if (answer === null || answer === undefined || typeof answer.failed === 'object') {
    throw new Error(`${JSON.stringify(request)} got ${JSON.stringify(answer)}`);
  }
  return answer;
}

const state = () => ask<{ downloads: Shown[]; taker: string }>({ type: 'state' });
const shown = async (name: string) =>
  (await state()).downloads.find((download) => download.name === name);

/**
 * Waits until an unfinished download is shown: while the engine takes its time to answer, the
 * background shows its last answer, in which a new download is missing.
 *
 * @param name beginning of its name
 */
async function unfinished(name: string): Promise<Shown> {
  let found: Shown | undefined;
  await until(async () => {
    found = (await state()).downloads.find(
      (one) => one.name.startsWith(name) && one.status !== 'complete',
    );
    return found !== undefined;
  });
  return found as Shown;
}

/** Removes a download of the extension. */
const remove = ({ id }: Shown) => ask({ type: 'command', taker: 'browser', id, command: 'remove' });

async function savedOnce(path: string, name: string): Promise<void> {
  await until(async () => (await shown(name))?.status === 'complete');
  // The extension removes the browser's own download when it has the file itself.
  await until(async () =>
    (await stage.browser.listed()).every(({ url }) => !url.startsWith('http')),
  );
  await until(async () => (await readdir(stage.browser.downloads)).join() === name);
  expect(sha256(await readFile(join(stage.browser.downloads, name)))).toBe(
    stage.files.digest(path),
  );
}

describe('without the desktop', () => {
  test('a large download is fetched in the extension, and saved once', async () => {
    const body = contentOf('auto', 3 * MB);
    const page = await stage.open(stage.files.add('/auto', { body, name: 'auto.bin' }));
    await page.evaluate(() => (document.querySelector('#link') as HTMLElement).click());
    await savedOnce('/auto', 'auto.bin');
    expect(stage.files.asked('/auto', 'browser')).toHaveLength(1);
    expect((await state()).taker).toBe('browser');
  });

  test('the user is told of the end of a download, even by a background that has not seen its start', async () => {
    const told = () =>
      stage.browser
        .asExtension<object>('chrome.notifications.getAll()')
        .then((all) => Object.keys(all));
    for (const id of await told()) {
      await stage.browser.asExtension(`chrome.notifications.clear(${JSON.stringify(id)})`);
    }
    const file = { body: contentOf('told', MB), name: 'told.bin' };
    stage.files.add('/told', { ...file, toTakers: 'later' });
    await ask({ type: 'add', links: [{ url: stage.files.url('/told') }] });
    await until(
      async () => (await stage.browser.asExtension('chrome.action.getBadgeText({})')) === '1',
    );
    await stage.browser.killBackground();
    stage.files.add('/told', file);
    stage.files.release();
    await until(async () => (await shown('told.bin'))?.status === 'complete');
    await until(async () => (await told()).length === 1);
  });

  test('the badge counts running downloads', async () => {
    const badge = () => stage.browser.asExtension<string>('chrome.action.getBadgeText({})');
    stage.files.add('/silent', {
      body: contentOf('silent', MB),
      name: 's.bin',
      toTakers: 'nothing',
    });
    await ask({ type: 'add', links: [{ url: stage.files.url('/silent') }] });
    await until(async () => (await badge()) === '1');
    await remove(await unfinished('silent'));
    await until(async () => (await badge()) === '');
    await ask({ type: 'switch-all', on: false });
    await until(async () => (await badge()) !== '');
    await ask({ type: 'switch-all', on: true });
    await until(async () => (await badge()) === '');
  });

  test('a download that the browser fetches for the extension ends when it is removed', async () => {
    // Without a validator the file can only be fetched in one piece.
    const file = { body: contentOf('whole', 3 * MB), name: 'whole.bin', validator: false };
    stage.files.add('/whole', file);
    await ask({ type: 'add', links: [{ url: stage.files.url('/whole') }] });
    const listed = async () =>
      (await stage.browser.listed()).filter(({ url }) => url === stage.files.url('/whole'));
    await until(async () => stage.files.held === 1 && (await listed()).length === 1);
    const running = await unfinished('whole');
    const before = await readdir(stage.browser.downloads);
    await remove(running);
    await until(async () => stage.files.held === 0 && (await listed()).length === 0);
    // The browser deletes its partial file after it lists the end of the download.
    await until(async () =>
      (await readdir(stage.browser.downloads)).every(
        (name) => before.includes(name) && !/whole/.test(name),
      ),
    );
  });

  test('the picker lists the links of a page', async () => {
    const body = contentOf('chosen', MB);
    const page = await stage.open(stage.files.add('/chosen', { body, name: 'chosen.bin' }));
    await stage.browser.chooseInMenu(page, 'menuPage');
    const isPicker = (one: Page) => one.url().includes('/picker.html?key=');
    await until(() => stage.browser.context.pages().some(isPicker));
    const picker = stage.browser.context.pages().find(isPicker) as Page;
    stage.closeLater(picker);
    await picker.getByText('chosen', { exact: false }).first().waitFor();
  });

  test('a message that no page of ours would send is not answered', async () => {
    for (const request of [{ type: 'other' }, { type: 'state', url: 5 }, 'state', null]) {
      const asked = `chrome.runtime.sendMessage(${JSON.stringify(request)})`;
      const answer = `${asked}.then((answer) => answer ?? 'nothing', () => 'nothing')`;
      expect(await stage.browser.asExtension(answer)).toBe('nothing');
    }
    expect(await state()).toMatchObject({ on: true });
  });
});
