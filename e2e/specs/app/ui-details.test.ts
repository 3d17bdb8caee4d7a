/** The panel of details: when it is shown, and of which download. */

import { test } from '@jest/globals';
import { SlowFiles } from '../../fixtures/origins/slow-files.ts';
import { rowOf } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';

const MIB = 1024 * 1024;

const ui = new UiStage('the details in the interface', async (stage) => {
  const { daemon } = stage;
  const origin = stage.keep(await SlowFiles.start(MIB / 4));
  const urls = (path: string, file: Parameters<SlowFiles['add']>[1]) => [origin.add(path, file)];
  await daemon.reaches(await daemon.add({ urls: urls('/done.pdf', { bytes: 9 }) }), 'complete');
  const gone = urls('/gone.zip', { bytes: 1, status: 410 });
  await daemon.reaches(await daemon.add({ urls: gone }), 'error');
  // Each connection has the origin's rate: only a limit holds for all, and for longer than any wait.
  await daemon.add({ urls: urls('/running.iso', { bytes: 400 * MIB }), limit: 200_000 });
});

ui.when('the panel of details', () => {
  test('takes no room while no download is chosen', async () => {
    const details = ui.page.getByRole('complementary');
    const toggle = ui.page.getByRole('button', { name: 'Details', exact: true });
    await ui.page.getByRole('grid').focus();
    await ui.page.keyboard.press('Escape');
    await details.waitFor({ state: 'detached' });
    await toggle.click();
    await details.getByRole('heading', { name: 'running.iso' }).waitFor();
    await ui.page.getByRole('grid').focus();
    await ui.page.keyboard.press('Escape');
    await details.waitFor({ state: 'detached' });
  });

  test('stays with the download that was opened, although its row leaves the list', async () => {
    const details = ui.page.getByRole('complementary');
    const shows = (name: string) => details.getByRole('heading', { name, level: 2 }).waitFor();
    const filter = (name: RegExp) =>
      ui.page.getByRole('navigation').getByRole('button', { name }).click();
    await rowOf(ui.page, 'running.iso').click();
    await shows('running.iso');
    await filter(/^Active/);
    await rowOf(ui.page, 'done.pdf').waitFor({ state: 'detached' });
    await details.getByRole('button', { name: 'Pause' }).click();
    await ui.page.getByText('No download is running.').waitFor();
    await shows('running.iso');
    await details.getByRole('button', { name: 'Resume' }).click();
    await rowOf(ui.page, 'running.iso').waitFor();
    await filter(/^Failed/);
    await rowOf(ui.page, 'running.iso').waitFor({ state: 'detached' });
    await details.getByRole('button', { name: 'Pause' }).waitFor();
    // Another row is the user's wish, and so is Escape.
    await rowOf(ui.page, 'gone.zip').click();
    await shows('gone.zip');
    await ui.page.getByRole('grid').focus();
    await ui.page.keyboard.press('Escape');
    await details.waitFor({ state: 'detached' });
    await filter(/^All/);
  });

  test('goes with a download that is removed', async () => {
    const details = ui.page.getByRole('complementary');
    const gid = await ui.daemon.add({ urls: ['http://127.0.0.1:9/short-lived.zip'], paused: true });
    await rowOf(ui.page, 'short-lived.zip').click();
    await details.getByRole('heading', { name: 'short-lived.zip' }).waitFor();
    await ui.daemon.call('millrace.remove', { gids: [gid], forget: true });
    await details.waitFor({ state: 'detached' });
    await rowOf(ui.page, 'done.pdf').waitFor();
  });
});
