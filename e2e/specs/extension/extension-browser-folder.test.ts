/**
 * The extension in a real Chromium whose folder is not the app's: a file that the app takes over
 * ends up where the browser would have put it, beside files that the browser itself saves there
 * under the same name.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import type { Page } from 'playwright-core';
import { type BrowserFile, BrowserFiles } from '../../fixtures/origins/browser-files.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { named } from '../../fixtures/origins/public-names.ts';
import { buildExtension, ExtensionBrowser } from '../../fixtures/pages/extension.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { DaemonCli } from '../../fixtures/programs/daemon-cli.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { becomes, until } from '../../fixtures/until.ts';

const seed = testSeed('hand-offs into the browser’s folder');
const MB = 1024 * 1024;
const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  browserOrComplain('hand-offs into the browser’s folder'),
);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let files: BrowserFiles;
let cli: DaemonCli;
let browser: ExtensionBrowser;
const pages: Page[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  files = await BrowserFiles.start();
  cli = new DaemonCli(folder.path);
  const profile = join(folder.path, 'profile');
  const [built] = await Promise.all([
    buildExtension(join(folder.path, 'built')),
    cli.json('native-host', 'install', 'chromium', '--dir', profile),
  ]);
  browser = await ExtensionBrowser.start({
    extension: built.chromium,
    profile,
    environment: cli.env,
  });
  await startDaemon();
  await browser.set({ minBytes: MB, taker: 'desktop' });
});

afterEach(async () => {
  files?.release();
  for (const page of pages.splice(0)) await page.close();
});

afterAll(async () => {
  await browser?.stop();
  await cli.kill();
  await files.stop();
  await folder.remove();
});

/** Starts the daemon without a chosen folder, unless the native host has been quicker. */
const startDaemon = () => cli.ensureDaemon();

async function click(path: string, more: Partial<BrowserFile> = {}): Promise<void> {
  const name = path.slice(1);
  const page = await browser.context.newPage();
  pages.push(page);
  const file = { body: contentOf(name, 2 * MB), name: `${name}.bin`, ...more };
  await page.goto(named(files.add(path, file), '127.0.0.1'));
  await page.evaluate(() => (document.querySelector('#link') as HTMLElement).click());
}

const own = async (path: string) =>
  (await browser.listed()).filter(({ url }) => url.endsWith(path)).map(({ state }) => state);

interface Row {
  readonly gid: string;
  readonly urls: readonly string[];
  readonly status: string;
}

/** Lists the app's downloads of an address; none while there is no daemon. */
async function rowsOf(path: string): Promise<Row[]> {
  const rows = await cli
    .call('list', {})
    .then(({ downloads }) => downloads)
    .catch(() => []);
  return rows.filter(({ urls }) => urls[0]?.endsWith(path));
}

const apps = async (path: string) => (await rowsOf(path)).map(({ status }) => status);

/** A window of the schedule in which the daemon starts no download: all the time. */
const ALWAYS = {
  days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
  from: '00:00',
  to: '00:00',
  pause: true,
};
const setSettings = (change: object) => cli.call('setSettings', change);

/**
 * Lists the files in the browser's folder whose names begin with a name. The browser deletes its
 * partial files after it lists the end of a download.
 */
const there = async (name: string) =>
  (await readdir(browser.downloads)).filter((one) => one.startsWith(name)).sort();

/** Lists the files in the app's folder whose names begin with a name. */
const inApps = async (name: string) =>
  (await readdir(join(folder.path, 'Downloads')).catch(() => [])).filter((one) =>
    one.startsWith(name),
  );

const digestsOf = (names: readonly string[]) =>
  Promise.all(names.map(async (one) => sha256(await readFile(join(browser.downloads, one)))));

/** Waits until either browser or app has each file, complete and once, and hand-offs are over. */
async function endOnce(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await until(async () => {
      await browser.wakeBackground();
      return [...(await own(path)), ...(await apps(path))].join() === 'complete';
    });
  }
  await until(async () => (await browser.handOffs()) === 0);
  // The app unlocks a file after it has recorded that the file is complete.
  const held = async () =>
    [...(await there('')), ...(await inApps(''))].some((name) => name.endsWith('-lock'));
  await until(async () => !(await held()));
}

describe('a file that the app takes over', () => {
  test('is where the browser would have put it, once', async () => {
    await click('/well');
    await endOnce('/well');
    expect(await apps('/well')).toEqual(['complete']);
    await becomes(() => there('well'), ['well.bin']);
    expect(await digestsOf(['well.bin'])).toEqual([files.digest('/well')]);
    expect(await inApps('well')).toEqual([]);
  });

  test('keeps its name from all later files, those of the browser included', async () => {
    await setSettings({ windows: [ALWAYS] });
    const name = 'same.bin';
    const taken = ['/same-0', '/same-1', '/same-2'];
    for (const path of taken) {
      await click(path, { name });
      await until(async () => [...(await own(path)), ...(await apps(path))].join() === 'queued');
    }
    await click('/same-own', { name, toTakers: 'forbidden' });
    await until(async () => (await own('/same-own')).join() === 'in_progress');
    await until(async () => (await browser.handOffs()) === 0);
    files.release();
    await endOnce('/same-own');
    // The browser has saved its own file while the app held the names.
    expect(await readFile(join(browser.downloads, name), 'utf8')).toMatch(
      /^Millrace is downloading/,
    );
    await setSettings({ windows: [] });
    await endOnce(...taken);
    const all = ['same (1).bin', 'same (2).bin', 'same (3).bin', 'same.bin'];
    await becomes(() => there('same'), all);
    const wanted = [...taken, '/same-own'].map((path) => files.digest(path));
    expect((await digestsOf(all)).sort()).toEqual(wanted.sort());
    expect(await inApps('same')).toEqual([]);
  });

  test('leaves the name to others once it is removed', async () => {
    await setSettings({ windows: [ALWAYS] });
    await click('/gone', { name: 'gone.bin' });
    await until(
      async () => [...(await own('/gone')), ...(await apps('/gone'))].join() === 'queued',
    );
    await becomes(() => there('gone'), ['gone.bin']);
    const [row] = (await rowsOf('/gone')) as [Row];
    await cli.call('remove', { gids: [row.gid], forget: true, now: true });
    await until(async () => (await there('gone')).length === 0);
    await setSettings({ windows: [] });
    await click('/gone', { name: 'gone.bin' });
    await endOnce('/gone');
    await becomes(() => there('gone'), ['gone.bin']);
    expect(await digestsOf(['gone.bin'])).toEqual([files.digest('/gone')]);
  });

  test('is in the app’s folder when the user wants it there', async () => {
    await setSettings({ browserFolder: false });
    await click('/off');
    await endOnce('/off');
    await setSettings({ browserFolder: true, dir: join(folder.path, 'chosen') });
    await click('/chosen');
    await endOnce('/chosen');
    await setSettings({ dir: null });
    await becomes(async () => [...(await there('off')), ...(await there('chosen'))], []);
    expect(await inApps('off')).toEqual(['off.bin']);
    expect(await readdir(join(folder.path, 'chosen'))).toEqual(['chosen.bin']);
  });
});

describe('nothing is lost, and no name stays held, when', () => {
  const random = seededRandom(seed);

  test.each([
    ['the daemon', 'offering'],
    ['the daemon', 'committing'],
    ['the daemon', 'settling'],
    ['the daemon', 'ending'],
    ['the background with it', 'committing'],
    ['the background with it', 'settling'],
  ])('%s ends in the phase %s', async (who, phase) => {
    const path = `/dies-${who === 'the daemon' ? 'daemon' : 'both'}-${phase}`;
    const name = path.slice(1);
    const reached = await browser.watchPhase(phase);
    const killed = reached().then(async () => {
      for (let turns = Math.floor(random() * 5); turns > 0; turns--) await browser.asExtension('0');
      await Promise.all([cli.kill(), who !== 'the daemon' ? browser.killBackground() : undefined]);
    });
    await click(path);
    await killed;
    await browser.wakeBackground();
    await startDaemon();
    files.release();
    await endOnce(path);
    await becomes(async () => [await there(name), await inApps(name)], [[`${name}.bin`], []]);
    expect(await digestsOf([`${name}.bin`])).toEqual([files.digest(path)]);
  });

  test('the daemon ends while it holds a name, and the browser saves another file of that name', async () => {
    await setSettings({ windows: [ALWAYS] });
    await click('/held', { name: 'held.bin' });
    await until(
      async () => [...(await own('/held')), ...(await apps('/held'))].join() === 'queued',
    );
    await cli.kill();
    await click('/other', { name: 'held.bin', toTakers: 'forbidden' });
    await until(async () => (await own('/other')).join() === 'in_progress');
    await until(async () => (await browser.handOffs()) === 0);
    files.release();
    await until(async () => (await own('/other')).join() === 'complete');
    await startDaemon();
    await setSettings({ windows: [] });
    await endOnce('/held', '/other');
    await becomes(() => there('held'), ['held (1).bin', 'held.bin']);
    expect(await digestsOf(['held (1).bin', 'held.bin'])).toEqual(
      ['/other', '/held'].map((path) => files.digest(path)),
    );
  });
});
