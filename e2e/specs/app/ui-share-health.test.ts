/** Depots and copies of files that were sent, as the page shows them: real depots, one of them dead. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { DepotStage, OWNER_TOKEN } from '../../fixtures/stages/depot-stage.ts';
import { until } from '../../fixtures/until.ts';

const depots = await DepotStage.set();
const start = (name: string) =>
  // They may pull from each other, although they are of different networks.
  depots.start('--depot-dir', join(depots.folder, name), '--allow-origin', '127.0.0.1');
const [first, dying, spare] = await Promise.all([start('first'), start('dying'), start('spare')]);
const ui = new UiStage('the depots of files that were sent');

async function shareOf(name: string): Promise<ShareView | undefined> {
  const { shares } = await ui.daemon.call('millrace.shares');
  return shares.find((share) => share.name === name);
}

/** Waits until a file is stored, and nothing is done with it. */
async function stored(name: string): Promise<ShareView> {
  let share: ShareView | undefined;
  await until(async () => {
    share = await shareOf(name);
    return share?.state === 'shared' && share.changing === undefined;
  });
  return share as ShareView;
}

const rowOf = (name: string) => ui.page.getByRole('listitem').filter({ hasText: name });

ui.when('files that were sent', () => {
  test('show a dead depot and the copies that are left, and are repaired at another one', async () => {
    const { page } = ui;
    await page.getByRole('button', { name: 'Shared' }).click();
    for (const { url } of [first, dying, spare]) {
      await ui.daemon.call('millrace.setDepot', { url, token: OWNER_TOKEN });
    }
    const path = join(ui.folder, 'minutes.txt');
    await writeFile(path, 'the minutes');
    const urls = [first.url, dying.url];
    await ui.daemon.call('millrace.share', { path, seconds: 3600, depots: urls });
    await stored('minutes.txt');
    await dying.stop('SIGKILL');
    await rowOf('minutes.txt')
      .getByRole('button', { name: /^Depots and copies/ })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Depots of minutes.txt' });
    const holder = (url: string) =>
      dialog.getByRole('listitem').filter({ hasText: new URL(url).host });
    await holder(dying.url).getByText('Does not answer').waitFor();
    await holder(first.url).getByText('Good').waitFor();
    await dialog.getByText('Each part has 1 copy').waitFor();
    await dialog.getByText('0 depots may fail').waitFor();
    for (const theme of ['dark', 'light'] as const) {
      await ui.daemon.call('millrace.setSettings', { appearance: { theme } });
      await page.locator(`html[data-theme="${theme}"]`).waitFor();
      expect(await barriers(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 380, height: 700 });
    await fits(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await dialog.getByRole('button', { name: 'Repair', exact: true }).click();
    await holder(spare.url).getByText('Good').waitFor();
    await dialog.getByText('Each part has 2 copies').waitFor();
    const { places, trouble } = await stored('minutes.txt');
    expect([places.map(({ depot }) => depot), trouble]).toEqual([
      expect.arrayContaining([first.url, spare.url].map((url) => new URL(url).origin)),
      undefined,
    ]);
    await page.keyboard.press('Escape');
    expect(ui.problems).toEqual([]);
  });
});
