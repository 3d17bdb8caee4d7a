/**
 * Takes the pictures of the interface that the README shows: `node e2e/pictures/main.ts [FOLDER]`,
 * after `node scripts/build-ui.mjs`. It takes about two minutes, as downloads need some progress.
 */

import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { CHROMIUM, launchBrowser, openUi } from '../fixtures/pages/ui.ts';
import { Names } from './names.ts';
import { HOSTS, Scene } from './scene.ts';

const folder =
  process.argv[2] ?? fileURLToPath(new URL('../../desktop/ui/screenshots', import.meta.url));

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Takes a picture once short animations have ended. */
async function take(page: Page, name: string): Promise<void> {
  await page.mouse.move(640, 28);
  await pause(500);
  const path = join(folder, `${name}.png`);
  // Without a folder, only the pictures that documents or the store show are taken again.
  if (process.argv[2] === undefined && !existsSync(path)) return;
  await page.screenshot({ path });
}

async function takeDownloads(page: Page, scene: Scene): Promise<void> {
  await page.getByText('Welcome to Millrace').waitFor();
  await take(page, 'welcome');
  await page.getByRole('button', { name: /^Done, / }).click();
  await page.getByText('Nothing to download yet').waitFor();
  await take(page, 'empty');
  await scene.fill();
  await pause(14_000);
  await page.getByText(scene.main).first().click();
  await pause(20_000);
  await take(page, 'list');
  await page.getByRole('tab', { name: 'Sources' }).click();
  await take(page, 'sources');
  await page.getByRole('tab', { name: 'Overview' }).click();
  await scene.daemon.call('millrace.setSettings', { appearance: { theme: 'dark' } });
  await take(page, 'dark');
  await scene.daemon.call('millrace.setSettings', { appearance: { theme: 'light' } });
  await page.getByRole('grid').getByText(scene.expired).click();
  await take(page, 'failed');
  await page.getByText(scene.main).first().click();
}

async function takeDialogs(page: Page, scene: Scene): Promise<void> {
  await page.getByRole('button', { name: 'Add downloads' }).first().click();
  await page.getByRole('textbox', { name: 'Links' }).fill(scene.pasted);
  await page.getByText('links found').waitFor();
  await page.getByRole('textbox', { name: 'Links' }).evaluate((box) => box.scrollTo(0, 0));
  await take(page, 'add');
  await page.keyboard.press('Escape');
  const settings = async (name: string) => {
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name }).click();
    await pause(1500);
    await take(page, `settings-${name.toLowerCase()}`);
  };
  await settings('Edges');
  await page.keyboard.press('Escape');
  await scene.whilePlanned(() => settings('Schedule'));
  await page.keyboard.press('Escape');
}

async function takeOthers(page: Page, scene: Scene): Promise<void> {
  const appearance = { density: 'compact' };
  await scene.daemon.call('millrace.setSettings', { appearance, language: 'de' });
  await take(page, 'compact');
  await scene.daemon.call('millrace.setSettings', {
    appearance: { density: 'comfortable' },
    language: 'en',
  });
  await scene.daemon.stop('SIGKILL');
  await pause(2000);
  await take(page, 'offline');
  await scene.restart();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await page.setViewportSize({ width: 420, height: 800 });
  await page.getByRole('button', { name: 'Close details' }).click();
  await pause(3000);
  await take(page, 'narrow');
}

const names = await Names.claim(HOSTS);
await mkdir(folder, { recursive: true });
const browser = await launchBrowser(CHROMIUM);
const scene = await Scene.set(names);
try {
  const { page } = await openUi(browser, scene.daemon);
  await takeDownloads(page, scene);
  await takeDialogs(page, scene);
  await takeOthers(page, scene);
} finally {
  await browser.close();
  await scene.clear();
  names.close();
}
