/**
 * Takes the pictures of the edge's pages that the README shows: `node e2e/pictures/edge.ts
 * [FOLDER]`. It takes two minutes, as charts need some history.
 */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { checkUrl, isLive, logIn, openPage } from '../fixtures/pages/edge-pages.ts';
import { CHROMIUM, launchBrowser } from '../fixtures/pages/ui.ts';
import { EdgeScene, HOSTS, TOKEN } from './edge-scene.ts';
import { Names } from './names.ts';

const folder = process.argv[2] ?? fileURLToPath(new URL('../../edge/screenshots', import.meta.url));
const HISTORY_MS = 100_000;

const names = await Names.claim(HOSTS);
await mkdir(folder, { recursive: true });
const browser = await launchBrowser(CHROMIUM);
const scene = await EdgeScene.set(names);
try {
  const { page } = await openPage(browser, { viewport: { width: 1280, height: 900 } });
  const take = (name: string) =>
    page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  // The page tells how long the origin took: the first connection to it is not what readers measure.
  await page.goto(checkUrl({ url: scene.url }, scene.link));
  await page.goto(checkUrl({ url: scene.url }, scene.link));
  await page.locator('[data-finding="fresh-guessed"] summary').click();
  await take('publisher');
  scene.play();
  await logIn(page, { url: scene.url }, TOKEN);
  await pause(HISTORY_MS);
  await isLive(page);
  await take('dashboard');
  await page.emulateMedia({ colorScheme: 'dark' });
  await take('dashboard-dark');
} finally {
  await browser.close();
  await scene.clear();
  names.close();
}
