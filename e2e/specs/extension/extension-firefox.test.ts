/** The extension in a real Firefox: downloads that it hands to the desktop, or fetches itself. */

import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { Page } from 'puppeteer-core';
import { BrowserFiles } from '../../fixtures/origins/browser-files.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { buildExtension } from '../../fixtures/pages/extension.ts';
import { FirefoxBrowser, firefoxOrComplain } from '../../fixtures/pages/firefox.ts';
import { DaemonCli, isAlive } from '../../fixtures/programs/daemon-cli.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  firefoxOrComplain('the extension in Firefox'),
);

const MB = 1024 * 1024;
/** Wait before the files that are left are shown, ms: shorter than the test's limit. */
const SHOWN_AFTER_MS = 60_000;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let files: BrowserFiles;
let cli: DaemonCli;
let firefox: FirefoxBrowser;
let extension: string;
const pages: Page[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  files = await BrowserFiles.start();
  cli = new DaemonCli(folder.path);
  const [built] = await Promise.all([
    buildExtension(join(folder.path, 'built')),
    cli.json('native-host', 'install', 'firefox'),
  ]);
  extension = built.firefox;
  firefox = await FirefoxBrowser.start(folder.path, extension);
  await firefox.set({ minBytes: MB, taker: 'desktop' });
});

afterEach(async () => {
  files?.release();
  for (const page of pages.splice(0)) await page.close();
});

afterAll(async () => {
  await firefox.stop();
  await cli.kill();
  await files.stop();
  await folder.remove();
});

/** Opens a file's page, and clicks a link or submits a form. */
async function click(pageUrl: string, what = '#link'): Promise<void> {
  const page = await firefox.open(pageUrl);
  pages.push(page);
  await page.evaluate((selector) => {
    const found = document.querySelector(selector);
    if (found instanceof HTMLFormElement) found.submit();
    else (found as HTMLElement).click();
  }, what);
}

type Taken = DownloadView & { readonly path: string };

/** Finds the desktop's download of a name. */
async function taken(name: string): Promise<Taken | undefined> {
  const pid = await cli.pid();
  if (pid === undefined) return undefined;
  if (!isAlive(pid)) {
    // A test has killed the daemon: restart it, unless the native host has already done so.
    await cli.ensureDaemon('--dir', cli.downloads);
  }
  const { downloads } = await cli.call('list');
  return downloads.find((one) => one.name === name) as Taken | undefined;
}

async function digestOf(path: string): Promise<string> {
  return sha256(await readFile(path));
}

/** Waits until Firefox has saved a file. The desktop has none of it, and nothing is left over. */
async function savedByFirefox(path: string, name: string): Promise<void> {
  const saved = join(firefox.downloads, name);
  await until(async () =>
    (await firefox.listed()).some(
      ({ filename, state }) => filename === saved && state === 'complete',
    ),
  );
  expect(await digestOf(saved)).toBe(files.digest(path));
  expect(await taken(name)).toBeUndefined();
  // Firefox deletes partial files after it lists the end of a download.
  await until(async () => {
    const files = await firefox.files();
    return files.filter((one) => one.startsWith(name)).join() === name;
  });
}

describe('Firefox', () => {
  afterAll(() => firefox.set({ on: true }));

  test('closes the connection of a paused download, so hand-offs never pause one', async () => {
    await firefox.set({ on: false });
    await click(files.add('/paused', { body: contentOf('paused', 2 * MB), name: 'paused.bin' }));
    await until(() => files.held === 1);
    const named = "browser.downloads.search({ filenameRegex: 'paused' })";
    type State = { readonly canResume: boolean; readonly bytesReceived: number };
    const state = async () => (await firefox.asExtension<State[]>(named))[0];
    // Firefox resumes only what it has bytes of: a download paused before its first byte is lost.
    await until(async () => ((await state())?.bytesReceived ?? 0) > 0);
    await firefox.asExtension(`${named}.then(([{ id }]) => browser.downloads.pause(id))`);
    await until(() => files.held === 0);
    // The connection is closed before Firefox counts the download as one that it can resume.
    await until(async () => (await state())?.canResume === true);
    // To resume, Firefox asks for the rest. Without ranges it would lose all bytes, even where it
    // says that it can resume.
    await firefox.asExtension(`${named}.then(([{ id }]) => browser.downloads.resume(id))`);
    await savedByFirefox('/paused', 'paused.bin');
    expect(files.asked('/paused', 'taker').map(({ headers }) => headers.range)).toEqual([
      expect.stringMatching(/^bytes=[1-9]\d*-$/),
    ]);
  });
});

describe('the desktop takes', () => {
  const takes = (what: string, path: string, add: () => string) =>
    test(what, async () => {
      const name = `${path}.bin`;
      await click(add());
      await until(async () => (await taken(name))?.status === 'complete');
      const { path: saved } = (await taken(name)) as Taken;
      expect(saved.startsWith(join(folder.path, 'Downloads'))).toBe(true);
      expect(await digestOf(saved)).toBe(files.digest(`/${path}`));
      // Firefox has dropped its download and asks nobody for the file. Firefox deletes its partial
      // file when the download is cancelled, and the entry in its list after that.
      await until(
        async () =>
          files.held === 0 &&
          (await firefox.files()).every((one) => !one.startsWith(path)) &&
          (await firefox.listed()).every(({ url }) => !url.includes(path)),
      );
      expect(files.asked(`/${path}`, 'browser')).toHaveLength(1);
      for (const { headers } of files.asked(`/${path}`, 'taker')) {
        expect(headers['user-agent']).toMatch(/Firefox/);
        expect(headers.referer).toMatch(/\/page\?to=/);
      }
    });

  takes('a link', 'linked', () =>
    files.add('/linked', { body: contentOf('linked', 3 * MB), name: 'linked.bin' }),
  );
  takes('what a cookie is needed for', 'private', () =>
    files.add('/private', {
      body: contentOf('private', 3 * MB),
      name: 'private.bin',
      cookie: 'session=42',
    }),
  );
  takes('what a link redirects to', 'target', () => {
    files.add('/target', { body: contentOf('target', 3 * MB), name: 'target.bin' });
    return files.add('/redirected', { body: Buffer.alloc(0), name: '', at: '/target' });
  });
});

describe('Firefox keeps', () => {
  test('a file that is small, posted, or made by a page', async () => {
    await click(
      files.add('/small', { body: contentOf('small', MB - 1), name: 'small.bin', held: false }),
    );
    await savedByFirefox('/small', 'small.bin');
    const posted = files.add('/posted', {
      body: contentOf('posted', 2 * MB),
      name: 'posted.bin',
      held: false,
    });
    await click(posted, '#form');
    await savedByFirefox('/posted', 'posted.bin');
    const page = await firefox.open(posted);
    pages.push(page);
    await page.evaluate((bytes) => {
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([new Uint8Array(bytes)]));
      link.download = 'blob.bin';
      link.click();
    }, 2 * MB);
    await until(async () =>
      (await firefox.listed()).some(
        ({ url, state }) => url.startsWith('blob:') && state === 'complete',
      ),
    );
    expect(await taken('blob.bin')).toBeUndefined();
    for (const path of ['/small', '/posted']) expect(files.asked(path, 'taker')).toEqual([]);
  });

  const keeps = (
    what: string,
    toTakers: 'forbidden' | 'longer' | 'another' | 'reset' | 'nothing',
    meanwhile = async () => {},
  ) =>
    test(`a file that ${what}`, async () => {
      const [path, name] = [`/${toTakers}`, `${toTakers}.bin`];
      await click(files.add(path, { body: contentOf(toTakers, 2 * MB), name, toTakers }));
      await until(() => files.asked(path, 'taker').length > 0);
      await meanwhile();
      files.release();
      await savedByFirefox(path, name);
      expect(files.asked(path, 'browser')).toHaveLength(1);
    });

  keeps('is refused to others', 'forbidden');
  keeps('has another length for others', 'longer');
  keeps('is another version for others', 'another');
  keeps('is reset for others', 'reset');
  keeps('the daemon is killed over', 'nothing', () => cli.kill());
});

describe('a download that Firefox completes while it is handed over', () => {
  test('exists once', async () => {
    for (let i = 0; i < 3; i++) {
      const [path, name] = [`/race${i}`, `race${i}.bin`];
      await click(files.add(path, { body: contentOf(path, 2 * MB), name }));
      await until(() => files.asked(path, 'taker').length > 0);
      files.release();
      const saved = join(firefox.downloads, name);
      const copies = async () => {
        const listed = await firefox.listed();
        const own = listed.filter(
          ({ filename, state }) => filename === saved && state === 'complete',
        );
        const desktop = await taken(name);
        return [
          ...own.map(({ filename }) => filename),
          ...(desktop?.status === 'complete' ? [desktop.path] : []),
        ];
      };
      // The hand-off is over when its record is gone from storage.
      const under = 'browser.storage.local.get(null).then((all) => Object.keys(all))';
      await until(async () => {
        const keys = await firefox.asExtension<string[]>(under);
        return keys.every((key) => !key.startsWith('hand-off:')) && (await copies()).length === 1;
      });
      const [copy = ''] = await copies();
      expect(await digestOf(copy)).toBe(files.digest(path));
      // The test or the native host, whichever has started the daemon, has chosen its folder.
      const { dir: desktopFolder } = await cli.call('info');
      // The file of the other copy goes after its entry in the list.
      let left: string[] = [];
      const own = (names: string[], where: string) =>
        names.filter((one) => one.startsWith(`race${i}`)).map((one) => join(where, one));
      await until(async () => {
        left = [
          ...own(await firefox.files(), firefox.downloads),
          ...own(await readdir(desktopFolder).catch(() => []), desktopFolder),
        ];
        return left.length === 1;
      }, SHOWN_AFTER_MS).catch(() => {}); // shown below
      expect(left).toEqual([copy]);
    }
  });
});

describe('the engine in the extension', () => {
  test('resumes after resets, the end of the background, and the end of the browser', async () => {
    const home = join(folder.path, 'own');
    // After this idle time, in ms, Firefox ends the background, and its worker with it.
    const start = () =>
      FirefoxBrowser.start(home, extension, join(home, 'profile'), {
        'extensions.background.idle.timeout': 1000,
      });
    await mkdir(join(home, 'profile'), { recursive: true });
    const length = 16 * MB;
    files.add('/kept', { body: contentOf('kept', length), name: 'kept.bin', toTakers: 'half' });
    const ask = async <T>(one: FirefoxBrowser, request: object) =>
      one.asExtension<T>(`browser.runtime.sendMessage(${JSON.stringify(request)})`);
    const stored = async (one: FirefoxBrowser) => {
      // Firefox drops the request if it is just ending the background: then nothing is known.
      const state = await ask<{ downloads: { storedBytes: number }[] } | undefined>(one, {
        type: 'state',
      }).catch(() => undefined);
      return state?.downloads[0]?.storedBytes ?? 0;
    };
    const taken = () => files.asked('/kept', 'taker').length;
    let own = await start();
    try {
      await own.set({ taker: 'browser' });
      const added = await ask(own, { type: 'add', links: [{ url: files.url('/kept') }] });
      expect(added).toEqual({ added: 1, failed: 0 });
      await until(async () => (await stored(own)) >= length / 2);
      await until(() => taken() > 3);
      // Without events the background ends, and nothing waits for the second half any more.
      await until(() => files.held === 0);
      const before = taken();
      await until(async () => (await stored(own)) >= length / 2 && taken() > before);
      await own.kill();
      await until(() => files.held === 0);
      const asked = taken();
      files.letGo('/kept');
      own = await start();
      const saved = join(own.downloads, 'kept.bin');
      await until(async () => {
        const listed = await own.listed();
        // The background may end at any time; this request starts it again.
        await stored(own);
        return listed.some(({ filename, state }) => filename === saved && state === 'complete');
      });
      expect(await digestOf(saved)).toBe(files.digest('/kept'));
      await until(async () => {
        const names = (await own.files()).filter((name) => name.startsWith('kept'));
        return names.join() === 'kept.bin';
      });
      // Bytes on the disk were not fetched again.
      const starts = files.asked('/kept', 'taker').slice(asked);
      const early = starts.filter(({ headers }) => headers.range?.startsWith('bytes=0-') === true);
      expect(starts.length).toBeGreaterThan(0);
      expect(early).toEqual([]);
    } finally {
      await own.stop().catch(() => {});
    }
  });
});

describe('the extension takes', () => {
  test('a link by itself, and saves the file in the folder for downloads', async () => {
    await firefox.set({ taker: 'browser' });
    await click(files.add('/own', { body: contentOf('own', 3 * MB), name: 'own.bin' }));
    const saved = join(firefox.downloads, 'own.bin');
    await until(async () =>
      (await firefox.listed()).some(
        ({ filename, state, byExtensionId }) =>
          filename === saved && state === 'complete' && byExtensionId !== undefined,
      ),
    );
    expect(await digestOf(saved)).toBe(files.digest('/own'));
    await until(() => files.held === 0);
    expect(files.asked('/own', 'browser')).toHaveLength(1);
    await until(async () => {
      const names = (await firefox.files()).filter((one) => one.startsWith('own'));
      return names.join() === 'own.bin';
    });
    expect(await taken('own.bin')).toBeUndefined();
  });
});
