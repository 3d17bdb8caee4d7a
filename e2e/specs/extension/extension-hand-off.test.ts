/** The extension in a real Chromium: the downloads that it hands over, and those that it leaves. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from '@jest/globals';
import type { BrowserFile } from '../../fixtures/origins/browser-files.ts';
import { contentOf } from '../../fixtures/origins/content.ts';
import { NAMES_FOR_NODE, named } from '../../fixtures/origins/public-names.ts';
import { ExtensionStage } from '../../fixtures/pages/extension-stage.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { fileOf, HandOffs, MB } from '../../fixtures/stages/hand-offs.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const hooks = testsWhere(browserOrComplain('hand-offs of the extension'));
const { beforeAll, describe, test } = hooks;

const stage = ExtensionStage.forAllTests(hooks, { desktop: true });
const ends = new HandOffs(stage);

/** Settings with which the desktop takes files of 1 MiB or more, so that tests can use small ones. */
const FROM_1_MB = { minBytes: MB, taker: 'desktop' };

test('installing the extension starts the app, for which no download has to wait', async () => {
  await until(() =>
    stage.cli.call('info').then(
      () => true,
      () => false,
    ),
  );
});

describe('the desktop takes, with the default settings,', () => {
  test('64 MiB behind a link', async () => {
    await stage.click('/large', fileOf('large', 64 * MB));
    await ends.takenByDesktop('/large');
    expect(stage.files.asked('/large', 'browser')).toHaveLength(1);
    for (const { headers } of stage.files.asked('/large', 'taker')) {
      expect(headers['user-agent']).toMatch(/Chrome/);
      expect(headers.referer).toMatch(/\/page\?to=/);
    }
  });

  test('17 MiB behind a redirect to a file that needs a cookie', async () => {
    stage.files.add('/target', fileOf('target', 17 * MB, { cookie: 'session=42' }));
    await stage.click('/redirect', fileOf('x', 0, { at: '/target' }));
    await ends.takenByDesktop('/target');
  });

  test('the file of a link with "download", whose cookies the browser does not show', async () => {
    await stage.click('/marked', fileOf('marked', 17 * MB, { cookie: 'session=42' }), '#marked');
    await ends.takenByDesktop('/marked');
  });

  test('a small file that continues a paused download, and none that does not', async () => {
    stage.files.add('/earlier', fileOf('paused', 2 * MB));
    const urls = [stage.files.url('/earlier')];
    const { gid } = await stage.cli.call('add', { urls, file: 'paused.bin', limit: 15_000 });
    await until(async () => ((await ends.taken('paused'))[0]?.storedBytes ?? 0) > 0);
    await stage.cli.call('pause', { gids: [gid] });
    await until(async () => (await ends.taken('paused'))[0]?.status === 'paused');
    // The extension knows what it has shown.
    const popup = await stage.browser.ownPage('popup.html');
    stage.closeLater(popup);
    await popup.getByText('paused.bin').waitFor();
    await stage.click('/other', fileOf('other', 2 * MB, { held: false }));
    await ends.keptByBrowser('/other');
    await stage.cli.call('change', { gid, limit: null });
    await stage.click('/paused', fileOf('paused', 2 * MB));
    await ends.takenByDesktop('/paused');
  });
});

describe('the menu', () => {
  test('hands a link to the desktop, with its cookies', async () => {
    const page = await stage.open();
    const file = fileOf('menu', MB, { cookie: 'session=42' });
    await page.goto(stage.files.add('/menu', file));
    await stage.browser.chooseInMenu(page, 'menuLink', { linkUrl: stage.files.url('/menu') });
    await ends.takenByDesktop('/menu');
    expect(stage.files.asked('/menu', 'browser')).toEqual([]);
  });
});

describe('the browser keeps, untouched,', () => {
  beforeAll(() => stage.browser.set(FROM_1_MB));

  const keeps = (what: string, path: string, more: Partial<BrowserFile>, how = '#link') =>
    test(what, async () => {
      await stage.click(path, { ...fileOf(path.slice(1), 2 * MB), held: false, ...more }, how);
      await ends.keptByBrowser(path);
      expect(stage.files.asked(path, 'taker')).toEqual([]);
    });

  keeps('what is small', '/small', { body: contentOf('small', MB - 1) });
  keeps('what a POST brings', '/posted', {}, '#form');
  keeps('what has no validator', '/unproven', { validator: false });

  test.each(['blob', 'data'])('a file that a page makes itself: %s', async (scheme) => {
    const page = await stage.open(stage.files.add('/nothing', fileOf('nothing', 0)));
    await page.evaluate(
      ([kind, bytes]) => {
        const link = document.createElement('a');
        const text = 'x'.repeat(bytes);
        link.href =
          kind === 'blob' ? URL.createObjectURL(new Blob([text])) : `data:application/x,${text}`;
        link.download = `${kind}.bin`;
        link.click();
      },
      [scheme, 1.5 * MB] as const,
    );
    const made = async () =>
      (await stage.browser.listed()).filter(({ url }) => url.startsWith(`${scheme}:`));
    await until(async () => (await made())[0]?.state === 'complete');
    await ends.savedOnly(scheme, [`${scheme}.bin`]);
    expect(await ends.taken(scheme)).toEqual([]);
  });

  test('downloads that the user wants left alone: of a host, all, the next one', async () => {
    const ask = (request: object) => stage.browser.ask(request);
    await ask({ type: 'switch-host', host: '127.0.0.1', off: true });
    await stage.click('/host', fileOf('host', 2 * MB, { held: false }));
    await ends.keptByBrowser('/host');
    await ask({ type: 'switch-host', host: '127.0.0.1', off: false });
    await ask({ type: 'switch-all', on: false });
    await stage.click('/off', fileOf('off', 2 * MB, { held: false }));
    await ends.keptByBrowser('/off');
    await ask({ type: 'switch-all', on: true });
    await ask({ type: 'skip-next', skip: true });
    await stage.click('/next', fileOf('next', 2 * MB, { held: false }));
    await ends.keptByBrowser('/next');
    await stage.click('/after', fileOf('after', 2 * MB));
    await ends.takenByDesktop('/after');
  });

  test('a link that is clicked with the skip key held', async () => {
    const page = await stage.open(stage.files.add('/key', fileOf('key', 2 * MB, { held: false })));
    await page.locator('#link').click({ modifiers: ['Alt'] });
    await ends.keptByBrowser('/key');
  });
});

describe('a link that is saved without being followed', () => {
  test('is taken like any other', async () => {
    await stage.browser.set({ minBytes: MB, taker: 'desktop', skipKey: 'none' });
    const page = await stage.open(stage.files.add('/unfollowed', fileOf('unfollowed', 2 * MB)));
    // Alt is the browser's own key for "Save link as", here without its dialogue.
    await page.locator('#link').click({ modifiers: ['Alt'] });
    await ends.takenByDesktop('/unfollowed');
    await stage.browser.set({ skipKey: 'alt' });
  });
});

const linkTo = (edge: string) => `<${edge}>; rel="https://millrace.dev/rel/edge"`;

/** Returns whether a range is a sample of 16 KiB, by which two sources are compared. */
const isSample = (range = '') => {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
  return Number(to) - Number(from) + 1 === 16 * 1024;
};

describe('an edge that a publisher’s page names', () => {
  test('is asked only for files of that host that are for everybody', async () => {
    await stage.browser.set({ minBytes: MB, taker: 'browser', takeInsecure: true });
    const hosts = ['files.example', 'other.example'];
    const allowed = hosts.flatMap((host) => ['--allow-origin', host]);
    const edge = await EdgeProcess.start(allowed, NAMES_FOR_NODE);
    const asked = async () => (await edge.status()).transfers.requests;
    const get = async (path: string, host: string, more: Partial<BrowserFile> = {}) => {
      await stage.click(path, fileOf(path.slice(1), 3 * MB, more), '#link', host);
      await ends.takenByExtension(path);
    };
    try {
      await get('/unpublished', 'files.example');
      stage.files.link = linkTo(`${named(edge.url, 'edge.example')}/`);
      await get('/address', '127.0.0.1');
      await get('/cookie', 'files.example', { cookie: 'session=42' });
      stage.files.link = undefined;
      await get('/elsewhere', 'other.example');
      expect(await asked()).toBe(0);
      const hosted = (path: string) =>
        stage.files
          .asked(path, 'taker')
          .filter(({ headers }) => headers['user-agent']?.includes('Chrome'));
      // The browser still has the cookie, which counts for all files of that host.
      await stage.browser.context.clearCookies();
      await get('/published', 'files.example', { toTakers: 'samples' });
      expect(await asked()).toBeGreaterThan(0);
      // The extension compared samples of the edge's copy with the origin's.
      const samples = hosted('/published').filter(({ headers }) => isSample(headers.range));
      expect(samples.length).toBeGreaterThanOrEqual(6);
      expect(hosted('/unpublished').filter(({ headers }) => isSample(headers.range))).toEqual([]);
    } finally {
      stage.files.link = undefined;
      await edge.stop();
    }
  });

  test('is not asked in the user’s own network, nor followed there by a redirect', async () => {
    await stage.browser.set({ minBytes: MB, taker: 'browser', takeInsecure: true });
    const asked: string[] = [];
    const victim = createServer((req, res) => {
      asked.push(`${req.headers.host} ${req.url}`);
      const inside = `http://localhost:${(victim.address() as AddressInfo).port}/admin/reboot`;
      res.writeHead(302, { location: inside }).end();
    });
    await once(victim.listen(0, '127.0.0.1'), 'listening');
    const { port } = victim.address() as AddressInfo;
    const inside = [
      'localhost',
      '127.0.0.1',
      '0x7f.1',
      '2130706433',
      'localhost.',
      '[::ffff:7f00:1]',
    ];
    stage.files.link = inside
      .map((host) => linkTo(`http://${host}:${port}/admin/reboot`))
      .join(', ');
    try {
      await stage.click('/aimed', fileOf('aimed', 3 * MB), '#link', 'files.example');
      await ends.takenByExtension('/aimed');
      expect(asked).toEqual([]);
      stage.files.link = linkTo(`http://edge.example:${port}/`);
      await stage.click(
        '/redirected',
        // Half of the file is held back until the edge is asked, or the file could come before.
        fileOf('redirected', 3 * MB, { toTakers: 'half' }),
        '#link',
        'redirecting.example',
      );
      await until(() => asked.length > 0);
      stage.files.letGo('/redirected');
      await ends.takenByExtension('/redirected');
      expect(asked.filter((one) => !one.startsWith('edge.example'))).toEqual([]);
    } finally {
      stage.files.link = undefined;
      victim.closeAllConnections();
      victim.close();
    }
  });

  test('is not learned from a frame within a page', async () => {
    await stage.browser.set({ minBytes: MB, taker: 'browser', takeInsecure: true });
    const host = 'framed.example';
    const inner = named(stage.files.add('/inner', fileOf('inner', 0)), host);
    const page = await stage.open(
      named(stage.files.add('/outer', fileOf('outer', 0)), 'files.example'),
    );
    stage.files.link = linkTo('http://edge.example/');
    const publishers = async () =>
      JSON.stringify(await stage.browser.asExtension(`chrome.storage.session.get('publishers')`));
    await page.evaluate(
      (src) =>
        new Promise((resolve) => {
          const frame = document.createElement('iframe');
          frame.onload = resolve;
          frame.src = src;
          document.body.append(frame);
        }),
      inner,
    );
    // The same page by itself counts. Once it is noted, the frame would be noted too.
    await page.goto(inner.replace(host, 'whole.example'));
    await until(async () => (await publishers()).includes('whole.example'));
    expect(await publishers()).not.toContain(host);
    stage.files.link = undefined;
  });
});

describe('the browser’s own download continues undisturbed when', () => {
  beforeAll(() => stage.browser.set(FROM_1_MB));

  const goesOn = (
    what: string,
    toTakers: NonNullable<BrowserFile['toTakers']>,
    meanwhile = async () => {},
  ) =>
    test(what, async () => {
      const path = `/${toTakers}`;
      await stage.click(path, fileOf(toTakers, 2 * MB, { toTakers }));
      await until(() => stage.files.asked(path, 'taker').length > 0);
      await meanwhile();
      stage.files.release();
      await ends.keptByBrowser(path);
      expect(stage.files.asked(path, 'browser')).toHaveLength(1);
    });

  goesOn('others are refused', 'forbidden');
  goesOn('others get another length', 'longer');
  goesOn('others get another version', 'another');
  goesOn('others are reset', 'reset');
  goesOn('the daemon is killed meanwhile', 'nothing', () => stage.cli.kill());
});

describe('after the extension has taken a file, it gives back to the browser', () => {
  test('a file that only a plain GET brings', async () => {
    await stage.browser.set({ minBytes: MB, taker: 'browser' });
    await stage.click('/plain', fileOf('plain', 2 * MB, { toTakers: 'proof' }));
    await until(() => stage.files.asked('/plain', 'browser').length === 2);
    stage.files.release();
    await until(async () =>
      (await ends.listed('/plain')).some(({ state }) => state === 'complete'),
    );
    await ends.savedOnly('plain', ['plain.bin']);
    expect(await ends.digestOf('plain.bin')).toBe(stage.files.digest('/plain'));
  });
});
