/** The interface when the daemon goes away and comes back, and when nobody is logged in. */

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { DaemonProcess } from '../fixtures/daemon.ts';
import { temporaryFolder } from '../fixtures/processes.ts';
import { SlowFiles } from '../fixtures/slow-files.ts';
import {
  browserOrComplain,
  launchBrowser,
  openUi,
  rowOf,
  says,
  startUiDaemon,
} from '../fixtures/ui.ts';
import { until } from '../fixtures/until.ts';

const MIB = 1024 * 1024;
const available = browserOrComplain('the interface without a daemon');
const when = available ? describe : describe.skip;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: SlowFiles;
let daemon: DaemonProcess;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  if (!available) return;
  folder = await temporaryFolder();
  origin = await SlowFiles.start(MIB);
  [daemon, browser] = await Promise.all([startUiDaemon(folder.path), launchBrowser()]);
  ({ page } = await openUi(browser, daemon));
});
afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  await origin?.stop();
  await folder?.remove();
});

when('a daemon that is killed', () => {
  test('is missed, and its downloads go on in the same window when it is back', async () => {
    const urls = [origin.add('/interrupted.iso', { bytes: 48 * MIB })];
    const gid = await daemon.add({ urls });
    const row = rowOf(page, 'interrupted.iso');
    await row.click();
    await page.getByRole('img', { name: /Block map/ }).waitFor();
    await until(async () => (await daemon.status(gid)).storedBytes > MIB);

    const port = String(daemon.port);
    await daemon.stop('SIGKILL');
    await page
      .getByRole('alert')
      .getByText(/Millrace does not answer/)
      .waitFor();
    await row.waitFor();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText('That did not work: Millrace does not answer').waitFor();

    daemon = await startUiDaemon(folder.path, ['--port', port]);
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await says(row, /Downloading/);
    await page.getByText('from before').waitFor();
    origin.rate = 200 * MIB;
    await daemon.reaches(gid, 'complete');
    await says(row, /Done/);
  });
});

when('somebody who is not logged in', () => {
  test('sees nothing but where to log in, and gets in with the token', async () => {
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to Millrace' }).waitFor();
    expect(await page.getByText('interrupted.iso').count()).toBe(0);
    await page.reload();
    await page.getByRole('textbox', { name: 'Token' }).fill('not the token');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('This token is not right.').waitFor();
    await page.getByRole('textbox', { name: 'Token' }).fill(daemon.token);
    await page.getByRole('button', { name: 'Log in' }).click();
    await rowOf(page, 'interrupted.iso').waitFor();
    await page.reload();
    await rowOf(page, 'interrupted.iso').waitFor();
    expect(await page.content()).not.toContain(daemon.token);
  });

  test('is told that a link has been used', async () => {
    const context = await browser.newContext({ locale: 'de-DE' });
    const { url } = await daemon.call<{ url: string }>('millrace.loginLink');
    const first = await context.newPage();
    await first.goto(url);
    await first.getByRole('row').filter({ hasText: 'interrupted.iso' }).waitFor();
    expect(first.url()).not.toContain('code');
    const other = await (await browser.newContext()).newPage();
    await other.goto(url);
    await other.getByText(/has been used or has expired/).waitFor();
  });
});
