/** The extension in a real Chromium, ended in the middle of its work: the user loses nothing. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { CHROMIUM_EXTENSION_ID } from '@millrace/shared/bridge/native/native-api';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { buildExtension, ExtensionBrowser } from '../../fixtures/pages/extension.ts';
import { ExtensionStage } from '../../fixtures/pages/extension-stage.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1024 * 1024;
const hooks = testsWhere(browserOrComplain('the life of the extension'));
const { beforeAll, describe, test } = hooks;

const stage = ExtensionStage.forAllTests(hooks);

beforeAll(() => stage.browser.set({ minBytes: MB, taker: 'browser' }));

/** Has the browser enable or disable the extension, as the user does. */
async function setEnabled(enabled: boolean): Promise<void> {
  const page = await stage.browser.context.newPage();
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
  const bytes = await readFile(join(stage.browser.downloads, `${name}.bin`)).catch(() => undefined);
  return bytes !== undefined && sha256(bytes) === stage.files.digest(`/${name}`);
};

test('redirects are followed once for the proof, and not again for each range', async () => {
  const body = contentOf('end', 20 * MB);
  stage.files.add('/end', { body, name: 'end.bin' });
  for (let hop = 5; hop > 1; hop--) {
    const at = hop === 5 ? '/end' : `/hop-${hop + 1}`;
    stage.files.add(`/hop-${hop}`, { body: Buffer.alloc(0), name: '', at });
  }
  await stage.click('/hop-1', { at: '/hop-2' });
  await until(() => isRight('end'));
  expect(stage.files.asked('/end', 'taker').length).toBeGreaterThan(1);
  expect(stage.files.asked('/hop-1', 'taker')).toHaveLength(1);
});

test('a file without TLS stays with the browser, which asks about it', async () => {
  await stage.click('/insecure', { held: false }, '#link', 'files.example');
  const own = async () =>
    (await stage.browser.listed()).filter(({ url }) => url.endsWith('/insecure'));
  await until(async () => (await own())[0]?.bytesReceived === 2 * MB);
  // The browser waits for the user's answer, and nobody else has saved the file.
  expect(await own()).toMatchObject([{ state: 'in_progress' }]);
  expect(await isRight('insecure')).toBe(false);
  expect(stage.files.asked('/insecure', 'taker')).toEqual([]);
  await stage.browser.set({ takeInsecure: true });
  await stage.click('/wanted', {}, '#link', 'files.example');
  await until(() => isRight('wanted'));
});

test('a download that began before the installation stays the browser’s, and the user is told', async () => {
  const folder = await temporaryFolder();
  try {
    const { chromium } = await buildExtension(join(folder.path, 'built'));
    const browser = await ExtensionBrowser.start({
      extension: chromium,
      profile: join(folder.path, 'profile'),
      installed: false,
    });
    try {
      const body = contentOf('before', 17 * MB);
      const page = await browser.context.newPage();
      await page.goto(stage.files.add('/before', { body, name: 'before.bin' }));
      await page.evaluate(() => (document.querySelector('#link') as HTMLElement).click());
      await until(() => stage.files.asked('/before', 'browser').length > 0);
      await until(async () => (await readdir(browser.downloads)).length > 0);
      await browser.install(chromium);
      const told = () => browser.asExtension<object>('chrome.notifications.getAll()');
      await until(async () => Object.keys(await told()).length === 1);
      const [item] = await browser.listed();
      expect(item).toMatchObject({ state: 'in_progress', paused: false });
      expect(stage.files.asked('/before', 'taker')).toEqual([]);
      stage.files.release();
      await until(async () => (await browser.listed())[0]?.state === 'complete');
      const saved = await readFile(join(browser.downloads, 'before.bin'));
      expect(sha256(saved)).toBe(stage.files.digest('/before'));
      // The next download is seen from its beginning.
      stage.files.add('/after', { body: contentOf('after', 17 * MB), name: 'after.bin' });
      await page.goto(stage.files.url('/page?to=%2Fafter'));
      await page.evaluate(() => (document.querySelector('#link') as HTMLElement).click());
      await until(() => stage.files.asked('/after', 'taker').length > 0);
      stage.files.release();
    } finally {
      await browser.stop();
    }
  } finally {
    await folder.remove();
  }
});

describe('in the middle of a hand-off', () => {
  test('the browser’s download is not paused', async () => {
    await stage.click('/running', { toTakers: 'nothing' });
    await until(() => stage.files.asked('/running', 'taker').length > 0);
    await stage.browser.killBackground();
    const [item] = (await stage.browser.listed()).filter(({ url }) => url.endsWith('/running'));
    expect(item).toMatchObject({ state: 'in_progress', paused: false });
    stage.files.release();
    await until(() => isRight('running'));
  });

  test('an extension that is disabled leaves the browser’s download, which is completed', async () => {
    // A click is lost on a background that is just ending, and the file stays with the browser.
    await stage.browser.worker();
    await stage.click('/disabled', { toTakers: 'nothing' });
    await until(() => stage.files.asked('/disabled', 'taker').length > 0);
    await setEnabled(false);
    stage.files.release();
    await until(() => isRight('disabled'));
    await setEnabled(true);
    await stage.browser.worker();
  });
});
