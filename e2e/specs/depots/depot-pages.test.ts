/** Links of encrypted files in a real browser, in which nothing of Millrace is installed. */

import { readFile } from 'node:fs/promises';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import {
  cutAfterFirstPiece,
  damaged,
  fileAt,
  LinkPagesStage,
  picked,
  type Stored,
} from '../../fixtures/pages/link-pages.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';

const jest = testsWhere(browserOrComplain('the page that decrypts'));
const { beforeAll, describe, test } = jest;

const MIB = 1024 * 1024;
const NAME = 'Minutes, May 2026.odt';
// Two requests: what a page fetches at a time is 8 MiB.
const content = contentOf('a file for a browser', 9 * MIB + 4321);

const stage = await LinkPagesStage.set(jest);
/** A file of two requests, and one of few bytes. */
let large: Stored;
let small: Stored;
let link: string;
const key = () => link.replace(/.*#k\./, '');

beforeAll(async () => {
  [large, small] = await Promise.all([
    stage.upload(NAME, content),
    stage.upload('notes.txt', Buffer.from('a few notes')),
  ]);
  ({ link } = large);
});

const save = (page: Page) => page.getByRole('button', { name: 'Save' }).click();
const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor();

describe('the link of an encrypted file, in a browser', () => {
  test('gives the file, though one of two depots lies, and tells no server the key', async () => {
    await stage.withPicker(async ({ page, problems }) => {
      const asked: string[] = [];
      page.on('request', (request) => {
        asked.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData()}`);
      });
      await damaged(page, large.wholes[0] as string);
      await page.goto(link);
      await heading(page, NAME);
      expect(await page.locator('#size').textContent()).toBe('9 MiB');
      await save(page);
      await heading(page, 'Received');
      expect(await picked(page)).toEqual({ [NAME]: sha256(content) });
      expect(problems).toEqual([]);
      expect(await page.title()).toContain(NAME);
      expect(asked.length).toBeGreaterThan(3);
      const known = [...asked, ...stage.logged].join('\n');
      expect(known).toContain('/-/d/');
      expect(known).not.toContain(key());
      expect(known).not.toMatch(/"referer"/i);
    });
  });

  test('is saved as a download by browsers that cannot choose a place', async () => {
    await stage.inWindow(
      async ({ page, problems }) => {
        await page.addInitScript('delete globalThis.showSaveFilePicker');
        await page.goto(link);
        await heading(page, NAME);
        const [download] = await Promise.all([page.waitForEvent('download'), save(page)]);
        expect(download.suggestedFilename()).toBe(NAME);
        expect(sha256(await readFile(await download.path()))).toBe(sha256(content));
        await heading(page, 'Received');
        expect(problems).toEqual([]);
      },
      { acceptDownloads: true },
    );
  });

  test('is opened by no other key, and by no part of it', async () => {
    await stage.withPicker(async ({ page }) => {
      await page.goto(link.slice(0, -1));
      await heading(page, 'The key is missing');
      await page.goto(link.replace(key(), `${'A'.repeat(42)}A`));
      await heading(page, 'The key does not open this file');
      expect(await page.getByRole('button', { name: 'Save' }).isVisible()).toBe(false);
      // The whole link, pasted over the wrong one.
      await page.goto(link);
      await heading(page, NAME);
    });
  });

  test('saves nothing if neither a depot nor the edge of the page has the right bytes', async () => {
    await stage.withPicker(async ({ page }) => {
      const composed = small.link.replace(/#.*/, '');
      expect(composed).toContain('/-/f/');
      for (const whole of [...small.wholes, composed]) await damaged(page, whole);
      await page.goto(small.link);
      await save(page);
      await heading(page, 'A part of the file is damaged');
      expect(await picked(page)).toEqual({});
    });
  });

  test('gives a striped file although the depot with its bytes is dead: the edge solves it from parity', async () => {
    const dead = await stage.depots.start('--depot-dir', stage.path('c'));
    const [alive] = stage.edges;
    const both = [dead, alive];
    const { links, exnode } = await stage.upload('striped.odt', content, both, '--stripe', '1+1');
    const [extent] = JSON.parse(await readFile(exnode, 'utf8')).extents;
    expect(extent.shards[0][0].read).toContain(dead.url);
    const link = links.find((one) => one.startsWith(`${alive.url}/`)) ?? '';
    await dead.stop('SIGKILL');
    await stage.withPicker(async ({ page }) => {
      await page.goto(link);
      await heading(page, 'striped.odt');
      await save(page);
      await heading(page, 'Received');
      expect(await picked(page)).toEqual({ 'striped.odt': sha256(content) });
    });
  });

  test('ends with a message if what describes it is endless, or has been changed', async () => {
    await stage.withPicker(async ({ page }) => {
      // The page finds the description by the link of the file.
      const document = link.replace(/\/[^/]*#.*/, '/encrypted.exnode').replace('/-/f/', '/-/d/');
      const shared = JSON.parse(await (await fetch(document)).text());
      let body = ' '.repeat(16 * MIB + 1);
      await page.route(document, async (route) => {
        if (route.request().isNavigationRequest()) return route.continue();
        return route.fulfill({ body });
      });
      await page.goto(link);
      await heading(page, 'The description of the file cannot be used');
      // Another description of the same depot, with the digest of other bytes.
      body = JSON.stringify({ ...shared, root: '0'.repeat(64) });
      await page.reload();
      await heading(page, 'The description of the file cannot be used');
    });
  });

  test.each(['light', 'dark'] as const)('has a page for everybody, %s', async (colorScheme) => {
    const viewport = { width: 380, height: 800 };
    await stage.withPicker(
      async ({ page, problems }) => {
        await page.goto(link);
        await heading(page, NAME);
        await fits(page);
        expect(await barriers(page)).toEqual([]);
        await page.getByText('Use Millrace itself').click();
        await fits(page);
        expect(await barriers(page)).toEqual([]);
        await page.goto(link.slice(0, -1));
        await heading(page, 'The key is missing');
        await fits(page);
        expect(await barriers(page)).toEqual([]);
        expect(problems).toEqual([]);
      },
      { colorScheme, viewport },
    );
  });
});

test('programs get the bytes, and links that are not encrypted download as before', async () => {
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const kind = async (url: string, headers: Record<string, string>) => {
    const { headers: fields } = await fetch(url, { headers });
    return [fields.get('content-type'), fields.get('vary'), fields.get('cache-control')];
  };
  const document = link.replace(/#.*/, '');
  const vary = 'accept, sec-fetch-dest';
  const bytes = ['application/octet-stream', vary, expect.stringMatching(/^max-age=60/)];
  expect(await kind(document, {})).toEqual(bytes);
  expect(await kind(document, { accept, 'sec-fetch-dest': 'image' })).toEqual(bytes);
  expect(await kind(document, { accept })).toEqual(['text/html; charset=utf-8', vary, 'no-store']);
  const whole = await kind(large.wholes[0] as string, { accept });
  expect(whole).toEqual(['application/octet-stream', null, expect.stringMatching(/^max-age=60/)]);
});

test('a link that has been revoked leads to a page that says so', async () => {
  await stage.withPicker(async ({ page }) => {
    await page.goto(small.link);
    await heading(page, 'notes.txt');
    expect((await runCli(['trim', small.exnode, '--all'], stage.env)).code).toBe(0);
    await save(page);
    await heading(page, 'The file is not there any more');
    expect(await picked(page)).toEqual({});
    const answer = await page.reload();
    expect([answer?.status(), await answer?.headerValue('content-type')]).toEqual([
      404,
      'text/html; charset=utf-8',
    ]);
    await heading(page, 'The depot has no such file');
  });
});

describe('the link for a guest', () => {
  const file = () => stage.path(NAME);
  const named = (name: string) => expect.stringContaining(encodeURIComponent(name.slice(0, 7)));

  test('takes a file in the browser, goes on after the page is closed, and ends with its owner', async () => {
    const { guest, files } = await stage.invite('--bytes', '10MiB');
    const [own] = files as [{ file: string; manage: string }];
    await stage.inWindow(async ({ page, problems }) => {
      const offsets: (string | undefined)[] = [];
      page.on('request', (request) => {
        if (request.method() === 'PATCH') offsets.push(request.headers()['upload-offset']);
      });
      await cutAfterFirstPiece(page);
      await page.goto(guest);
      expect(await page.locator('#size').textContent()).toBe('10 MiB');
      await page.getByLabel('Choose a file').setInputFiles(file());
      await page.getByText('4 MiB of 9 MiB stored').waitFor();
      page.on('dialog', (dialog) => void dialog.accept());
      await page.goto('about:blank');
      await page.addInitScript('globalThis.goesOn = true');
      // Nobody else can write into what has been begun, with the link or without.
      const taken = await runCli(['upload', '--guest', guest, small.exnode, '--json'], stage.env);
      expect([taken.code, taken.stdout]).toEqual([2, expect.stringContaining('upload-running')]);
      await page.goto(guest);
      await page.getByLabel('Choose a file').setInputFiles(file());
      await heading(page, 'Sent');
      // The first piece is not sent again.
      expect(offsets.filter((offset) => offset === '0')).toEqual(['0']);
      expect(await page.locator('#link').textContent()).toBe(own.file);
      expect(await fileAt(own.file)).toEqual([200, named(NAME), sha256(content)]);
      expect(problems).toEqual([]);
      expect((await fetch(own.manage, { method: 'DELETE' })).status).toBe(204);
      await page.reload();
      await heading(page, 'The invitation has ended');
      expect(stage.logged.join()).not.toContain(guest.slice(-32));
    });
  });

  test('takes as many files from the command as it permits, and none that is too large', async () => {
    const { guest, files } = await stage.invite('--bytes', '1MiB', '--times', '2');
    const sent = async (path: string) => {
      const guestEnv = { MILLRACE_STATE: stage.path('guest') };
      const { code, stdout } = await runCli(['upload', path, '--guest', guest, '--json'], guestEnv);
      const last = JSON.parse(stdout.trim().split('\n').at(-1) as string);
      return [code, last.link ?? last.code];
    };
    const notes = stage.path('notes.txt');
    expect(await sent(file())).toEqual([expect.any(Number), 'upload-too-long']);
    expect(await sent(notes)).toEqual([0, files[0]?.file]);
    expect(await sent(stage.depots.tokenFile)).toEqual([0, files[1]?.file]);
    expect(await sent(small.exnode)).toEqual([2, 'upload-running']);
    expect(await fileAt(files[0]?.file ?? '')).toEqual([
      ...[200, named('notes.txt')],
      sha256(await readFile(notes)),
    ]);
  });

  test('has a page for everybody', async () => {
    const { guest } = await stage.invite('--bytes', '20MiB');
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width: 380, height: 800 };
      await stage.inWindow(
        async ({ page, problems }) => {
          await page.goto(guest);
          await page.getByText('20 MiB').waitFor();
          await fits(page);
          expect([await barriers(page), problems]).toEqual([[], []]);
        },
        { colorScheme, viewport },
      );
    }
  });
});
