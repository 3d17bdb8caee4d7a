/** Files that are sent from the page: a real daemon, a real depot, a real browser. */

import { execFile } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { startUiDaemon } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { HELD_CLOCK_DAEMON, holdClock } from '../../fixtures/programs/held-clock.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import { shareOf as sentFile, shareReaches } from '../../fixtures/programs/sent-files.ts';
import { DepotStage, OWNER_TOKEN } from '../../fixtures/stages/depot-stage.ts';
import { until } from '../../fixtures/until.ts';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;

const depots = await DepotStage.set();
// So that an upload does not get to its end before its daemon is killed.
await depots.setOwners('alice', 'rate=10MiB/s', 'bytes=500MiB', 'for=60d');
let depot = await depots.start();
const ui = new UiStage('sending files from the interface', undefined, HELD_CLOCK_DAEMON);

/** Downloads a link as anybody would. @returns the digest, or the status of a refusal */
async function curl(link: string): Promise<string> {
  const to = join(ui.folder, 'curled');
  const format = ['-w', '%{http_code}'];
  const { stdout } = await promisify(execFile)('curl', ['-sS', '-o', to, ...format, link]);
  return stdout === '200' ? sha256(await readFile(to)) : stdout;
}

const digestOf = async (path: string) => readFile(path).then(sha256, () => undefined);

const shareOf = (name: string) => sentFile(ui.daemon, name);
const reaches = (name: string, state: ShareView['state']) => shareReaches(ui.daemon, name, state);
const rowOf = (name: string) => ui.page.getByRole('listitem').filter({ hasText: name });

ui.when('files that are sent', () => {
  const content = contentOf('a talk', 9 * MIB + 17);
  const name = 'talk.tar';
  const secret = 'salaries.txt';
  const salaries = contentOf('salaries', 300_000);

  test('need a depot: the page leads to the settings, which show what the depot allows', async () => {
    const { page } = ui;
    await page.getByRole('button', { name: 'Shared' }).click();
    await page.getByText('You have not sent anything yet').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add a depot' }).click();
    await page.getByLabel('Address of the depot').fill(depot.url);
    await page.getByLabel('Your token').fill(OWNER_TOKEN);
    await page.getByRole('button', { name: 'Add depot' }).click();
    await page.getByRole('button', { name: /^Check/ }).click();
    await page.getByText(/500\s?MiB free · keeps files for up to 30 days/).waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    const told = [
      await ui.daemon.call('millrace.getSettings'),
      await page.content(),
      ui.daemon.log,
    ];
    expect(JSON.stringify(told)).toContain(new URL(depot.url).host);
    expect(JSON.stringify(told)).not.toContain(OWNER_TOKEN);
  });

  test('go from the browser to the depot, and anybody with the link gets their bytes', async () => {
    const { page } = ui;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('main').getByRole('button', { name: 'Send a file' }).click();
    const file = { name, mimeType: 'application/x-tar', buffer: content };
    await page.locator('input[type="file"]').setInputFiles(file);
    await page.getByRole('dialog').getByText(name).waitFor();
    // The depot keeps files for 30 days.
    await page.getByRole('radio', { name: 'Three months' }).waitFor({ state: 'detached' });
    await page.getByRole('radio', { name: 'A month' }).waitFor();
    await page.getByRole('dialog').getByText('works in any browser').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const { link, expires = 0 } = await reaches(name, 'shared');
    expect(expires).toBeGreaterThan(Date.now() + 6 * DAY_MS);
    await rowOf(name)
      .getByRole('button', { name: /^Copy link/ })
      .click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link);
    expect(await curl(link as string)).toBe(sha256(content));
    // The daemon's copy is of no more use.
    await until(async () => (await readdir(join(ui.folder, 'state', 'outgoing'))).length === 0);
  });

  test('look right in both themes and in a narrow window', async () => {
    const { page } = ui;
    for (const theme of ['dark', 'light'] as const) {
      await ui.daemon.call('millrace.setSettings', { appearance: { theme } });
      await page.locator(`html[data-theme="${theme}"]`).waitFor();
      expect(await barriers(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 400, height: 700 });
    await fits(page);
    await rowOf(name)
      .getByRole('button', { name: /^Copy link/ })
      .click({ trial: true });
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('are extended, and the link stays the same', async () => {
    const { page } = ui;
    const before = await reaches(name, 'shared');
    await rowOf(name)
      .getByRole('button', { name: /Extend/ })
      .click();
    await page.getByRole('radio', { name: 'A month' }).check();
    await page.getByRole('dialog').getByRole('button', { name: 'Extend', exact: true }).click();
    await until(async () => ((await shareOf(name))?.expires ?? 0) > Date.now() + 29 * DAY_MS);
    expect((await reaches(name, 'shared')).link).toBe(before.link);
  });

  test('are encrypted with one key, by keyboard, and downloaded from a pasted link', async () => {
    const { page } = ui;
    // Nobody listens there (RFC 863).
    const dead = { url: 'http://127.0.0.1:9', name: 'attic', token: OWNER_TOKEN };
    await ui.daemon.call('millrace.setDepot', dead);
    await page.getByRole('button', { name: 'Send a file' }).click();
    await page.getByText('The server cannot be reached').waitFor();
    await page.getByRole('radio', { name: '2' }).waitFor();
    // Of a third depot nothing is known yet: it would have to be found.
    await page.getByRole('radio', { name: '3' }).check();
    await page.getByText('finds those that lack').waitFor();
    await page.getByRole('radio', { name: '1' }).check();
    const file = { name: secret, mimeType: 'text/plain', buffer: salaries };
    await page.locator('input[type="file"]').setInputFiles(file);
    const encrypt = page.getByRole('switch', { name: 'Encrypt' });
    await encrypt.focus();
    await page.keyboard.press('Space');
    await until(() => encrypt.isChecked());
    await page.getByText('A browser opens the link').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Enter');
    const { link = '', encrypted, wholeFile, places } = await reaches(secret, 'shared');
    expect([encrypted, wholeFile]).toEqual([true, false]);
    // The one copy is at the depot that answers.
    expect(places.map(({ depot: at }) => new URL(at).host)).toEqual([new URL(depot.url).host]);
    await ui.daemon.call('millrace.removeDepot', { url: dead.url });
    expect(link).toMatch(/\/encrypted#k\.[\w-]{43}$/);
    await rowOf(secret).getByText('encrypted', { exact: false }).waitFor();
    await rowOf(secret)
      .getByRole('button', { name: /^Copy link/ })
      .click();
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === link);
    const disk = await depots.diskText();
    expect([disk.includes('encrypted.exnode'), disk.includes(secret)]).toEqual([true, false]);
    expect((await stat(join(ui.folder, 'state', 'downloads.db'))).mode & 0o777).toBe(0o600);

    await page.getByRole('button', { name: 'Add downloads' }).click();
    await page.getByRole('textbox', { name: 'Links' }).fill(`Here it is: ${link}`);
    await page.getByRole('dialog').getByText('File in depots').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add 1 download' }).click();
    const path = join(ui.folder, 'downloads', secret);
    await until(async () => (await digestOf(path)) === sha256(salaries));
    await page.getByRole('button', { name: 'Shared' }).click();
  });

  test('are offered when they are dropped; links become downloads as before', async () => {
    const { page } = ui;
    const drop = (named: string, bytes = 'bytes') =>
      page.evaluate(
        ([given, text]) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([text], given));
          document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }));
        },
        [named, bytes] as const,
      );
    const { link = '' } = await reaches(secret, 'shared');
    // The description of the file is beside it.
    const description = link.replace(/\/[^/]*#.*/, '/encrypted.exnode').replace('/-/f/', '/-/d/');
    const document = await (await fetch(description)).json();
    const key = link.slice(link.indexOf('#k.') + 3);
    await drop('mine.exnode', JSON.stringify({ ...document, key }));
    const dialog = page.getByRole('dialog', { name: 'Add downloads' });
    await dialog.getByText(secret).waitFor();
    await dialog.getByText('encrypted').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await drop('dropped.bin');
    await page.getByRole('dialog', { name: 'Send a file' }).getByText('dropped.bin').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await drop('list.txt');
    await page.getByRole('dialog', { name: 'Add downloads' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('are revoked ten seconds later, unless that is undone', async () => {
    const { page } = ui;
    const { link = '' } = await reaches(name, 'shared');
    const revoke = () =>
      rowOf(name)
        .getByRole('button', { name: /Revoke/ })
        .click();
    const hold = () => holdClock(join(ui.folder, 'state'));
    // The ten seconds do not pass before the user gets to the button.
    let goOn = await hold();
    await revoke();
    await rowOf(name).getByRole('button', { name: /^Undo/ }).click();
    await reaches(name, 'shared');
    expect(await curl(link)).toBe(sha256(content));
    await depot.stop('SIGKILL');
    await revoke();
    const { link: shown, revokeAt: due = 0 } = await reaches(name, 'revoking');
    expect(shown).toBe(link);
    await goOn();
    const { trouble, revokeAt = 0 } = await reaches(name, 'revoke-failed');
    // The next try, a minute later, is not to come before the user's.
    goOn = await hold();
    expect([trouble?.retryable, revokeAt > due]).toEqual([true, true]);
    await rowOf(name)
      .getByText(/Not revoked yet, next try/)
      .waitFor();
    expect(await barriers(page)).toEqual([]);
    depot = await depots.restart(depot);
    await rowOf(name)
      .getByRole('button', { name: /Revoke now/ })
      .click();
    await reaches(name, 'revoked');
    await goOn();
    expect(await curl(link)).toMatch(/^4(04|10)$/);
    await rowOf(name)
      .getByRole('button', { name: /Forget/ })
      .click();
    await rowOf(name).waitFor({ state: 'detached' });
    expect(ui.problems).toEqual([]);
  });

  test('are no paths that a page names: only holders of the token may do that', async () => {
    const asked = { path: join(ui.folder, 'state', 'daemon-token') };
    for (const method of ['millrace.share', 'millrace.offerFile']) {
      const answer = await ui.page.evaluate(
        async ([name, params]) => {
          const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: [params] });
          return (await fetch('/jsonrpc', { method: 'POST', body })).json();
        },
        [method, asked] as const,
      );
      expect(answer.error).toMatchObject({ message: 'Unauthorized' });
    }
    expect((await ui.daemon.call('millrace.shares')).shares.length).toBe(1);
  });

  let fromGuest = '';

  test('may come from guests, whose invitation is in the list, to be ended there', async () => {
    const { page } = ui;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('tab', { name: 'Depots' }).click();
    await page.getByRole('button', { name: /^Invite a guest/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Let a guest send you a file' });
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    const link = await dialog.getByLabel('Link for your guest', { exact: true }).inputValue();
    const own = await dialog.getByLabel('Your link to the file', { exact: true }).inputValue();
    const manage = await dialog.getByLabel('Address that ends it', { exact: true }).inputValue();
    expect([await barriers(page), await fits(page)]).toEqual([[], undefined]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const file = join(ui.folder, 'from-guest.txt');
    await writeFile(file, 'from a guest');
    const guest = { MILLRACE_STATE: join(ui.folder, 'guest') };
    expect(await runCli(['upload', file, '--guest', link], guest)).toMatchObject({ code: 0 });
    expect(await curl(own)).toBe(sha256(Buffer.from('from a guest')));
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await page.keyboard.press('Escape');
    const row = rowOf('A file from a guest');
    for (const [label, expected] of [
      [/^Link for the guest/, link],
      [/^Link to the file/, own],
    ] as const) {
      await row.getByRole('button', { name: label }).click();
      await until(async () => (await copied()) === expected);
    }
    expect([await barriers(page), await fits(page)]).toEqual([[], undefined]);
    await row.getByRole('button', { name: /Extend/ }).click();
    await page.getByRole('radio', { name: 'A month' }).check();
    await page.getByRole('dialog').getByRole('button', { name: 'Extend', exact: true }).click();
    const endOf = async (): Promise<number> =>
      Date.parse((await (await fetch(manage)).json()).expires);
    await until(async () => (await endOf()) > Date.now() + 29 * DAY_MS);
    const shown = async () =>
      (await ui.daemon.call('millrace.shares')).shares.find(({ invitation }) => invitation);
    await until(async () => (await shown())?.changing === undefined);
    const { id = '' } = (await shown()) ?? {};
    expect(JSON.stringify(await shown())).not.toContain(new URL(manage).pathname.slice(-32));
    const daemon = { MILLRACE_STATE: join(ui.folder, 'state') };
    const listed = await runCli(['shares'], daemon);
    expect(listed.stdout).toContain(`  file  ${own}`);
    const revoked = await runCli(['shares', '--revoke', id.slice(0, 12)], daemon);
    expect(revoked).toMatchObject({ code: 0, stdout: expect.stringContaining('revoking') });
    await row.getByText(/^The link ends in/).waitFor();
    fromGuest = own;
  });

  test('go on after a kill of the daemon, without sending anew what is stored', async () => {
    const large = contentOf('killed', 30 * MIB);
    const path = join(ui.folder, 'killed.bin');
    await writeFile(path, large);
    // By name: the depot drops revoked shares ten seconds after their tests.
    const before = new Set(await depots.stored());
    const { id } = await ui.daemon.call('millrace.share', { path, seconds: 3600 });
    await until(async () => ((await shareOf('killed.bin'))?.sentBytes ?? 0) > 4 * MIB);
    await ui.daemon.stop('SIGKILL');
    ui.daemon = await startUiDaemon(ui.folder);
    const { link = '' } = await reaches('killed.bin', 'shared');
    expect((await shareOf(secret))?.link).toMatch(/#k\.[\w-]{43}$/);
    expect(await curl(link)).toBe(sha256(large));
    // The file, and the copy of its exNode: an upload that began anew would have made another one.
    expect((await depots.stored()).filter((one) => !before.has(one)).length).toBe(2);
    const kept = join(ui.folder, 'state', 'shares');
    await until(async () => !(await readdir(kept)).includes(id));
    // The end of an invitation was due before or after the kill.
    await until(async () => /^4(04|10)$/.test(await curl(fromGuest)));
  });
});
