/** The interface tells what went wrong in plain words, with what helps. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { DaemonProcess } from '../fixtures/daemon.ts';
import { FaultOrigin } from '../fixtures/fault-origin.ts';
import { temporaryFolder } from '../fixtures/processes.ts';
import {
  browserOrComplain,
  launchBrowser,
  openUi,
  rowOf,
  says,
  startUiDaemon,
} from '../fixtures/ui.ts';

const available = browserOrComplain('error messages in the interface');
const when = available ? describe : describe.skip;

const origin = await FaultOrigin.start();
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let daemon: DaemonProcess;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  if (!available) return;
  folder = await temporaryFolder();
  [daemon, browser] = await Promise.all([startUiDaemon(folder.path), launchBrowser()]);
  ({ page } = await openUi(browser, daemon));
});
afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  await origin.stop();
  await folder?.remove();
});

/** Fault of the origin, what is said in the list, the first button beside it, and a part of the help. */
const FAULTS = [
  ['not-found', 'The server has no such file', 'New link', /get a new one from the page/],
  ['gone', 'The file has been taken off the server', 'New link', /Get a new link/],
  ['forbidden', 'The server refuses access', 'New link', /may have expired/],
  ['server-error', 'The server has a problem', 'Try again', /Try again later/],
  ['redirect-loop', 'The link leads on and on', 'New link', /Open it in a browser/],
  ['redirect-to-file', 'The link leads nowhere', 'New link', /look for another link/],
] as const;

when('a failure', () => {
  test.each(FAULTS)('%s: %s', async (fault, title, button, help) => {
    const name = `${fault}.bin`;
    const urls = [origin.url(fault, { name })];
    await daemon.reaches(await daemon.add({ urls, maxTries: 1, retryForMs: 0 }), 'error');
    const row = rowOf(page, name);
    await says(row, title);
    expect(await row.getByRole('button').first().textContent()).toBe(button);
    await row.click();
    await page.getByRole('note').getByText(help).waitFor();
  });

  test('of a name that is taken offers another name, which helps', async () => {
    await writeFile(join(folder.path, 'downloads', 'taken.bin'), 'mine');
    const urls = [origin.url('none', { name: 'taken.bin' })];
    await daemon.reaches(await daemon.add({ urls, rename: false, file: 'taken.bin' }), 'error');
    const row = rowOf(page, 'taken.bin');
    await says(row, 'There is a file of this name already');
    await row.getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change taken.bin' });
    await dialog.getByRole('textbox', { name: 'File name' }).fill('free.bin');
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await says(rowOf(page, 'free.bin'), /Done/);
  });

  test('that may pass says when it is tried again, and can be tried at once', async () => {
    const urls = [origin.url('server-error', { name: 'later.bin', seed: 'later' })];
    const gid = await daemon.add({ urls, retryForMs: 0 });
    await daemon.reaches(gid, 'waiting');
    const row = rowOf(page, 'later.bin');
    await says(row, /Tries again (in|soon).*The server has a problem/);
    const { attempts } = await daemon.call<{ attempts: number }>('millrace.status', { gid });
    await row.click();
    await page.getByRole('complementary').getByRole('button', { name: 'Try again' }).click();
    await daemon.reaches(gid, 'waiting');
    await page.getByRole('tab', { name: 'Log' }).click();
    await page
      .getByText(/Will be tried again at/)
      .nth(attempts)
      .waitFor();
  });

  test('is found by its words', async () => {
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.keyboard.press('Control+f');
    await page.keyboard.type('redirects');
    await page.getByRole('grid').and(page.locator('[aria-rowcount="3"]')).waitFor();
    await rowOf(page, 'redirect-loop.bin').waitFor();
    await page.keyboard.press('Escape');
    await rowOf(page, 'free.bin').waitFor();
  });
});
