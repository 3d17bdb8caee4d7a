/** The interface when the daemon dies and comes back, when its connection is late, and when no user is logged in. */

import { expect, test } from '@jest/globals';
import { SlowFiles } from '../../fixtures/origins/slow-files.ts';
import { withLatePage } from '../../fixtures/pages/late-page.ts';
import { logIn } from '../../fixtures/pages/page-client.ts';
import { rowOf, says, startUiDaemon } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { LONGEST_WAIT_MS, until } from '../../fixtures/until.ts';

const MIB = 1024 * 1024;

let origin: SlowFiles;
const ui = new UiStage('the interface without a daemon', async (stage) => {
  origin = stage.keep(await SlowFiles.start(MIB));
});

ui.when('a page without its connection yet', () => {
  test('finds a shared link once it has one', async () => {
    const link = origin.add('/shared.bin', { bytes: 1000 });
    await withLatePage(ui.page, `?url=${encodeURIComponent(link)}`, async (page, connect) => {
      const dialog = page.getByRole('dialog');
      await dialog.waitFor();
      // The pause in typing after which the dialog asks is over before the connection is there.
      await page.clock.runFor(1000);
      await connect();
      await dialog.getByText('1 link found').waitFor();
    });
  });

  test('reads a Metalink that the desktop app hands over once it has one', async () => {
    await withLatePage(ui.page, '', async (page, connect) => {
      await page.waitForFunction(() => 'receive' in window);
      await page.evaluate(() => {
        const metalink = btoa(
          '<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="early.iso"><url>http://127.0.0.1:9/d</url></file></metalink>',
        );
        const metalinks = [{ name: 'early.meta4', metalink }];
        const { receive } = window as unknown as { receive: (message: object) => void };
        receive({ kind: 'offer', from: 'file', urls: [], metalinks });
      });
      await connect();
      await page.getByRole('checkbox', { name: 'Add early.iso' }).waitFor();
    });
  });
});

ui.when('a daemon that is killed', () => {
  test('is reported as gone, and its downloads continue in the same window when it is back', async () => {
    const urls = [origin.add('/interrupted.iso', { bytes: 48 * MIB })];
    // Each connection has the origin's rate: only a limit holds for all, and for longer than any wait.
    const gid = await ui.daemon.add({ urls, limit: 150_000 });
    const row = rowOf(ui.page, 'interrupted.iso');
    await row.click();
    await ui.page.getByRole('img', { name: /Block map/ }).waitFor();
    await until(async () => (await ui.daemon.status(gid)).storedBytes > MIB / 4);

    const port = String(ui.daemon.port);
    await ui.daemon.stop('SIGKILL');
    await ui.page
      .getByRole('alert')
      .getByText(/Millrace does not answer/)
      .waitFor();
    await row.waitFor();
    await ui.page.getByRole('button', { name: 'Pause', exact: true }).click();
    await ui.page.getByText('That did not work: Millrace does not answer').waitFor();

    ui.daemon = await startUiDaemon(ui.folder, ['--port', port]);
    await ui.page.getByRole('alert').waitFor({ state: 'detached' });
    await says(row, /Downloading/);
    await ui.page.getByText('from before').waitFor();
    origin.rate = 200 * MIB;
    await ui.daemon.call('millrace.change', { gid, limit: null });
    await ui.daemon.reaches(gid, 'complete');
    await says(row, /Done/);
  });
});

ui.when('a download that is removed while the page has no connection', () => {
  test('leaves list and details once the page is connected again', async () => {
    const gid = await ui.daemon.add({ urls: ['http://127.0.0.1:9/gone.zip'], paused: true });
    const details = ui.page.getByRole('complementary');
    await rowOf(ui.page, 'gone.zip').click();
    await details.getByRole('heading', { name: 'gone.zip' }).waitFor();
    const port = String(ui.daemon.port);
    await ui.daemon.stop();
    await ui.page
      .getByRole('alert')
      .getByText(/Millrace does not answer/)
      .waitFor();
    const elsewhere = await startUiDaemon(ui.folder);
    await elsewhere.call('millrace.remove', { gids: [gid], forget: true });
    await elsewhere.stop();
    ui.daemon = await startUiDaemon(ui.folder, ['--port', port]);
    await ui.page.getByRole('alert').waitFor({ state: 'detached' });
    await rowOf(ui.page, 'interrupted.iso').waitFor();
    await details.waitFor({ state: 'detached' });
    await rowOf(ui.page, 'gone.zip').waitFor({ state: 'detached' });
  });
});

ui.when('somebody who is not logged in', () => {
  test('sees only the log-in page, and gets in with the token', async () => {
    await ui.page.getByRole('button', { name: 'More' }).click();
    await ui.page.getByRole('menuitem', { name: 'Log out' }).click();
    await ui.page.getByRole('heading', { name: 'Log in to Millrace' }).waitFor();
    expect(await ui.page.getByText('interrupted.iso').count()).toBe(0);
    await ui.page.reload();
    await ui.page.getByRole('textbox', { name: 'Token' }).fill('not the token');
    await ui.page.getByRole('button', { name: 'Log in' }).click();
    await ui.page.getByText('This token is wrong.').waitFor();
    await ui.page.getByRole('textbox', { name: 'Token' }).fill(ui.daemon.token);
    await ui.page.getByRole('button', { name: 'Log in' }).click();
    await rowOf(ui.page, 'interrupted.iso').waitFor();
    await ui.page.reload();
    await rowOf(ui.page, 'interrupted.iso').waitFor();
    expect(await ui.page.content()).not.toContain(ui.daemon.token);
  });

  test('is logged in by a link though the network changed before the answer came', async () => {
    const context = await ui.browser.newContext();
    context.setDefaultTimeout(LONGEST_WAIT_MS);
    const page = await context.newPage();
    let lost = 0;
    await page.route('**/session', async (route) => {
      const request = route.request();
      if (request.method() !== 'POST' || lost === 2) return route.continue();
      lost++;
      const { port } = ui.daemon;
      const { status } = await logIn(port, JSON.parse(request.postData() ?? ''));
      expect(status).toBe(204);
      return route.abort('connectionreset');
    });
    const { url } = await ui.daemon.call('millrace.loginLink');
    await page.goto(url);
    await page.getByRole('row').filter({ hasText: 'interrupted.iso' }).waitFor();
    expect(lost).toBe(2);
    await context.close();
  });

  test('is told that a log-in link has been used', async () => {
    const context = await ui.browser.newContext({ locale: 'de-DE' });
    context.setDefaultTimeout(LONGEST_WAIT_MS);
    const { url } = await ui.daemon.call('millrace.loginLink');
    const first = await context.newPage();
    await first.goto(url);
    await first.getByRole('row').filter({ hasText: 'interrupted.iso' }).waitFor();
    expect(first.url()).not.toContain('code');
    const other = await (await ui.browser.newContext()).newPage();
    other.setDefaultTimeout(LONGEST_WAIT_MS);
    await other.goto(url);
    await other.getByText(/has been used or has expired/).waitFor();
  });
});

ui.when('a page whose script is cut off', () => {
  test('says so, and works once it is reloaded', async () => {
    const page = await ui.page.context().newPage();
    try {
      await page.route('**/*.js', (route) => route.abort());
      await page.goto(ui.page.url());
      await page.getByText('This page has not loaded completely').waitFor();
      await page.unroute('**/*.js');
      await page.reload();
      await page.getByRole('search').waitFor();
      expect(await page.getByText('This page has not loaded').count()).toBe(0);
    } finally {
      await page.close();
    }
  });
});
