/** Depots and copies of files that were sent, as the page shows them: real depots, some of them dead. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { startUiDaemon } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { shareOf, shareReaches } from '../../fixtures/programs/sent-files.ts';
import { DepotStage, OWNER_TOKEN } from '../../fixtures/stages/depot-stage.ts';
import { HeldDepot } from '../../fixtures/stages/held-depot.ts';
import { until } from '../../fixtures/until.ts';

const depots = await DepotStage.set();
const start = (name: string) =>
  // They may pull from each other, although they are of different networks.
  depots.start('--depot-dir', join(depots.folder, name), '--allow-origin', '127.0.0.1');
const [first, dying, spare, held] = await Promise.all([
  ...([start('first'), start('dying'), start('spare')] as const),
  // It may not pull, so that what it is to store is sent to it, and can be held.
  HeldDepot.start(depots, '--depot-dir', join(depots.folder, 'held')),
]);
afterAll(() => held.close());
const ui = new UiStage('the depots of files that were sent');
const name = 'minutes.txt';

const stored = () => shareReaches(ui.daemon, name, 'shared');

/** Waits until the depots of the file are asked for something. */
async function changes(changing: ShareView['changing']): Promise<void> {
  await until(async () => (await shareOf(ui.daemon, name))?.changing === changing);
}

const dialog = () => ui.page.getByRole('dialog', { name: `Depots of ${name}` });
const holder = (url: string) =>
  dialog()
    .getByRole('listitem')
    .filter({ hasText: new URL(url).host });
const button = (label: string) => dialog().getByRole('button', { name: label, exact: true });

ui.when('files that were sent', () => {
  test('show a dead depot and the copies that are left, and are repaired at another one', async () => {
    const { page } = ui;
    await page.getByRole('button', { name: 'Shared' }).click();
    for (const { url } of [first, dying, spare]) {
      await ui.daemon.call('millrace.setDepot', { url, token: OWNER_TOKEN });
    }
    const path = join(ui.folder, name);
    await writeFile(path, 'the minutes');
    const urls = [first.url, dying.url];
    await ui.daemon.call('millrace.share', { path, seconds: 3600, depots: urls });
    await stored();
    await dying.stop('SIGKILL');
    await page
      .getByRole('listitem')
      .filter({ hasText: name })
      .getByRole('button', { name: /^Depots and copies/ })
      .click();
    await holder(dying.url).getByText('Does not answer').waitFor();
    await holder(first.url).getByText('Good').waitFor();
    await holder(first.url).getByText('Your link leads here').waitFor();
    await dialog().getByText('has 1 copy that').waitFor();
    await dialog().getByText('If one more depot fails').waitFor();
    await dialog().getByText('You wanted 2 copies').waitFor();
    for (const theme of ['dark', 'light'] as const) {
      await ui.daemon.call('millrace.setSettings', { appearance: { theme } });
      await page.locator(`html[data-theme="${theme}"]`).waitFor();
      expect(await barriers(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 380, height: 700 });
    await fits(page);
    // As of a window at twice the zoom, where the dialog scrolls.
    await page.setViewportSize({ width: 640, height: 400 });
    await fits(page);
    expect(await barriers(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await button('Repair').click();
    await holder(spare.url).getByText('Good').waitFor();
    await dialog().getByText('has 2 copies that').waitFor();
    const { places, trouble } = await stored();
    expect([places.map(({ depot }) => depot), trouble]).toEqual([
      expect.arrayContaining([first.url, spare.url].map((url) => new URL(url).origin)),
      undefined,
    ]);
    expect(await button('Repair').isDisabled()).toBe(true);
  });

  test('are repaired until the user stops that, also by a revocation, and after a restart', async () => {
    await spare.stop('SIGKILL');
    await ui.daemon.call('millrace.setDepot', { url: held.url, token: OWNER_TOKEN });
    await button('Ask again').click();
    await holder(spare.url).getByText('Does not answer').waitFor();
    await button('Repair').click();
    await held.held;
    await dialog().getByText('Storing lost copies anew').waitFor();
    expect(await barriers(ui.page)).toEqual([]);
    await button('Stop repair').click();
    // The depots are asked anew: the copy that was begun does not count.
    await dialog().getByText('has 1 copy that').waitFor();
    held.open(false);
    await button('Repair').click();
    await held.held;
    await ui.page.keyboard.press('Escape');
    expect(ui.problems).toEqual([]);
    await ui.daemon.stop('SIGKILL');
    held.open(false);
    ui.daemon = await startUiDaemon(ui.folder);
    await held.held;
    await changes('repairing');
    const { id, state } = (await shareOf(ui.daemon, name)) as ShareView;
    expect(state).toBe('shared');
    // The held depot never takes the bytes: only a stop ends the repair.
    const { state: after } = await ui.daemon.call('millrace.revokeShare', { id });
    expect(after).toBe('revoking');
    await until(async () => (await shareOf(ui.daemon, name))?.changing !== 'repairing');
  });
});
