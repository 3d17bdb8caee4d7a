/**
 * The engine in the extension, in a real Chromium, at an origin that is slow on each connection: a
 * large download must not keep others of its host from coming.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { SlowFiles } from '../../fixtures/origins/slow-files.ts';
import { buildExtension, ExtensionBrowser } from '../../fixtures/pages/extension.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1024 * 1024;
/** Bytes per second of each connection. */
const RATE = 2 * MB;
const BINARY = 'application/octet-stream';
/** A file that cannot be complete when its test ends, at most six minutes later. */
const SLOW = { bytes: 192 * MB, rate: MB / 16, type: BINARY };
const { afterAll, beforeAll, test } = testsWhere(browserOrComplain('fairness of the extension'));

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let files: SlowFiles;
let browser: ExtensionBrowser;
let page: Page;

beforeAll(async () => {
  folder = await temporaryFolder();
  files = await SlowFiles.start(RATE);
  const { chromium } = await buildExtension(join(folder.path, 'built'));
  browser = await ExtensionBrowser.start({ extension: chromium });
  await browser.set({ minBytes: MB / 2, taker: 'browser' });
  page = await browser.context.newPage();
  await page.goto(files.add('/page', { bytes: 1, type: 'text/html' }));
});

afterAll(async () => {
  await browser?.stop();
  await files.stop();
  await folder.remove();
});

/** Clicks a link with `download`, which keeps earlier downloads: a plain link would end them. */
async function click(url: string): Promise<void> {
  await page.evaluate((href) => {
    const link = document.createElement('a');
    link.href = href;
    link.download = '';
    document.body.append(link);
    link.click();
  }, url);
}

interface Shown {
  readonly name: string;
  readonly status: string;
  readonly storedBytes: number;
}

/** Finds the extension's download of a name. */
async function shown(name: string): Promise<Shown | undefined> {
  const { downloads } = await browser.ask<{ downloads: Shown[] }>({ type: 'state' });
  return downloads.find((one) => one.name === name);
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function isSaved(name: string): Promise<boolean> {
  const all = await browser.listed();
  return all.some(({ filename, state }) => filename.endsWith(`/${name}`) && state === 'complete');
}

const digest = (path: string) => createHash('sha256').update(files.content(path)).digest('hex');

test('a large slow download gives connections to a second one of its host and to ten small ones', async () => {
  // Even over all six connections, the large download takes over eight minutes.
  await click(files.add('/large.bin', SLOW));
  await until(async () => ((await shown('large.bin'))?.storedBytes ?? 0) > MB / 2);
  await click(files.add('/second.bin', { bytes: 8 * MB, type: BINARY }));
  await until(() => isSaved('second.bin'));
  const names = Array.from({ length: 10 }, (_, i) => `small-${i}.bin`);
  await Promise.all(names.map((name) => click(files.add(`/${name}`, { bytes: MB, type: BINARY }))));
  for (const name of names) await until(() => isSaved(name));
  expect((await shown('large.bin'))?.status).toBe('active');
  for (const name of ['second.bin', ...names]) {
    expect(await digestOf(join(browser.downloads, name))).toBe(digest(`/${name}`));
  }
});

test('a file for which no connection is free stays with the browser, which downloads it', async () => {
  const slow = Array.from({ length: 4 }, (_, i) => `slow-${i}.bin`);
  for (const name of slow) {
    await click(files.add(`/${name}`, SLOW));
    await until(async () => (await shown(name))?.status === 'active');
  }
  await click(files.add('/refused.bin', { bytes: 2 * MB, type: BINARY }));
  await until(() => isSaved('refused.bin'));
  expect(await shown('refused.bin')).toBeUndefined();
  expect(await digestOf(join(browser.downloads, 'refused.bin'))).toBe(digest('/refused.bin'));
});
