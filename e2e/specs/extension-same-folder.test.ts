/**
 * The extension in a real Chromium whose folder is the app's as well, as it is for everybody who has
 * chosen neither: both give a file the same name, and it must be there in the end, whoever has it.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import type { Page } from 'playwright-core';
import { type BrowserFile, BrowserFiles } from '../fixtures/browser-files.ts';
import { contentOf, sha256 } from '../fixtures/content.ts';
import { DaemonCli } from '../fixtures/daemon-cli.ts';
import { buildExtension, ExtensionBrowser } from '../fixtures/extension.ts';
import { temporaryFolder } from '../fixtures/processes.ts';
import { named } from '../fixtures/public-names.ts';
import { testsWhere } from '../fixtures/tests-where.ts';
import { browserOrComplain } from '../fixtures/ui.ts';
import { until } from '../fixtures/until.ts';

const MB = 1024 * 1024;
const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  browserOrComplain('hand-offs within one folder'),
);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let files: BrowserFiles;
let cli: DaemonCli;
let browser: ExtensionBrowser;
const pages: Page[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  files = await BrowserFiles.start();
  cli = new DaemonCli(folder.path);
  const profile = join(folder.path, 'profile');
  const [built] = await Promise.all([
    buildExtension(join(folder.path, 'built')),
    cli.json('native-host', 'install', 'chromium', '--dir', profile),
  ]);
  browser = await ExtensionBrowser.start({
    extension: built.chromium,
    profile,
    environment: cli.env,
  });
  await cli.json('daemon', '--detach', '--port', '0', '--dir', browser.downloads);
  await browser.set({ minBytes: MB, taker: 'desktop' });
});

afterEach(async () => {
  files?.release();
  for (const page of pages.splice(0)) await page.close();
});

afterAll(async () => {
  await browser?.stop();
  await cli.kill();
  await files.stop();
  await folder.remove();
});

async function click(path: string, more: Partial<BrowserFile> = {}): Promise<void> {
  const name = path.slice(1);
  const page = await browser.context.newPage();
  pages.push(page);
  const file = { body: contentOf(name, 2 * MB), name: `${name}.bin`, ...more };
  await page.goto(named(files.add(path, file), '127.0.0.1'));
  await page.evaluate(() => (document.querySelector('#link') as HTMLElement).click());
}

const own = async (path: string) =>
  (await browser.listed()).filter(({ url }) => url.endsWith(path)).map(({ state }) => state);

async function apps(path: string): Promise<string[]> {
  const { downloads } = await cli.call<{ downloads: { name: string; status: string }[] }>('list');
  return downloads
    .filter(({ name }) => name.startsWith(`${path.slice(1)}.`))
    .map(({ status }) => status);
}

const handOffs = () =>
  browser.asExtension<number>(
    `chrome.storage.local.get(null).then((all) =>
      Object.keys(all).filter((key) => key.startsWith('hand-off:')).length)`,
  );

/** One of them has it, complete; the other nothing. It is there once, and right. */
async function endsOnce(path: string): Promise<void> {
  const name = path.slice(1);
  await until(async () => {
    await browser.wakeBackground();
    return [...(await own(path)), ...(await apps(path))].join() === 'complete';
  });
  await until(async () => (await handOffs()) === 0);
  // The trash's folder is there until it is known that there is nothing to put into it.
  const there = async () => (await readdir(browser.downloads)).filter((one) => one.includes(name));
  await until(async () => (await there()).length <= 1);
  const [file = 'nothing'] = await there();
  expect(file).toMatch(new RegExp(`^${name}(\\.1)?\\.bin$`));
  expect(sha256(await readFile(join(browser.downloads, file)))).toBe(files.digest(path));
}

/** Resolves when a hand-off has been written down as being there, or is over without that. */
const reached = (phase: string) =>
  browser.asExtension(`new Promise((resolve) => {
    const listener = (changes) => {
      const is = Object.entries(changes).some(([key, { newValue }]) =>
        key.startsWith('hand-off:') && (newValue?.phase ?? '${phase}') === '${phase}');
      if (!is) return;
      chrome.storage.local.onChanged.removeListener(listener);
      resolve();
    };
    chrome.storage.local.onChanged.addListener(listener);
  })`);

test('what goes well is there under its name', async () => {
  await click('/well');
  await endsOnce('/well');
  expect(await own('/well')).toEqual([]);
  expect(await readdir(browser.downloads)).toContain('well.bin');
});

test('what is completed by both, because cancelling takes its time, is not deleted', async () => {
  // The next background has the browser's own again.
  await (await browser.worker()).evaluate(() => {
    const { downloads } = (globalThis as unknown as { chrome: { downloads: object } }).chrome;
    Object.assign(downloads, { cancel: () => new Promise(() => {}) });
  });
  const ending = reached('ending');
  await click('/both');
  await ending;
  await until(async () => (await apps('/both')).join() === 'complete');
  files.release();
  await until(async () => (await own('/both')).join() === 'complete');
  await browser.killBackground();
  await endsOnce('/both');
});

describe('the background ends, and the browser’s own is complete before it begins again,', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  const random = seededRandom(seed);

  test.each(['offering', 'checking', 'committing', 'settling', 'ending'])(
    `while it is %s (SEED=${seed})`,
    async (phase) => {
      const path = `/dies-${phase}`;
      const killed = reached(phase).then(async () => {
        for (let turns = Math.floor(random() * 5); turns > 0; turns--) {
          await browser.asExtension('0');
        }
        await browser.killBackground();
      });
      await click(path);
      await killed;
      files.release();
      await until(async () => !(await own(path)).includes('in_progress'));
      await endsOnce(path);
    },
  );
});
