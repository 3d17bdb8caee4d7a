/** The interface explains failures in plain words, and offers the remedy. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { rowOf, says } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';

let origin: FaultOrigin;
const ui = new UiStage('error messages in the interface', async (stage) => {
  origin = stage.keep(await FaultOrigin.start());
});

/** Fault of the origin, message in the list, first button beside it, and a part of the help. */
const FAULTS = [
  ['not-found', 'The server has no such file', 'New link', /get a new one from the page/],
  ['gone', 'The file has been removed from the server', 'New link', /Get a new link/],
  ['forbidden', 'The server refuses access', 'New link', /may have expired/],
  ['server-error', 'The server has a problem', 'Try again', /Try again later/],
  ['redirect-loop', 'The link redirects too often', 'New link', /Open it in a browser/],
  [
    'redirect-to-file',
    'The link redirects to an address that cannot be used',
    'New link',
    /look for another link/,
  ],
] as const;

ui.when('a failure', () => {
  test.each(FAULTS)('%s: %s', async (fault, title, button, help) => {
    const name = `${fault}.bin`;
    const urls = [origin.url(fault, { name })];
    await ui.daemon.reaches(await ui.daemon.add({ urls, maxTries: 1, retryForMs: 0 }), 'error');
    const row = rowOf(ui.page, name);
    await says(row, title);
    expect(await row.getByRole('button').first().textContent()).toBe(button);
    await row.click();
    await ui.page.getByRole('note').getByText(help).waitFor();
  });

  test('has its particulars in the language of the page, not in the daemon’s English', async () => {
    const name = 'auf-deutsch.bin';
    const urls = [origin.url('server-error', { name })];
    const { error } = await ui.daemon.reaches(
      await ui.daemon.add({ urls, maxTries: 1, retryForMs: 0 }),
      'error',
    );
    expect(error?.detail).toBe('it answered 500');
    await rowOf(ui.page, name).click();
    const note = ui.page.getByRole('note');
    await note.getByText('it answered 500').waitFor();
    await ui.daemon.call('millrace.setSettings', { language: 'de' });
    await note.getByText('Antwort 500', { exact: true }).waitFor();
    expect(await note.textContent()).not.toContain('answered');
    await ui.daemon.call('millrace.setSettings', { language: 'en' });
    await note.getByText('it answered 500').waitFor();
  });

  test('because of a taken file name offers another name, which works', async () => {
    await writeFile(join(ui.folder, 'downloads', 'taken.bin'), 'mine');
    const urls = [origin.url('none', { name: 'taken.bin' })];
    await ui.daemon.reaches(
      await ui.daemon.add({ urls, rename: false, file: 'taken.bin' }),
      'error',
    );
    const row = rowOf(ui.page, 'taken.bin');
    await says(row, 'There is a file of this name already');
    await row.getByRole('button', { name: 'Change' }).click();
    const dialog = ui.page.getByRole('dialog', { name: 'Change taken.bin' });
    await dialog.getByRole('textbox', { name: 'File name' }).fill('free.bin');
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await says(rowOf(ui.page, 'free.bin'), /Done/);
  });

  test('that may pass shows the time of the next try, and can be retried at once', async () => {
    const urls = [origin.url('server-error', { name: 'later.bin', seed: 'later' })];
    const gid = await ui.daemon.add({ urls, retryForMs: 0 });
    await ui.daemon.reaches(gid, 'waiting');
    const row = rowOf(ui.page, 'later.bin');
    await says(row, /Trying again (in|soon).*The server has a problem/);
    const { attempts } = await ui.daemon.call('millrace.status', { gid });
    await row.click();
    await ui.page.getByRole('complementary').getByRole('button', { name: 'Try again' }).click();
    await ui.daemon.reaches(gid, 'waiting');
    await ui.page.getByRole('tab', { name: 'Log' }).click();
    await ui.page
      .getByText(/Trying again at/)
      .nth(attempts)
      .waitFor();
  });

  test('is found by the words of its message', async () => {
    await ui.page.getByRole('tab', { name: 'Overview' }).click();
    await ui.page.keyboard.press('Control+f');
    await ui.page.keyboard.type('redirects');
    await ui.page.getByRole('grid').and(ui.page.locator('[aria-rowcount="3"]')).waitFor();
    await rowOf(ui.page, 'redirect-loop.bin').waitFor();
    await ui.page.keyboard.press('Escape');
    await rowOf(ui.page, 'free.bin').waitFor();
  });
});

ui.when('a source that fails', () => {
  test('is shown as dropped with the reason, or as resumed; the file is right', async () => {
    const file = { size: 3_000_000, seed: 'sources', name: 'several-sources.bin' };
    const urls = [
      origin.url('reset-after', file),
      origin.url('wrong-start', file),
      origin.url('none', { ...file, size: 3_000_001 }),
    ];
    // Slow at first, so that all sources are asked before the end.
    const gid = await ui.daemon.add({ urls, limit: 50_000 });
    await rowOf(ui.page, file.name).click();
    await ui.page.getByRole('tab', { name: 'Sources' }).click();
    const sources = ui.page.getByRole('tabpanel').getByRole('rowgroup');
    await sources.filter({ hasText: /Origin.*resumed after \d+ broken connection/ }).waitFor();
    const breach = 'The server sent another part of the file, not the one that was asked for';
    await sources.filter({ hasText: new RegExp(`Mirror.*no longer used.*${breach}`) }).waitFor();
    await sources.filter({ hasText: /Mirror.*no longer used.*It has another file/ }).waitFor();

    await ui.daemon.call('millrace.change', { gid, limit: null });
    const { path } = await ui.daemon.reaches(gid, 'complete');
    expect(sha256(await readFile(path))).toBe(origin.digest(urls[0] as string));
    // The reasons stay readable after the end, in the user's language.
    await ui.daemon.call('millrace.setSettings', { language: 'de' });
    await sources.getByText(/nach \d+ Abbr[uü]ch.* fortgesetzt/).waitFor();
    await sources.getByText('Dort liegt eine andere Datei').waitFor();
    await ui.page.getByRole('tab', { name: 'Protokoll' }).click();
    const log = ui.page.getByRole('tabpanel').getByRole('listitem');
    const left = /wird nicht mehr benutzt: Der Server hat einen anderen Teil der Datei gesendet/;
    await log.filter({ hasText: left }).waitFor();
    await log.filter({ hasText: /benutzt: Dort liegt eine andere Datei/ }).waitFor();
    await ui.daemon.call('millrace.setSettings', { language: 'en' });
  });
});
