/** The extension in a real Chromium: the downloads that it hands over, and those that it leaves. */

import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { expect } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { BrowserFile } from '../../fixtures/origins/browser-files.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { NAMES_FOR_NODE, named } from '../../fixtures/origins/public-names.ts';
import { ExtensionStage } from '../../fixtures/pages/extension-stage.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { isAlive } from '../../fixtures/programs/daemon-cli.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1024 * 1024;
const hooks = testsWhere(browserOrComplain('hand-offs of the extension'));
const { beforeAll, describe, test } = hooks;

const stage = ExtensionStage.forAllTests(hooks, { desktop: true });

const fileOf = (name: string, bytes: number, more: Partial<BrowserFile> = {}): BrowserFile => ({
  body: contentOf(name, bytes),
  name: `${name}.bin`,
  ...more,
});

type Taken = DownloadView & { readonly path: string };

/** Lists the desktop's downloads whose names begin with a name, with or without a number. */
async function taken(name: string): Promise<Taken[]> {
  const pid = await stage.cli.pid();
  if (pid === undefined || !isAlive(pid)) return [];
  const { downloads } = await stage.cli.call('list');
  return downloads.filter((one) => one.name.startsWith(name)) as Taken[];
}

const saved = async (name: string) =>
  (await readdir(stage.browser.downloads)).filter(
    (one) => one.startsWith(name) || one.endsWith('load'),
  );
/** Waits until nothing else is saved: the browser deletes partial files after it lists their end. */
const savedOnly = (name: string, files: readonly string[]) =>
  until(async () => (await saved(name)).join() === files.join());
const digestOf = async (path: string) => sha256(await readFile(path));
const listed = async (path: string) =>
  (await stage.browser.listed()).filter(
    ({ url, finalUrl }) => url.endsWith(path) || finalUrl.endsWith(path),
  );

/** Waits until the desktop has the file, complete and once, and the browser has none of it. */
async function takenByDesktop(path: string): Promise<void> {
  const name = path.slice(1);
  await until(async () => (await taken(name))[0]?.status === 'complete');
  await until(async () => (await listed(path)).length === 0);
  const [one, ...more] = await taken(name);
  expect(more).toEqual([]);
  expect(one?.name).toBe(`${name}.bin`);
  const file = one?.path ?? '';
  expect(await digestOf(file)).toBe(stage.files.digest(path));
  const there = dirname(file) === stage.browser.downloads ? [basename(file)] : [];
  await savedOnly(name, there);
}

/** Waits until the browser has the file, complete and once; the desktop has none of it. */
async function keptByBrowser(path: string): Promise<void> {
  const name = path.slice(1);
  await until(async () => (await listed(path)).some(({ state }) => state === 'complete'));
  await until(async () => (await stage.browser.handOffs()) === 0);
  expect(await listed(path)).toHaveLength(1);
  await savedOnly(name, [`${name}.bin`]);
  expect(await digestOf(join(stage.browser.downloads, `${name}.bin`))).toBe(
    stage.files.digest(path),
  );
  expect(await taken(name)).toEqual([]);
}

describe('the desktop takes, with the default settings,', () => {
  test('64 MiB behind a link', async () => {
    await stage.click('/large', fileOf('large', 64 * MB));
    await takenByDesktop('/large');
    expect(stage.files.asked('/large', 'browser')).toHaveLength(1);
    for (const { headers } of stage.files.asked('/large', 'taker')) {
      expect(headers['user-agent']).toMatch(/Chrome/);
      expect(headers.referer).toMatch(/\/page\?to=/);
    }
  });

  test('17 MiB behind a redirect to a file that needs a cookie', async () => {
    stage.files.add('/target', fileOf('target', 17 * MB, { cookie: 'session=42' }));
    await stage.click('/redirect', fileOf('x', 0, { at: '/target' }));
    await takenByDesktop('/target');
  });

  test('the file of a link with "download", whose cookies the browser does not show', async () => {
    await stage.click('/marked', fileOf('marked', 17 * MB, { cookie: 'session=42' }), '#marked');
    await takenByDesktop('/marked');
  });
});

describe('the menu', () => {
  test('hands a link to the desktop, with its cookies', async () => {
    const page = await stage.open();
    const file = fileOf('menu', MB, { cookie: 'session=42' });
    await page.goto(stage.files.add('/menu', file));
    await stage.browser.chooseInMenu(page, 'menuLink', { linkUrl: stage.files.url('/menu') });
    await takenByDesktop('/menu');
    expect(stage.files.asked('/menu', 'browser')).toEqual([]);
  });
});

/**
 * The number that a file of the extension's own engine gets when the browser's own download still
 * has the name.
 */
const NUMBER = / \(\d+\)(?=\.bin$)/;

/** Lists the complete files that the extension's engine saved, with or without a number. */
const savedByExtension = async (name: string) =>
  (await stage.browser.listed()).filter(
    ({ filename, byExtensionId, state }) =>
      basename(filename).replace(NUMBER, '') === `${name}.bin` &&
      byExtensionId !== undefined &&
      state === 'complete',
  );

/**
 * Waits until the extension has fetched the file and the browser has saved it, complete and once;
 * the desktop has none of it.
 *
 * @param as matches what the saved name may have besides the name of the file
 */
async function takenByExtension(path: string, as = /^$/): Promise<void> {
  const name = path.slice(1);
  await until(async () => (await savedByExtension(name)).length > 0);
  await until(async () => (await listed(path)).length === 0);
  const [copy, ...more] = await savedByExtension(name);
  expect(more).toEqual([]);
  const there = basename(copy?.filename ?? '');
  expect(there.replace(as, '')).toBe(`${name}.bin`);
  await savedOnly(name, [there]);
  expect(await digestOf(join(stage.browser.downloads, there))).toBe(stage.files.digest(path));
  expect(await taken(name)).toEqual([]);
}

/** Lets the desktop take files of 1 MiB or more, so that tests can use small ones. */
const takesFromOneMb = () => stage.browser.set({ minBytes: MB, taker: 'desktop' });

describe('the browser keeps, untouched,', () => {
  beforeAll(takesFromOneMb);

  const keeps = (what: string, path: string, more: Partial<BrowserFile>, how = '#link') =>
    test(what, async () => {
      await stage.click(path, { ...fileOf(path.slice(1), 2 * MB), held: false, ...more }, how);
      await keptByBrowser(path);
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
    await savedOnly(scheme, [`${scheme}.bin`]);
    expect(await taken(scheme)).toEqual([]);
  });

  test('downloads that the user wants left alone: of a host, all, the next one', async () => {
    const ask = (request: object) => stage.browser.ask(request);
    await ask({ type: 'switch-host', host: '127.0.0.1', off: true });
    await stage.click('/host', fileOf('host', 2 * MB, { held: false }));
    await keptByBrowser('/host');
    await ask({ type: 'switch-host', host: '127.0.0.1', off: false });
    await ask({ type: 'switch-all', on: false });
    await stage.click('/off', fileOf('off', 2 * MB, { held: false }));
    await keptByBrowser('/off');
    await ask({ type: 'switch-all', on: true });
    await ask({ type: 'skip-next', skip: true });
    await stage.click('/next', fileOf('next', 2 * MB, { held: false }));
    await keptByBrowser('/next');
    await stage.click('/after', fileOf('after', 2 * MB));
    await takenByDesktop('/after');
  });

  test('a link that is clicked with the skip key held', async () => {
    const page = await stage.open(stage.files.add('/key', fileOf('key', 2 * MB, { held: false })));
    await page.locator('#link').click({ modifiers: ['Alt'] });
    await keptByBrowser('/key');
  });
});

describe('a link that is saved without being followed', () => {
  test('is taken like any other', async () => {
    await stage.browser.set({ minBytes: MB, taker: 'desktop', skipKey: 'none' });
    const page = await stage.open(stage.files.add('/unfollowed', fileOf('unfollowed', 2 * MB)));
    // Alt is the browser's own key for "Save link as", here without its dialogue.
    await page.locator('#link').click({ modifiers: ['Alt'] });
    await takenByDesktop('/unfollowed');
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
      await takenByExtension(path);
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
      await takenByExtension('/aimed');
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
      await takenByExtension('/redirected');
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
  beforeAll(takesFromOneMb);

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
      await keptByBrowser(path);
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
    await until(async () => (await listed('/plain')).some(({ state }) => state === 'complete'));
    await savedOnly('plain', ['plain.bin']);
    expect(await digestOf(join(stage.browser.downloads, 'plain.bin'))).toBe(
      stage.files.digest('/plain'),
    );
  });
});

describe('whenever the background ends', () => {
  beforeAll(takesFromOneMb);

  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  const random = seededRandom(seed);

  /** The phase in which the background ends, and whether the file lets the hand-off succeed. */
  const deaths: (readonly [phase: string, more: Partial<BrowserFile>])[] = [
    ['pausing', {}],
    ['offering', {}],
    ['checking', {}],
    ['committing', {}],
    ['settling', {}],
    ['ending', {}],
    ['offering', { toTakers: 'longer' }],
    ['restoring', { toTakers: 'forbidden' }],
    ['restoring', { toTakers: 'reset' }],
  ];

  test.each(deaths)(`while it is %s: %j (SEED=${seed})`, async (phase, more) => {
    const path = `/dies-${phase}-${more.toTakers ?? 'well'}`;
    const reached = await stage.browser.watchPhase(phase);
    const killed = reached().then(async () => {
      for (let turns = Math.floor(random() * 5); turns > 0; turns--)
        await stage.browser.asExtension('0');
      await stage.browser.killBackground();
    });
    await stage.click(path, fileOf(path.slice(1), 2 * MB, more));
    await killed;
    await stage.browser.wakeBackground();
    stage.files.release();
    await endsOnce(path);
  });

  test(`and the daemon ends with it (SEED=${seed})`, async () => {
    for (const phase of ['offering', 'committing']) {
      const path = `/both-${phase}`;
      const reached = await stage.browser.watchPhase(phase);
      const killed = reached().then(async () => {
        await Promise.all([stage.browser.killBackground(), stage.cli.kill()]);
      });
      await stage.click(path, fileOf(path.slice(1), 2 * MB));
      await killed;
      await stage.browser.wakeBackground();
      // After a finished hand-off only the user starts the daemon. Otherwise the native host may
      // already have started it.
      await stage.cli.ensureDaemon('--dir', stage.cli.downloads);
      stage.files.release();
      await endsOnce(path);
    }
  });
});

describe('at any moment, again and again', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

  test.each(['desktop', 'browser'])(`the background ends: %s (SEED=${seed})`, async (taker) => {
    const random = seededRandom(seed);
    await stage.browser.set({ minBytes: MB, taker });
    for (let download = 0; download < 3; download++) {
      const path = `/often-${taker}-${download}`;
      const clicked = stage.click(path, fileOf(path.slice(1), 2 * MB));
      for (let kills = 1 + Math.floor(random() * 4); kills > 0; kills--) {
        for (let turns = Math.floor(random() * 40); turns > 0; turns--) {
          await stage.browser.asExtension('0');
        }
        await stage.browser.killBackground();
        if (random() < 0.5) await stage.browser.wakeBackground();
      }
      await clicked;
      await stage.browser.wakeBackground();
      stage.files.release();
      await endsOnce(path);
    }
  });
});

/** Waits until browser, desktop or extension has the complete file, and the others none of it. */
async function endsOnce(path: string): Promise<void> {
  const name = path.slice(1);
  await until(async () => {
    await stage.browser.wakeBackground();
    const own = (await listed(path)).map(({ state }) => state);
    const theirs = (await taken(name)).map(({ status }) => status);
    const fetched = (await savedByExtension(name)).map(({ state }) => state);
    if ([...own, ...theirs, ...fetched].join() !== 'complete') return false;
    // A taker may still get a file that the browser has finished meanwhile, and give it back.
    return (await stage.browser.handOffs()) === 0;
  });
  if ((await savedByExtension(name)).length > 0) return takenByExtension(path, NUMBER);
  if ((await listed(path)).length > 0) return keptByBrowser(path);
  return takenByDesktop(path);
}
