/**
 * The interface: a download from the pasted link to the finished file, and its possible failures.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { withSeeds } from '@millrace/shared/download/torrent/testing/torrents';
import { sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { SlowFiles } from '../../fixtures/origins/slow-files.ts';
import { paste, rowOf, says } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';
import { torrentOf } from '../../lab/torrent.ts';

const MIB = 1024 * 1024;

let origin: SlowFiles;
let mirror: SlowFiles;
let edge: EdgeProcess;
const ui = new UiStage('downloads in the interface', async (stage) => {
  origin = stage.keep(await SlowFiles.start(MIB));
  mirror = stage.keep(await SlowFiles.start(MIB));
  edge = stage.keep(
    await EdgeProcess.start(['--allow-origin', '127.0.0.1', '--log-level', 'error']),
  );
});
afterEach(() => {
  expect(ui.problems).toEqual([]);
});

/** Returns the colours of the map's cells, in file order. */
async function mapCells(): Promise<string[]> {
  return ui.page.locator('canvas.block-map').evaluate((element) => {
    const canvas = element as HTMLCanvasElement;
    const { width, height } = canvas;
    const { data } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(
      0,
      0,
      width,
      height,
    );
    const at = (x: number, y: number) => [
      ...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 4),
    ];
    // Nothing is drawn between cells.
    let pitch = 1;
    while (pitch < width && (at(pitch - 1, 0)[3] as number) > 0) pitch++;
    const cells: string[] = [];
    for (let y = pitch - 2; y < height; y += pitch) {
      for (let x = 1; x < width; x += pitch) {
        const [r, g, b, alpha] = at(x, y);
        if ((alpha as number) > 0) cells.push(`${r},${g},${b}`);
      }
    }
    return cells;
  });
}

/** Returns the colour that most cells have: at the limit of a download, of those without bytes. */
function mostCommon(colours: readonly string[]): string | undefined {
  const counts = Map.groupBy(colours, (colour) => colour);
  return [...counts].sort(([, a], [, b]) => b.length - a.length)[0]?.[0];
}

ui.when('the first run', () => {
  test('offers three steps, which are shown once and can be left out', async () => {
    const steps = ui.page.getByRole('region', { name: 'Welcome to Millrace' });
    const chosen = join(ui.folder, 'chosen');
    await steps.getByRole('textbox', { name: 'Download folder' }).fill(chosen);
    await steps.getByRole('button', { name: 'Save' }).click();
    await until(async () => (await ui.daemon.call('millrace.getSettings')).dir === chosen);
    const extension = steps.getByRole('link', { name: 'Get the extension' });
    expect(await extension.getAttribute('href')).toMatch(/^https:/);
    await steps.getByRole('button', { name: 'Take a test file' }).click();
    const links = ui.page.getByRole('dialog').getByRole('textbox', { name: 'Links' });
    expect(await links.inputValue()).toMatch(/^https:/);
    await ui.page.keyboard.press('Escape');
    await steps.getByRole('button', { name: /Done/ }).click();
    await ui.page.getByText('Nothing to download yet').waitFor();
    await ui.page.reload();
    await ui.page.getByText('Nothing to download yet').waitFor();
    expect(await steps.count()).toBe(0);
  });
});

ui.when('a download', () => {
  test('is added by pasting, fills its map out of order, pauses, resumes and is right', async () => {
    const bytes = 24 * MIB;
    const file = { bytes, seed: 'big' };
    const url = origin.add('/big file.iso', file);
    const other = mirror.add('/big file.iso', { ...file, rate: MIB / 2 });
    // Each connection has the origins' rates: only a limit holds for all, and for longer than any wait.
    await ui.daemon.call('millrace.setLimits', { limit: 75_000 });
    await ui.daemon.call('millrace.addEdge', { url: edge.url, name: 'riverside' });
    await ui.page.getByText('Nothing to download yet').waitFor();

    await paste(ui.page, `Two places: ${encodeURI(url)} and <${encodeURI(other)}>.`);
    const dialog = ui.page.getByRole('dialog', { name: 'Add downloads' });
    await dialog.getByText('2 links found').waitFor();
    await dialog.getByText('All links are sources of one file').click();
    await dialog.getByRole('button', { name: 'Add 1 download' }).click();

    const row = rowOf(ui.page, 'big file.iso');
    await row.click();
    await ui.page.getByRole('img', { name: /Block map/ }).waitFor();
    await until(async () => {
      const cells = await mapCells();
      const empty = mostCommon(cells);
      const filled = cells.map((colour) => colour !== empty);
      const hole = filled.indexOf(false);
      const colours = new Set(cells.filter((_, i) => filled[i]));
      return hole >= 0 && filled.lastIndexOf(true) > hole && colours.size > 1;
    });
    await ui.page.getByRole('tab', { name: 'Sources' }).click();
    await ui.page.getByRole('rowheader', { name: /riverside/ }).waitFor();
    await ui.page.getByRole('rowheader', { name: /Mirror/ }).waitFor();

    await ui.page.getByRole('grid').focus();
    await ui.page.keyboard.press('Space');
    await says(row, 'Paused');
    const gid = await ui.gidOf('big file.iso');
    const { storedBytes } = await ui.daemon.reaches(gid, 'paused');
    expect(storedBytes).toBeGreaterThan(0);
    [origin.rate, mirror.rate] = [100 * MIB, 100 * MIB];
    await ui.daemon.call('millrace.setLimits', { limit: null });
    await ui.page.getByRole('button', { name: 'Resume', exact: true }).click();
    const { path } = await ui.daemon.reaches(gid, 'complete');
    await says(row, /Done/);
    expect(sha256(await readFile(path))).toBe(sha256(origin.content('/big file.iso')));
    await ui.page.getByRole('tab', { name: 'Log' }).click();
    await ui.page.getByRole('tabpanel').getByText('Paused').waitFor();
  });

  test('that was downloaded before is recognised and left out', async () => {
    const url = encodeURI(`http://127.0.0.1:${origin.port}/big file.iso`);
    await ui.page.getByRole('button', { name: 'Add downloads' }).click();
    const dialog = ui.page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Links' }).fill(url);
    await dialog.getByText('downloaded before').waitFor();
    const box = dialog.getByRole('checkbox', { name: /Add big file.iso/ });
    expect(await box.isChecked()).toBe(false);
    expect(await dialog.getByRole('button', { name: 'Add', exact: true }).isDisabled()).toBe(true);
    await ui.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('from a dropped Metalink file shows its size, sources and checksum', async () => {
    const url = origin.add('/from-metalink.iso', { bytes: MIB });
    const digest = sha256(origin.content('/from-metalink.iso'));
    const metalink = `<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink">
      <file name="from-metalink.iso"><size>${MIB}</size><hash type="sha-256">${digest}</hash>
      <url>${url}</url></file></metalink>`;
    await ui.page.evaluate((text) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([text], 'some.meta4'));
      document.body.dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true }));
      document.body.dispatchEvent(
        new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }),
      );
    }, metalink);
    const dialog = ui.page.getByRole('dialog');
    await dialog.getByText('1 MiB · 1 source · checksum included').waitFor();
    await dialog.getByRole('button', { name: 'Add 1 download' }).click();
    await says(rowOf(ui.page, 'from-metalink.iso'), /Done/);
    await rowOf(ui.page, 'from-metalink.iso').click();
    await ui.page.getByRole('tab', { name: 'File' }).click();
    await ui.page.getByText('verified').waitFor();
    await ui.page.getByText(digest).waitFor();
  });

  test('from a link to a torrent shows its files, by its name or by the answer of its server', async () => {
    const server = ui.keep(await FileServer.start());
    for (const [name, headers] of [
      ['by-name.torrent', {}],
      ['by-type', { 'content-type': 'application/x-bittorrent' }],
    ] as const) {
      const file = `${name.replace('.torrent', '')}.iso`;
      const url = origin.add(`/${file}`, { bytes: MIB });
      const content = origin.content(`/${file}`);
      const plain = torrentOf(file, content, MIB / 4, 'http://127.0.0.1:9/announce');
      const link = server.add(`/${name}`, { body: Buffer.from(withSeeds(plain, [url])), headers });
      await ui.page.getByRole('button', { name: 'Add downloads' }).click();
      const dialog = ui.page.getByRole('dialog');
      await dialog.getByRole('textbox', { name: 'Links' }).fill(link);
      await dialog.getByText('1 link found').waitFor();
      await dialog.getByText(file).waitFor();
      await dialog.getByRole('button', { name: 'Add 1 download' }).click();
      const { path } = await ui.daemon.reaches(await ui.gidOf(file), 'complete');
      expect(sha256(await readFile(path))).toBe(sha256(content));
    }
  });

  test('from a magnet link shows the files of its torrent, or why there are none', async () => {
    const url = origin.add('/from-torrent.iso', { bytes: MIB });
    const content = origin.content('/from-torrent.iso');
    const plain = torrentOf('from-torrent.iso', content, MIB / 4, 'http://127.0.0.1:9/announce');
    const server = await FileServer.start();
    const xs = server.add('/a.torrent', { body: Buffer.from(withSeeds(plain, [url])) });
    await ui.page.getByRole('button', { name: 'Add downloads' }).click();
    const dialog = ui.page.getByRole('dialog');
    const links = dialog.getByRole('textbox', { name: 'Links' });
    await links.fill(`magnet:?xt=urn:btih:${'0'.repeat(40)}`);
    await dialog.getByText(/names no web server that has the file/).waitFor();
    await links.fill(`magnet:?dn=some&xs=${encodeURIComponent(xs)}`);
    await dialog.getByText('1 MiB · 1 source · checksum included').waitFor();
    await dialog.getByRole('button', { name: 'Add 1 download' }).click();
    const { path } = await ui.daemon.reaches(await ui.gidOf('from-torrent.iso'), 'complete');
    expect(sha256(await readFile(path))).toBe(sha256(content));
    await server.stop();
  });

  test('with a wrong checksum says so, and completes with the right one', async () => {
    const url = origin.add('/checked.bin', { bytes: MIB });
    await ui.page.getByRole('button', { name: 'Add downloads' }).click();
    const dialog = ui.page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Links' }).fill(url);
    await dialog.getByText('1 link found').waitFor();
    await dialog.getByRole('button', { name: 'More options' }).click();
    await dialog.getByRole('textbox', { name: 'Checksum' }).fill('12345');
    await dialog.getByText(/Not a checksum: its number of digits, 5,/).waitFor();
    await dialog.getByRole('textbox', { name: 'Checksum' }).fill('0'.repeat(64));
    await dialog.getByText('Read as SHA-256').waitFor();
    await dialog.getByRole('button', { name: 'Add 1 download' }).click();

    const row = rowOf(ui.page, 'checked.bin');
    await says(row, 'The file does not have the checksum it should have');
    await row.getByRole('button', { name: 'Change' }).click();
    const digest = sha256(origin.content('/checked.bin'));
    await ui.page.getByRole('dialog').getByRole('textbox', { name: 'Checksum' }).fill(digest);
    await ui.page.getByRole('dialog').getByRole('button', { name: 'Try again' }).click();
    await says(row, /Done/);
  });

  test('that was damaged later is repaired, with what is right of it', async () => {
    const url = origin.add('/damaged.bin', { bytes: MIB });
    const good = origin.content('/damaged.bin');
    const pieceBytes = MIB / 4;
    const hexes = [0, 1, 2, 3].map((piece) =>
      sha256(good.subarray(piece * pieceBytes, (piece + 1) * pieceBytes)),
    );
    const pieces = { algorithm: 'sha256', pieceBytes, hexes };
    const { gid } = await ui.daemon.call('millrace.add', { urls: [url], pieces });
    const { path } = await ui.daemon.reaches(gid, 'complete');
    const damaged = Buffer.from(good);
    damaged.fill(0, MIB / 2, MIB / 2 + 100);
    await writeFile(path, damaged);
    const row = rowOf(ui.page, 'damaged.bin');
    await row.click({ button: 'right' });
    await ui.page.getByRole('menuitem', { name: 'Repair this file…' }).click();
    const dialog = ui.page.getByRole('dialog', { name: 'Repair damaged.bin' });
    await dialog.getByText('The file stays as it is until').waitFor();
    await dialog.getByRole('button', { name: 'Repair', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await ui.daemon.reaches(gid, 'complete');
    expect(sha256(await readFile(path))).toBe(sha256(good));
    await ui.page.getByRole('tab', { name: 'Log' }).click();
    await ui.page
      .getByRole('tabpanel')
      .getByText(/KiB are taken from damaged.bin/)
      .waitFor();
  });

  test('whose link has expired continues with a new one', async () => {
    const old = origin.add('/signed.bin', { bytes: 1, status: 403 });
    const good = origin.add('/fresh/signed.bin', { bytes: MIB });
    await ui.daemon.reaches(await ui.daemon.add({ urls: [old] }), 'error');
    const row = rowOf(ui.page, 'signed.bin');
    await says(row, 'The server refuses access');
    await row.getByRole('button', { name: 'New link' }).click();
    const dialog = ui.page.getByRole('dialog', { name: 'New link for signed.bin' });
    await dialog.getByRole('textbox').fill('ftp://nowhere');
    await dialog.getByRole('button', { name: 'Use this link' }).click();
    await dialog.getByText(/not a link that can be downloaded/).waitFor();
    await dialog.getByRole('textbox').fill(good);
    await dialog.getByRole('button', { name: 'Use this link' }).click();
    await says(row, /Done/);
  });

  test('that was removed by mistake comes back', async () => {
    const row = rowOf(ui.page, 'signed.bin');
    await row.click();
    await ui.page.keyboard.press('Delete');
    await ui.page.getByText('signed.bin removed from the list').waitFor();
    // The button is there for ten seconds.
    await ui.page.getByRole('button', { name: 'Undo' }).click();
    await ui.page.getByText('1 download is back').waitFor();
    await ui.gidOf('signed.bin');
    await row.waitFor();
  });
});

ui.when('a limit', () => {
  test('is set for all downloads, and holds', async () => {
    await ui.page.getByRole('button', { name: 'No limit' }).click();
    const dialog = ui.page.getByRole('dialog', { name: /Speed limit/ });
    await dialog.getByRole('combobox').fill('as fast as possible');
    await dialog.getByText('Enter a speed, for example 500 KiB/s.').waitFor();
    await dialog.getByRole('combobox').fill('1.5 MiB/s');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await ui.page.getByRole('button', { name: /Limit: 1.5 MiB\/s/ }).waitFor();
    const { limit } = await ui.daemon.call('millrace.getLimits');
    expect(limit).toBe(1.5 * MIB);
  });
});
