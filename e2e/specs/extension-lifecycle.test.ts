/** The extension in a real Chromium, ended in the middle of its work: nothing of the user's is lost. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { CHROMIUM_EXTENSION_ID } from '@millrace/shared/bridge/native-api';
import type { Page } from 'playwright-core';
import { type BrowserFile, BrowserFiles } from '../fixtures/browser-files.ts';
import { contentOf, sha256 } from '../fixtures/content.ts';
import { buildExtension, ExtensionBrowser } from '../fixtures/extension.ts';
import { temporaryFolder } from '../fixtures/processes.ts';
import { named } from '../fixtures/public-names.ts';
import { testsWhere } from '../fixtures/tests-where.ts';
import { browserOrComplain } from '../fixtures/ui.ts';
import { until } from '../fixtures/until.ts';

const MB = 1024 * 1024;
const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  browserOrComplain('the life of the extension'),
);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let files: BrowserFiles;
let browser: ExtensionBrowser;
const pages: Page[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  files = await BrowserFiles.start();
  const built = await buildExtension(join(folder.path, 'built'));
  browser = await ExtensionBrowser.start({ extension: built.chromium });
  await browser.set({ minBytes: MB, taker: 'browser' });
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

/** Adds a file, opens a page with a link to it, and clicks. */
async function click(
  path: string,
  more: Partial<BrowserFile> = {},
  host = '127.0.0.1',
): Promise<void> {
  const name = path.slice(1);
  const page = await browser.context.newPage();
  pages.push(page);
  const file = { body: contentOf(name, 2 * MB), name: `${name}.bin`, ...more };
  await page.goto(named(files.add(path, file), host));
  await page.evaluate(() => (document.querySelector('#link') as HTMLElement).click());
}

/** Has the browser enable or disable the extension, as the user does. */
async function setEnabled(enabled: boolean): Promise<void> {
  const page = await browser.context.newPage();
  await page.goto('chrome://extensions');
  await page.evaluate(
    ([id, on]) =>
      (
        globalThis as unknown as {
          chrome: { management: { setEnabled(id: string, on: boolean): Promise<void> } };
        }
      ).chrome.management.setEnabled(id, on),
    [CHROMIUM_EXTENSION_ID, enabled] as const,
  );
  await page.close();
}

const isRight = async (name: string) => {
  const bytes = await readFile(join(browser.downloads, `${name}.bin`)).catch(() => undefined);
  return bytes !== undefined && sha256(bytes) === files.digest(`/${name}`);
};

test('redirects are followed once for the proof, and not again for each range', async () => {
  const body = contentOf('end', 20 * MB);
  files.add('/end', { body, name: 'end.bin' });
  for (let hop = 5; hop > 1; hop--) {
    const at = hop === 5 ? '/end' : `/hop-${hop + 1}`;
    files.add(`/hop-${hop}`, { body: Buffer.alloc(0), name: '', at });
  }
  await click('/hop-1', { at: '/hop-2' });
  await until(() => isRight('end'));
  expect(files.asked('/end', 'taker').length).toBeGreaterThan(5);
  expect(files.asked('/hop-1', 'taker')).toHaveLength(1);
});

test('a file without TLS stays with the browser, which asks about it', async () => {
  await click('/insecure', { held: false }, 'files.example');
  const own = async () => (await browser.listed()).filter(({ url }) => url.endsWith('/insecure'));
  await until(async () => (await own())[0]?.bytesReceived === 2 * MB);
  // It waits for the user's word, and nobody else has put it anywhere.
  expect(await own()).toMatchObject([{ state: 'in_progress' }]);
  expect(await isRight('insecure')).toBe(false);
  expect(files.asked('/insecure', 'taker')).toEqual([]);
  await browser.set({ takeInsecure: true });
  await click('/wanted', {}, 'files.example');
  await until(() => isRight('wanted'));
});

describe('in the middle of a hand-over', () => {
  test('the browser’s download is not paused', async () => {
    await click('/running', { toTakers: 'nothing' });
    await until(() => files.asked('/running', 'taker').length > 0);
    await browser.killBackground();
    const [item] = (await browser.listed()).filter(({ url }) => url.endsWith('/running'));
    expect(item).toMatchObject({ state: 'in_progress', paused: false });
    files.release();
    await until(() => isRight('running'));
  });

  test('an extension that is disabled leaves the browser’s download, which is completed', async () => {
    await click('/disabled', { toTakers: 'nothing' });
    await until(() => files.asked('/disabled', 'taker').length > 0);
    await setEnabled(false);
    files.release();
    await until(() => isRight('disabled'));
    await setEnabled(true);
    await browser.worker();
  });
});
