/** Links in the interface: thousands of links at once, and a new link that replaces an old one. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { Nginx, nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { barriers } from '../../fixtures/pages/axe.ts';
import { rowOf } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { until } from '../../fixtures/until.ts';

const SIZE = 2_000_000;
const MANY = 2500;
let origin: FileServer;
const ui = new UiStage('links in the interface', async (stage) => {
  origin = stage.keep(await FileServer.start());
});

ui.when('a new link', () => {
  test('that is refused changes nothing: neither the old link nor the map of blocks', async () => {
    const body = contentOf('good', SIZE);
    const url = origin.add('/good.bin', { body, etag: '"good"' });
    const gid = await ui.daemon.add({ urls: [url], limit: 20_000 });
    await until(async () => (await ui.daemon.status(gid)).storedBytes > SIZE / 40);
    await ui.daemon.call('millrace.pause', { gids: [gid] });
    await ui.daemon.reaches(gid, 'paused');
    const map = async () =>
      (await ui.daemon.call('millrace.detail', { gid, cells: 50 })).map.stored;
    await until(async () => (await map()).some((share) => share > 0));
    const before = await map();
    const wrong = [
      [
        'nothing there',
        origin.add('/none.bin', { body: Buffer.alloc(1), refuse: () => 404 }),
        /no such/,
      ],
      [
        'another length',
        origin.add('/longer.bin', { body: contentOf('good', SIZE + 1), etag: '"l"' }),
        /bytes instead of/,
      ],
      [
        'other bytes of the same length',
        origin.add('/other.bin', { body: contentOf('other', SIZE), etag: '"good"' }),
        /has other bytes/,
      ],
      ['a refused port', 'http://127.0.0.1:9/good.bin', /refuses connections/],
    ] as const;
    await rowOf(ui.page, 'good.bin').click({ button: 'right' });
    await ui.page.getByRole('menuitem', { name: 'Give a new link' }).click();
    const dialog = ui.page.getByRole('dialog', { name: 'New link for good.bin' });
    for (const [, link, words] of wrong) {
      await dialog.getByRole('textbox').fill(link);
      await dialog.getByRole('button', { name: 'Use this link' }).click();
      await dialog.getByText(words).waitFor();
      await dialog.getByText(/Nothing has changed/).waitFor();
      expect(await map()).toEqual(before);
      const { urls } = await ui.daemon.call('millrace.status', { gid });
      expect(urls).toEqual([url]);
    }
    const moved = origin.add('/moved/good.bin', { body, etag: '"moved"' });
    await dialog.getByRole('textbox').fill(moved);
    await dialog.getByRole('button', { name: 'Use this link' }).click();
    await dialog.waitFor({ state: 'detached' });
    await ui.daemon.call('millrace.changeMany', { gids: [gid], limit: null });
    await ui.daemon.call('millrace.resume', { gids: [gid] });
    const { receivedBytes, digest } = (await ui.daemon.reaches(gid, 'complete')) as never as {
      receivedBytes: number;
      digest?: { hex: string };
    };
    expect(receivedBytes).toBeLessThan(SIZE * 1.2);
    if (digest !== undefined) expect(digest.hex).toBe(sha256(body));
  });
});

ui.when('a command of curl and a pattern', () => {
  test('become downloads with its fields, after their sizes were looked at', async () => {
    const body = contentOf('found', SIZE);
    const [first = '', second = ''] = ['/p1.bin', '/p2.bin'].map((path) =>
      origin.add(path, { body, etag: '"p"' }),
    );
    await writeFile(join(ui.folder, 'downloads', 'p2.bin'), body);
    await ui.page.keyboard.press('n');
    const dialog = ui.page.getByRole('dialog', { name: 'Add downloads' });
    const field = dialog.getByRole('textbox', { name: 'Links' });
    await field.fill(`curl -X POST '${first}'`);
    await dialog.getByText('a download can only GET a file').waitFor();
    await ui.daemon.call('millrace.setSettings', { language: 'de' });
    await ui.page.getByText('ein Download kann eine Datei nur mit GET holen').waitFor();
    await ui.daemon.call('millrace.setSettings', { language: 'en' });
    await field.fill(`curl '${first.replace('p1', 'p[1-2]')}' -H 'x-mine: 1' --compressed`);
    await dialog.getByText('2 links found').waitFor();
    await dialog.getByText('1 header field').first().waitFor();
    // By keyboard, from the text to the button after it.
    await field.press('Tab');
    await ui.page.keyboard.press('Enter');
    await dialog.getByText('already in the folder').waitFor();
    await dialog.getByText(/can be resumed/).waitFor();
    await dialog.getByText('in 2 files').waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await ui.page.emulateMedia({ colorScheme: theme });
      expect(await barriers(ui.page)).toEqual([]);
    }
    await ui.page.emulateMedia({ colorScheme: null });
    expect(await dialog.getByRole('checkbox', { name: 'Add p2.bin' }).isChecked()).toBe(false);
    await dialog.getByRole('button', { name: 'Add 1 download' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { downloads } = await ui.daemon.call('millrace.list', { text: 'p1.bin' });
    expect(downloads.map(({ urls }) => urls)).toEqual([[first]]);
    await ui.daemon.reaches(downloads[0]?.gid ?? '', 'complete');
    expect(sha256(await readFile(join(ui.folder, 'downloads', 'p1.bin')))).toBe(sha256(body));
    const asked = origin.requests.filter((request) => request.url === '/p1.bin');
    expect(new Set(asked.map(({ headers }) => headers['x-mine']))).toEqual(new Set(['1']));
    const { total } = await ui.daemon.call('millrace.list', { text: second });
    expect(total).toBe(0);
  });
});

ui.when('a link that is pasted', () => {
  const headers = {
    'content-type': 'application/zip',
    'content-disposition': 'attachment; filename="real name.zip"',
  };
  const asked = (path: string) => origin.requests.filter(({ url }) => url === path).length;

  test('shows name, size, type and whether it can be resumed; its server is asked once', async () => {
    const url = origin.add('/get', { body: contentOf('asked', SIZE), headers });
    const other = origin.add('/whole.bin', { body: contentOf('whole', SIZE), noRanges: true });
    await ui.page.keyboard.press('n');
    const dialog = ui.page.getByRole('dialog', { name: 'Add downloads' });
    const links = dialog.getByRole('textbox', { name: 'Links' });
    await links.fill(url);
    await dialog.getByText('real name.zip').waitFor();
    await dialog.getByText(/application\/zip · can be resumed/).waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await ui.page.emulateMedia({ colorScheme: theme });
      expect(await barriers(ui.page)).toEqual([]);
    }
    await ui.page.emulateMedia({ colorScheme: null });
    await links.fill(`${url}\n${other}`);
    await dialog.getByText(/cannot be resumed/).waitFor();
    await dialog.getByText('real name.zip').waitFor();
    // Closed and opened again, the dialog shows what the daemon was told a moment ago.
    await ui.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await ui.page.keyboard.press('n');
    await links.fill(url);
    await dialog.getByText('real name.zip').waitFor();
    expect([asked('/get'), asked('/whole.bin')]).toEqual([1, 1]);
    await ui.page.keyboard.press('Escape');
  });

  test('and whose server has no such file is unchecked, says so, and stays checked if the user wants it', async () => {
    const good = origin.add('/there.bin', { body: contentOf('there', SIZE) });
    const body = Buffer.alloc(1);
    const missing = origin.add('/missing.bin', { body, refuse: () => 404 });
    const busy = origin.add('/busy.bin', { body, refuse: () => 503 });
    await ui.page.keyboard.press('n');
    const dialog = ui.page.getByRole('dialog', { name: 'Add downloads' });
    await dialog.getByRole('textbox', { name: 'Links' }).fill([good, missing, busy].join('\n'));
    await dialog.getByText(/no such file/).waitFor();
    await dialog.getByText(/The server is busy/).waitFor();
    const box = (name: string) => dialog.getByRole('checkbox', { name: `Add ${name}` });
    await dialog.getByRole('button', { name: 'Add 2 downloads' }).waitFor();
    expect(await box('missing.bin').isChecked()).toBe(false);
    expect(await box('busy.bin').isChecked()).toBe(true);
    expect(await barriers(ui.page)).toEqual([]);
    await box('missing.bin').check();
    const before = asked('/missing.bin');
    await dialog.getByRole('button', { name: 'Ask again' }).click();
    await until(() => asked('/missing.bin') > before);
    await dialog.getByRole('button', { name: 'Ask again' }).waitFor();
    await dialog.getByRole('button', { name: 'Add 3 downloads' }).waitFor();
    await ui.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('has nobody asked for it where that is switched off, or if a page has brought it', async () => {
    const url = origin.add('/unasked', { body: contentOf('unasked', SIZE), headers });
    const dialog = ui.page.getByRole('dialog', { name: 'Add downloads' });
    const button = dialog.getByRole('button', { name: 'Check sizes' });
    // The page shows that it has the settings by their theme.
    const settings = { preferences: { askLinks: false }, appearance: { theme: 'dark' } } as const;
    await ui.daemon.call('millrace.setSettings', settings);
    await ui.page.locator('html[data-theme="dark"]').waitFor();
    await ui.page.keyboard.press('n');
    await dialog.getByRole('textbox', { name: 'Links' }).fill(url);
    await button.click();
    await dialog.getByText('real name.zip').waitFor();
    await ui.daemon.call('millrace.setSettings', {
      preferences: { askLinks: null },
      appearance: { theme: 'system' },
    });
    const { href } = new URL(`/?url=${encodeURIComponent(url)}`, ui.page.url());
    await ui.page.goto(href);
    await button.click();
    await dialog.getByText('real name.zip').waitFor();
    expect(asked('/unasked')).toBe(2);
    await ui.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });
});

ui.when('a listing of a folder', () => {
  test('is looked at, filtered, and what is checked goes into folders of the same names', async () => {
    const headers = { 'content-type': 'text/html' };
    const html = (path: string, rows: readonly string[]) =>
      Buffer.from(
        `<html><head><title>Index of ${path}</title></head><pre><a href="../">../</a>${rows
          .map((name) => `<a href="${name}">${name}</a> 01-May-2024 10:00  ${SIZE}`)
          .join('\n')}</pre></html>`,
      );
    const body = contentOf('listed', SIZE);
    const names = Array.from({ length: 30 }, (_, i) => `disc-${i}.iso`);
    const url = origin.add('/pub/', {
      body: html('/pub/', ['old/', 'notes.md', ...names]),
      headers,
    });
    origin.add('/pub/old/', { body: html('/pub/old/', ['disc-1.iso']), headers });
    const inside = origin.add('/pub/old/disc-1.iso', { body, etag: '"o"' });
    await ui.page.keyboard.press('n');
    const dialog = ui.page.getByRole('dialog', { name: 'Add downloads' });
    await dialog.getByRole('textbox', { name: 'Links' }).fill(url);
    await dialog.getByRole('button', { name: 'Show the links of this page' }).click();
    await dialog.getByText('31 files in this folder').waitFor();
    await dialog.getByRole('button', { name: 'Look into 1 folder' }).click();
    await dialog.getByText('32 files in this folder').waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await ui.page.emulateMedia({ colorScheme: theme });
      expect(await barriers(ui.page)).toEqual([]);
    }
    await ui.page.emulateMedia({ colorScheme: null });
    await dialog.getByLabel('Kind').selectOption({ label: 'Disk images' });
    await dialog.getByRole('button', { name: 'Add 31 downloads' }).waitFor();
    await dialog.getByLabel('Filter', { exact: true }).fill('old/*.iso');
    await dialog.getByText('1 of 32 shown').waitFor();
    await dialog.getByRole('button', { name: 'Add 1 download' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { downloads } = await ui.daemon.call('millrace.list', { text: 'disc-1' });
    expect(downloads.map(({ urls }) => urls)).toEqual([[inside]]);
    await ui.daemon.reaches(downloads[0]?.gid ?? '', 'complete');
    const path = join(ui.folder, 'downloads', 'old', 'disc-1.iso');
    expect(sha256(await readFile(path))).toBe(sha256(body));
  });

  const testWithNginx = nginxOrComplain('listings that nginx writes') ? test : test.skip;
  testWithNginx.each(['html', 'json', 'xml'])(
    'that nginx writes as %s has its files and folders',
    async (format) => {
      const root = join(ui.folder, `www-${format}`);
      await mkdir(join(root, 'sub'), { recursive: true });
      await writeFile(join(root, 'a & b #1.iso'), 'x'.repeat(1536));
      await writeFile(join(root, 'sub', '<ü>.iso'), 'y');
      const server = `autoindex on; autoindex_format ${format};`;
      const nginx = await Nginx.start({ dir: join(ui.folder, `nginx-${format}`), root, server });
      try {
        const asked = { urls: [`${nginx.url}/`], depth: 1 };
        const page = await ui.daemon.call('millrace.readPage', asked);
        expect(page).toMatchObject({ listing: true, folders: 0, truncated: false, unread: [] });
        expect(page.links.map(({ url, folder, size }) => [url, folder, size])).toEqual([
          [`${nginx.url}/a%20%26%20b%20%231.iso`, '', 1536],
          [`${nginx.url}/sub/%3C%C3%BC%3E.iso`, 'sub', 1],
        ]);
      } finally {
        await nginx.stop();
      }
    },
  );
});

ui.when('files of this computer', () => {
  test('bring their links, chosen by keyboard or dropped while the dialog is open', async () => {
    // A link whose server is not there would be unchecked as soon as that is known.
    const [typed, chosen, described, dropped] = ['typed', 'chosen', 'described', 'dropped'].map(
      (name) => origin.add(`/${name}.iso`, { body: contentOf(name, 1000) }),
    );
    const list = { name: 'links.txt', mimeType: 'text/plain', buffer: Buffer.from('') };
    // The browser has to know early that the test chooses the files.
    const chooser = ui.page.waitForEvent('filechooser');
    await ui.page.keyboard.press('n');
    const dialog = ui.page.getByRole('dialog', { name: 'Add downloads' });
    await dialog.getByRole('textbox', { name: 'Links' }).fill(typed ?? '');
    await dialog.getByRole('button', { name: 'Open files…' }).focus();
    await ui.page.keyboard.press('Enter');
    await (await chooser).setFiles([
      { ...list, buffer: Buffer.from(`${chosen}\n`) },
      {
        ...list,
        name: 'one.meta4',
        buffer: Buffer.from(
          `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="described.iso"><url>${described}</url></file></metalink>`,
        ),
      },
      { ...list, name: 'photo.bin', buffer: Buffer.from([1, 0, 2]) },
    ]);
    await ui.page.getByText('photo.bin cannot be read: it does not contain text').waitFor();
    await dialog.getByRole('checkbox', { name: 'Add described.iso' }).waitFor();
    await dialog.getByText('2 links found').waitFor();
    expect(await barriers(ui.page)).toEqual([]);
    await ui.page.evaluate((link) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([link], 'more.list'));
      const options = { dataTransfer, bubbles: true, cancelable: true };
      document.body.dispatchEvent(new DragEvent('drop', options));
    }, dropped ?? '');
    await dialog.getByText('3 links found').waitFor();
    await dialog.getByRole('button', { name: 'Add 4 downloads' }).waitFor();
    await ui.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });
});

ui.when('thousands of links', () => {
  test('that are pasted are all added', async () => {
    await ui.daemon.call('millrace.setSettings', { limits: { concurrent: 1 } });
    const text = Array.from({ length: MANY }, (_, i) => `http://127.0.0.1:9/many-${i}.bin`);
    await ui.page.evaluate((pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', pasted);
      const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      document.body.dispatchEvent(paste);
    }, text.join('\n'));
    const dialog = ui.page.getByRole('dialog', { name: 'Add downloads' });
    await dialog.getByText('2,500 links found').waitFor();
    // Rows are mounted where they are seen, and arrow keys lead to all of them.
    const boxes = dialog.getByRole('list', { name: 'What was found' }).getByRole('checkbox');
    await boxes.first().focus();
    await ui.page.keyboard.press('End');
    await dialog.locator('input[aria-label="Add many-2499.bin"]:focus').waitFor();
    await ui.page.keyboard.press('Space');
    await dialog.getByRole('button', { name: 'Add 2,499 downloads' }).waitFor();
    await ui.page.keyboard.press('Space');
    expect(await boxes.count()).toBeLessThan(60);
    // The message is shown for four seconds, in which a busy page may close the dialog.
    const told = ui.page.getByText('2,500 downloads added').waitFor();
    await dialog.getByRole('button', { name: 'Add 2,500 downloads' }).click();
    await told;
    await dialog.waitFor({ state: 'detached' });
    const { total } = await ui.daemon.call('millrace.list', { text: 'many-' });
    expect(total).toBe(MANY);
    expect(ui.problems).toEqual([]);
  });
});
