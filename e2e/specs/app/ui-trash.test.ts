/** Downloads that were removed by mistake come back. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { rowOf, startUiDaemon } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { until } from '../../fixtures/until.ts';

const SIZE = 3_000_000;
const MANY = 30;
let origin: FileServer;
const ui = new UiStage('the trash of the interface', async (stage) => {
  origin = stage.keep(await FileServer.start());
});

const trash = () => ui.daemon.call('millrace.trash');
const total = async () => (await ui.daemon.call('millrace.list')).total;

ui.when('a removal', () => {
  let unfinished: string;

  test('of all downloads by Ctrl+A and Del needs a confirmation, and is undone by Ctrl+Z', async () => {
    const url = origin.add('/long.bin', { body: contentOf('long', SIZE), etag: '"long"' });
    unfinished = await ui.daemon.add({ urls: [url], limit: 15_000 });
    const downloads = Array.from({ length: MANY }, (_, i) => ({
      urls: [`http://127.0.0.1:9/file-${i}.bin`],
      paused: true,
    }));
    await ui.daemon.call('millrace.addMany', { downloads });
    await ui.daemon.partly(unfinished);
    await rowOf(ui.page, 'long.bin').click();
    await ui.page.keyboard.press('Control+a');
    await ui.page.getByText(`${MANY + 1} selected`).waitFor();
    await ui.page.keyboard.press('Delete');
    const dialog = ui.page.getByRole('alertdialog', { name: `Remove ${MANY + 1} downloads?` });
    await dialog.getByText(/31 unfinished, with .* downloaded so far/).waitFor();
    await ui.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await total()).toBe(MANY + 1);
    await ui.page.getByRole('grid').press('Delete');
    await dialog.getByRole('button', { name: 'Move to trash' }).click();
    await until(async () => (await total()) === 0);
    const kept = join(ui.folder, 'downloads', '.millrace-trash', unfinished);
    await until(() => existsSync(join(kept, 'long.bin.millrace-part')));
    // The empty list may be gone by now: the key works wherever the focus is.
    await dialog.waitFor({ state: 'detached' });
    await ui.page.keyboard.press('Control+z');
    await until(async () => (await total()) === MANY + 1);
    await until(() => !existsSync(kept));
  });

  test('of an unfinished download loses no byte, even after a restart of the daemon', async () => {
    await ui.daemon.call('millrace.remove', { gids: [unfinished], forget: true });
    await until(async () => (await trash()).items.some(({ kept }) => kept === 'partial'));
    const port = String(ui.daemon.port);
    await ui.daemon.stop();
    // The message is shown for four seconds, and the page may be quicker than the daemon's answer.
    const told = ui.page.getByText('Connected again').waitFor();
    ui.daemon = await startUiDaemon(ui.folder, ['--port', port]);
    await told;
    await ui.page.getByRole('button', { name: 'Trash' }).click();
    const dialog = ui.page.getByRole('dialog', { name: 'Trash' });
    await dialog.getByRole('checkbox', { name: 'long.bin' }).check();
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await ui.page.getByText('1 download is back').waitFor();
    await ui.page.keyboard.press('Escape');
    await ui.daemon.call('millrace.changeMany', { gids: [unfinished], limit: null });
    const { receivedBytes } = await ui.daemon.reaches(unfinished, 'complete');
    expect(receivedBytes).toBeLessThan(SIZE * 1.1);
    const saved = await readFile(join(ui.folder, 'downloads', 'long.bin'));
    expect(sha256(saved)).toBe(sha256(contentOf('long', SIZE)));
  });

  test('of a finished download keeps its file; deleting the file is a separate command', async () => {
    const path = join(ui.folder, 'downloads', 'long.bin');
    await ui.page.getByRole('navigation').getByRole('button', { name: /^Done/ }).click();
    await rowOf(ui.page, 'long.bin').click({ button: 'right' });
    await ui.page.getByRole('menuitem', { name: 'Remove from the list' }).click();
    await ui.page.getByText('long.bin removed from the list').waitFor();
    // The menu would be that of the row which goes.
    await rowOf(ui.page, 'long.bin').waitFor({ state: 'detached' });
    expect(existsSync(path)).toBe(true);
    await ui.page.keyboard.press('Control+z');
    await rowOf(ui.page, 'long.bin').click({ button: 'right' });
    await ui.page.getByRole('menuitem', { name: 'Delete file' }).click();
    const dialog = ui.page.getByRole('alertdialog', { name: 'Delete the file?' });
    await dialog.getByRole('button', { name: 'Move to trash' }).click();
    await until(() => !existsSync(path));
    await until(async () => (await trash()).items.some(({ kept }) => kept === 'file'));
    await dialog.waitFor({ state: 'detached' });
    await ui.page.keyboard.press('Control+z');
    await until(() => existsSync(path));
    expect(sha256(await readFile(path))).toBe(sha256(contentOf('long', SIZE)));
  });

  test('is final once the trash is emptied, which needs a confirmation', async () => {
    // The file returns before its entry does.
    const gid = await ui.gidOf('long.bin');
    await ui.daemon.call('millrace.remove', { gids: [gid], forget: true, deleteFile: true });
    await until(async () => (await trash()).items.some(({ kept }) => kept === 'file'));
    await ui.page.getByRole('button', { name: 'Trash' }).click();
    const dialog = ui.page.getByRole('dialog', { name: 'Trash' });
    await dialog.getByText('long.bin').waitFor();
    await dialog.getByRole('button', { name: 'Empty trash' }).click();
    await dialog.getByText(/Delete 1 download for good/).waitFor();
    await dialog.getByRole('button', { name: 'Delete for good' }).click();
    await dialog.getByText('The trash is empty').waitFor();
    await until(() => !existsSync(join(ui.folder, 'downloads', '.millrace-trash')));
    expect(existsSync(join(ui.folder, 'downloads', 'long.bin'))).toBe(false);
    await ui.page.keyboard.press('Escape');
    expect(ui.problems).toEqual([]);
  });
});
