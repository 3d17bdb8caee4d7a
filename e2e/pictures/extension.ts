/**
 * Takes the pictures of the extension's pages: `node e2e/pictures/extension.ts [FOLDER]`. A fake
 * background provides their contents.
 */

import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { FakeBackgroundBrowser } from '../fixtures/pages/fake-background.ts';
import { SHOWN } from '../fixtures/pages/shown-downloads.ts';

const folder =
  process.argv[2] ?? fileURLToPath(new URL('../../extension/screenshots', import.meta.url));

const POPUP = { width: 380, height: 580 };
const WINDOW = { width: 1100, height: 800 };
const NO_DESKTOP = 'The desktop app is not set up for this browser.';
const SITE = 'https://downloads.example.org/releases/';

/** Takes a picture once fonts are loaded and short animations have ended. */
async function take(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const path = join(folder, `${name}.png`);
  // Without a folder, only the pictures that documents or the store show are taken again.
  if (process.argv[2] === undefined && !existsSync(path)) return;
  await page.screenshot({ path });
}

async function takePopups(fake: FakeBackgroundBrowser): Promise<void> {
  const host = { name: 'download.fedoraproject.org', off: false };
  await fake.set({ state: { host } });
  const { page } = await fake.open('popup.html', POPUP);
  await page.getByText('Nothing to show yet').waitFor();
  await take(page, 'popup-empty');
  await fake.set({ state: { downloads: SHOWN } });
  await page.getByRole('row').nth(1).hover();
  await take(page, 'popup');
  const failed = SHOWN.filter(({ status }) => status === 'error');
  const others = SHOWN.filter(({ status }) => status !== 'error');
  const gone = { ...failed[0], id: 'gone', name: 'lidar-survey-2026.tar', taker: 'browser' };
  const full = { ...gone, error: { code: 'disk-full', message: '' } };
  await fake.set({
    state: {
      downloads: [...failed, full, ...others],
      taker: null,
      desktopProblem: NO_DESKTOP,
      host: { ...host, off: true },
      skipNext: true,
    },
  });
  await page.getByRole('row').nth(3).hover();
  await take(page, 'popup-failed');
  await fake.reset();
  await fake.set({ state: { downloads: SHOWN, host }, settings: { theme: 'dark' } });
  await page.reload();
  await page.getByRole('row').nth(1).hover();
  await take(page, 'popup-dark');
  await page.close();
}

async function takeOptions(fake: FakeBackgroundBrowser): Promise<void> {
  await fake.reset();
  const edges = [{ url: 'https://edge.example.net', hosts: ['example.com', 'mirror.example.org'] }];
  await fake.set({
    state: { taker: 'browser', desktopProblem: NO_DESKTOP },
    settings: { alwaysTypes: ['iso'], offHosts: ['intranet.example.com'], edges, theme: 'light' },
  });
  const { page } = await fake.open('options.html', WINDOW);
  const size = page.getByRole('textbox', { name: 'Smallest size' });
  await size.fill('32 MiB');
  await size.blur();
  await page.getByText('Saved').waitFor();
  await take(page, 'options');
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByRole('link', { name: 'Where downloads go' }).click();
  await take(page, 'options-taker');
  await fake.set({ settings: { theme: 'dark' } });
  await page.getByRole('link', { name: 'Edges' }).click();
  await take(page, 'options-dark');
  await page.close();
}

async function takePicker(fake: FakeBackgroundBrowser): Promise<void> {
  await fake.reset();
  const files = [
    ['fedora-workstation-42-x86_64.iso', 'Workstation, 64 bit'],
    ['fedora-workstation-42-aarch64.iso', 'Workstation, ARM'],
    ['fedora-server-42-x86_64.iso', 'Server, 64 bit'],
    ['fedora-server-42.qcow2', 'Server, for virtual machines'],
    ['fedora-42-CHECKSUM', 'Checksums'],
    ['installation-guide.pdf', 'Installation guide'],
    ['release-notes.epub', 'Release notes'],
    ['sources-42.tar.xz', 'All sources'],
    ['keynote-42.webm', 'The release, shown on stage'],
    ['archive/41/', 'Earlier releases'],
    ['tools/image-writer-5.2.exe', 'Image writer for Windows'],
    ['tools/image-writer-5.2.dmg', 'Image writer for macOS'],
  ] as const;
  const links = files.map(([path, text]) => ({ url: SITE + path, text }));
  await fake.set({
    links: { k: { page: SITE, title: 'Releases', links } },
    settings: { theme: 'light' },
  });
  const { page } = await fake.open('picker.html?key=k', WINDOW);
  await page.getByRole('option').nth(0).click();
  await page
    .getByRole('option')
    .nth(2)
    .click({ modifiers: ['Shift'] });
  await page.getByRole('option').nth(7).click();
  await take(page, 'picker');
  await page.close();
}

await mkdir(folder, { recursive: true });
const fake = await FakeBackgroundBrowser.start();
try {
  await takePopups(fake);
  await takeOptions(fake);
  await takePicker(fake);
} finally {
  await fake.stop();
}
