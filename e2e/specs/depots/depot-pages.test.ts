/** Links of encrypted files in a real browser, in which nothing of Millrace is installed. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { openPage } from '../../fixtures/pages/edge-pages.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import type { OpenPage } from '../../fixtures/pages/window.ts';
import { type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';

const { beforeAll, describe, test } = testsWhere(browserOrComplain('the page that decrypts'));

const MIB = 1024 * 1024;
const NAME = 'Minutes, May 2026.odt';
// Two requests: what a page fetches at a time is 8 MiB.
const content = contentOf('a file for a browser', 9 * MIB + 4321);

const stage = await DepotStage.set();
const env = { MILLRACE_STATE: join(stage.folder, 'state') };
let browser: Browser;
let edges: readonly EdgeProcess[];
/** Two files: their links, those of their whole copies, and their exNodes. */
let large: Stored;
let small: Stored;
let link: string;
const key = () => link.replace(/.*#k\./, '');

beforeAll(async () => {
  const dirs = ['a', 'b'].map((name) => join(stage.folder, name));
  const starting = dirs.map((dir) => stage.start('--depot-dir', dir, '--log-level', 'debug'));
  [browser, ...edges] = await Promise.all([launchBrowser(), ...starting]);
  [large, small] = await Promise.all([
    upload(NAME, content),
    upload('notes.txt', Buffer.from('a few notes')),
  ]);
  ({ link } = large);
});
afterAll(() => browser?.close());

interface Stored {
  readonly link: string;
  /** Of all depots, in any order. */
  readonly links: readonly string[];
  readonly wholes: readonly string[];
  readonly exnode: string;
}

async function upload(
  name: string,
  bytes: Buffer,
  depots = edges,
  ...options: string[]
): Promise<Stored> {
  const file = join(stage.folder, name);
  await writeFile(file, bytes);
  const exnode = `${file}.exnode`;
  const at = depots.flatMap(({ url }) => ['--edge', url]);
  const args = ['upload', file, '--encrypt', ...at, '--token-file', stage.tokenFile, '-o', exnode];
  const { code, stdout, stderr } = await runCli([...args, ...options, '--json'], env);
  if (code !== 0) throw new Error(stdout + stderr);
  const { links, wholes } = JSON.parse(stdout.trim().split('\n').at(-1) as string);
  return { link: links[0], links, wholes, exnode };
}

/**
 * Opens a window in which the browser's own dialog names a file of the page's folder, since no test
 * can click there. Writing to it is the browser's.
 */
async function withPicker(options: Parameters<typeof openPage>[1] = {}): Promise<OpenPage> {
  const opened = await openPage(browser, options);
  await opened.page.addInitScript(() => {
    const scope = globalThis as unknown as Record<string, unknown>;
    scope.showSaveFilePicker = async ({ suggestedName }: { suggestedName: string }) => {
      const folder = await navigator.storage.getDirectory();
      return folder.getFileHandle(suggestedName, { create: true });
    };
  });
  return opened;
}

/** Returns what is in the page's folder: names and SHA-256. */
function picked(page: Page): Promise<Record<string, string>> {
  return page.evaluate(async () => {
    const found: Record<string, string> = {};
    const folder = await navigator.storage.getDirectory();
    for await (const [name, one] of folder as unknown as AsyncIterable<
      [string, FileSystemFileHandle]
    >) {
      const bytes = await (await one.getFile()).arrayBuffer();
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
      found[name] = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
    }
    return found;
  });
}

const save = (page: Page) => page.getByRole('button', { name: 'Save' }).click();
const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor();

/** Lets a depot, or an edge, answer reads of the ciphertext with other bytes. */
async function damaged(page: Page, whole: string, change: (body: Buffer) => Buffer) {
  await page.route(whole, async (route) => {
    if (route.request().isNavigationRequest()) return route.continue();
    const response = await route.fetch();
    await route.fulfill({ response, body: change(await response.body()) });
  });
}

const flipped = (body: Buffer) => {
  body.writeUInt8(body.readUInt8(body.length - 9) ^ 4, body.length - 9);
  return body;
};

describe('the link of an encrypted file, in a browser', () => {
  test('gives the file, though one of two depots lies, and tells no server the key', async () => {
    const { context, page, problems } = await withPicker();
    const asked: string[] = [];
    page.on('request', (request) => {
      asked.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData()}`);
    });
    try {
      await damaged(page, large.wholes[0] as string, flipped);
      await page.goto(link);
      await heading(page, NAME);
      expect(await page.locator('#size').textContent()).toBe('9 MiB');
      await save(page);
      await heading(page, 'Received');
      expect(await picked(page)).toEqual({ [NAME]: sha256(content) });
      expect(problems).toEqual([]);
      expect(await page.title()).toContain(NAME);
      expect(asked.length).toBeGreaterThan(3);
      const known = [...asked, ...edges.flatMap(({ log }) => log)].join('\n');
      expect(known).toContain('/-/d/');
      expect(known).not.toContain(key());
      expect(known).not.toMatch(/"referer"/i);
    } finally {
      await context.close();
    }
  });

  test('is saved as a download by browsers that cannot choose a place', async () => {
    const { context, page, problems } = await openPage(browser, { acceptDownloads: true });
    try {
      await page.addInitScript('delete globalThis.showSaveFilePicker');
      await page.goto(link);
      await heading(page, NAME);
      const [download] = await Promise.all([page.waitForEvent('download'), save(page)]);
      expect(download.suggestedFilename()).toBe(NAME);
      expect(sha256(await readFile(await download.path()))).toBe(sha256(content));
      await heading(page, 'Received');
      expect(problems).toEqual([]);
    } finally {
      await context.close();
    }
  });

  test('is opened by no other key, and by no part of it', async () => {
    const { context, page } = await withPicker();
    try {
      await page.goto(link.slice(0, -1));
      await heading(page, 'The key is missing');
      await page.goto(link.replace(key(), `${'A'.repeat(42)}A`));
      await heading(page, 'The key does not open this file');
      expect(await page.getByRole('button', { name: 'Save' }).isVisible()).toBe(false);
      // The whole link, pasted over the wrong one.
      await page.goto(link);
      await heading(page, NAME);
    } finally {
      await context.close();
    }
  });

  test('saves nothing if neither a depot nor the edge of the page has the right bytes', async () => {
    const { context, page } = await withPicker();
    try {
      const composed = small.link.replace(/#.*/, '');
      expect(composed).toContain('/-/f/');
      for (const whole of [...small.wholes, composed]) await damaged(page, whole, flipped);
      await page.goto(small.link);
      await save(page);
      await heading(page, 'A part of the file is damaged');
      expect(await picked(page)).toEqual({});
    } finally {
      await context.close();
    }
  });

  test('gives a striped file although the depot with its bytes is dead: the edge solves it from parity', async () => {
    const dead = await stage.start('--depot-dir', join(stage.folder, 'c'));
    const [alive] = edges as [EdgeProcess];
    const both = [dead, alive];
    const { links, exnode } = await upload('striped.odt', content, both, '--stripe', '1+1');
    const [extent] = JSON.parse(await readFile(exnode, 'utf8')).extents;
    expect(extent.shards[0][0].read).toContain(dead.url);
    const link = links.find((one) => one.startsWith(`${alive.url}/`)) ?? '';
    await dead.stop('SIGKILL');
    const { context, page } = await withPicker();
    try {
      await page.goto(link);
      await heading(page, 'striped.odt');
      await save(page);
      await heading(page, 'Received');
      expect(await picked(page)).toEqual({ 'striped.odt': sha256(content) });
    } finally {
      await context.close();
    }
  });

  test('ends with a message if what describes it is endless, or has been changed', async () => {
    const { context, page } = await withPicker();
    // The page finds the description by the link of the file.
    const document = link.replace(/\/[^/]*#.*/, '/encrypted.exnode').replace('/-/f/', '/-/d/');
    const shared = JSON.parse(await (await fetch(document)).text());
    let body = ' '.repeat(16 * MIB + 1);
    try {
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
    } finally {
      await context.close();
    }
  });

  test.each(['light', 'dark'] as const)('has a page for everybody, %s', async (colorScheme) => {
    const viewport = { width: 380, height: 800 };
    const { context, page, problems } = await withPicker({ colorScheme, viewport });
    try {
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
    } finally {
      await context.close();
    }
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
  const { context, page } = await withPicker();
  try {
    await page.goto(small.link);
    await heading(page, 'notes.txt');
    expect((await runCli(['trim', small.exnode, '--all'], env)).code).toBe(0);
    await save(page);
    await heading(page, 'The file is not there any more');
    expect(await picked(page)).toEqual({});
    const answer = await page.reload();
    expect([answer?.status(), await answer?.headerValue('content-type')]).toEqual([
      404,
      'text/html; charset=utf-8',
    ]);
    await heading(page, 'The depot has no such file');
  } finally {
    await context.close();
  }
});

/** Makes a link for guests. @returns it, and the links of the owner */
async function invite(...options: string[]) {
  const args = ['invite', '--edge', edges[0]?.url ?? '', '--token-file', stage.tokenFile, '--json'];
  const { code, stdout, stderr } = await runCli([...args, ...options], env);
  if (code !== 0) throw new Error(stdout + stderr);
  const made: { guest: string; files: { file: string; manage: string }[] } = JSON.parse(stdout);
  return made;
}

const digestAt = async (url: string) => {
  const response = await fetch(url);
  const body = Buffer.from(await response.arrayBuffer());
  return [response.status, response.headers.get('content-disposition'), sha256(body)];
};

describe('the link for a guest', () => {
  const file = () => join(stage.folder, NAME);
  const named = (name: string) => expect.stringContaining(encodeURIComponent(name.slice(0, 7)));

  test('takes a file in the browser, goes on after the page is closed, and ends with its owner', async () => {
    const { guest, files } = await invite('--bytes', '10MiB');
    const [own] = files as [{ file: string; manage: string }];
    const { context, page, problems } = await openPage(browser);
    const offsets: (string | undefined)[] = [];
    try {
      page.on('request', (request) => {
        if (request.method() === 'PATCH') offsets.push(request.headers()['upload-offset']);
      });
      // The line is cut after the first piece, until the page is opened again.
      await page.addInitScript(() => {
        const scope = globalThis as typeof globalThis & { goesOn?: boolean };
        const own = scope.fetch;
        scope.fetch = (url, init = {}) => {
          const { 'upload-offset': offset = '0' } = (init.headers ?? {}) as Record<string, string>;
          if (offset === '0' || scope.goesOn === true) return own(url, init);
          return Promise.reject(new TypeError('the line is cut'));
        };
      });
      await page.goto(guest);
      expect(await page.locator('#size').textContent()).toBe('10 MiB');
      await page.getByLabel('Choose a file').setInputFiles(file());
      await page.getByText('4 MiB of 9 MiB stored').waitFor();
      page.on('dialog', (dialog) => void dialog.accept());
      await page.goto('about:blank');
      await page.addInitScript('globalThis.goesOn = true');
      // Nobody else can write into what has been begun, with the link or without.
      const taken = await runCli(['upload', '--guest', guest, small.exnode, '--json'], env);
      expect([taken.code, taken.stdout]).toEqual([2, expect.stringContaining('upload-running')]);
      await page.goto(guest);
      await page.getByLabel('Choose a file').setInputFiles(file());
      await heading(page, 'Sent');
      // The first piece is not sent again.
      expect(offsets.filter((offset) => offset === '0')).toEqual(['0']);
      expect(await page.locator('#link').textContent()).toBe(own.file);
      expect(await digestAt(own.file)).toEqual([200, named(NAME), sha256(content)]);
      expect(problems).toEqual([]);
      expect((await fetch(own.manage, { method: 'DELETE' })).status).toBe(204);
      await page.reload();
      await heading(page, 'The invitation has ended');
      expect(edges.flatMap(({ log }) => log).join()).not.toContain(guest.slice(-32));
    } finally {
      await context.close();
    }
  });

  test('takes as many files from the command as it permits, and none that is too large', async () => {
    const { guest, files } = await invite('--bytes', '1MiB', '--times', '2');
    const sent = async (path: string) => {
      const guestEnv = { MILLRACE_STATE: join(stage.folder, 'guest') };
      const { code, stdout } = await runCli(['upload', path, '--guest', guest, '--json'], guestEnv);
      const last = JSON.parse(stdout.trim().split('\n').at(-1) as string);
      return [code, last.link ?? last.code];
    };
    const notes = join(stage.folder, 'notes.txt');
    expect(await sent(file())).toEqual([expect.any(Number), 'upload-too-long']);
    expect(await sent(notes)).toEqual([0, files[0]?.file]);
    expect(await sent(stage.tokenFile)).toEqual([0, files[1]?.file]);
    expect(await sent(small.exnode)).toEqual([2, 'upload-running']);
    expect(await digestAt(files[0]?.file ?? '')).toEqual([
      ...[200, named('notes.txt')],
      sha256(await readFile(notes)),
    ]);
  });

  test('has a page for everybody', async () => {
    const { guest } = await invite('--bytes', '20MiB');
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width: 380, height: 800 };
      const { context, page, problems } = await openPage(browser, { colorScheme, viewport });
      try {
        await page.goto(guest);
        await page.getByText('20 MiB').waitFor();
        await fits(page);
        expect([await barriers(page), problems]).toEqual([[], []]);
      } finally {
        await context.close();
      }
    }
  });
});
