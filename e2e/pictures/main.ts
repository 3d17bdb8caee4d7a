/**
 * Takes the pictures of the interface that the README shows: `node e2e/pictures/main.ts [FOLDER]`,
 * after `node scripts/build-ui.mjs`.
 */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { launchBrowser, openUi } from '../fixtures/ui.ts';
import { Scene } from './scene.ts';

const folder =
  process.argv[2] ?? fileURLToPath(new URL('../../desktop/ui/screenshots', import.meta.url));
await mkdir(folder, { recursive: true });

const take = (page: Page, name: string) => page.screenshot({ path: join(folder, `${name}.png`) });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const browser = await launchBrowser();
const scene = await Scene.set();
try {
  const { page, problems } = await openUi(browser, scene.daemon);
  await page.getByText('Nothing to download yet').waitFor();
  await take(page, 'empty');
  await scene.fill();
  await pause(14_000);
  const grid = page.getByRole('grid');
  await page.getByText(scene.main).first().click();
  await pause(9000);
  await take(page, 'list');
  await page.getByRole('tab', { name: 'Sources' }).click();
  await pause(300);
  await take(page, 'sources');
  await page.getByRole('tab', { name: 'Log' }).click();
  await pause(300);
  await take(page, 'log');
  await page.getByRole('tab', { name: 'File' }).click();
  await pause(300);
  await take(page, 'file');
  await page.getByRole('tab', { name: 'Overview' }).click();

  await page
    .getByRole('button', { name: /Failed/ })
    .first()
    .click();
  await grid.getByText(scene.expired).click();
  await pause(600);
  await take(page, 'failed');
  await page.getByRole('button', { name: 'All', exact: false }).first().click();
  await page.getByText(scene.main).first().click();

  await page.getByRole('button', { name: 'Add downloads' }).first().click();
  await page.getByRole('textbox', { name: 'Links' }).fill(scene.pasted);
  await page.getByText('links found').waitFor();
  await pause(300);
  await take(page, 'add');
  await page.getByRole('button', { name: 'More options' }).click();
  await pause(200);
  await take(page, 'add-more');
  await page.keyboard.press('Escape');

  await page.keyboard.press('Control+,');
  for (const name of [
    'Folders',
    'Categories',
    'Edges',
    'Limits',
    'Schedule',
    'Proxy',
    'Integration',
    'Appearance',
    'Language',
  ]) {
    await page.getByRole('tab', { name }).click();
    await pause(name === 'Edges' ? 1500 : 250);
    await take(page, `settings-${name.toLowerCase()}`);
  }
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await pause(200);
  await take(page, 'keys');
  await page.keyboard.press('Escape');

  await scene.daemon.call('millrace.setSettings', { appearance: { theme: 'dark' } });
  await pause(600);
  await take(page, 'dark');
  await scene.daemon.call('millrace.setSettings', {
    appearance: { theme: 'light', density: 'compact' },
  });
  await pause(600);
  await take(page, 'compact');
  await scene.daemon.call('millrace.setSettings', {
    appearance: { density: 'comfortable' },
    language: 'de',
  });
  await pause(600);
  await take(page, 'german');
  await scene.daemon.call('millrace.setSettings', { language: 'en' });
  await page.keyboard.press('Escape');
  await grid.focus();
  await page.keyboard.press('Home');
  for (let i = 0; i < 3; i++) await page.keyboard.press('Shift+ArrowDown');
  await pause(400);
  await take(page, 'selection');
  await grid.locator('[data-gid]').nth(2).click({ button: 'right' });
  await pause(300);
  await take(page, 'menu');
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 480, height: 800 });
  await pause(500);
  await page.keyboard.press('Escape');
  await pause(400);
  await take(page, 'narrow');
  await page.getByRole('button', { name: 'Show filters' }).click();
  await pause(500);
  await take(page, 'narrow-side');
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 1280, height: 800 });
  await scene.daemon.stop('SIGKILL');
  await pause(3000);
  await take(page, 'offline');
  await scene.restart();
  await page.getByRole('button', { name: 'Try now' }).click();
  await pause(1500);
  await page.context().clearCookies();
  await page.reload();
  await page.getByText('Log in to Millrace').waitFor();
  await pause(400);
  await take(page, 'log-in');
  process.stdout.write(`${problems.join('\n')}\n`);
} finally {
  await browser.close();
  await scene.clear();
}
