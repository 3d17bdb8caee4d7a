/** The page for publishers, in a real browser: what it says about links, and what it hands out. */

import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { freePorts, Nginx, nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { checkUrl, findingsOn, openPage } from '../../fixtures/pages/edge-pages.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import type { OpenPage } from '../../fixtures/pages/window.ts';
import { Cluster } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';

const { beforeAll, describe, test } = testsWhere(
  browserOrComplain('the page for publishers') && nginxOrComplain('links of an nginx'),
);

const DATA = contentOf('publisher', 3_000_000);
const folder = await temporaryFolder();
let browser: Browser;
let nginx: Nginx;
let origin: FaultOrigin;
let edge: EdgeProcess;
let openEdge: EdgeProcess;
let closedPort: number;

beforeAll(async () => {
  const root = join(folder.path, 'www');
  await mkdir(root);
  await mkdir(join(folder.path, 'out'));
  await writeFile(join(root, 'a file.iso'), DATA);
  await utimes(join(root, 'a file.iso'), 1.7e9, 1.7e9);
  origin = await FaultOrigin.start();
  closedPort = await freePorts();
  [browser, nginx, edge, openEdge] = await Promise.all([
    launchBrowser(),
    Nginx.start({
      dir: join(folder.path, 'nginx'),
      root,
      server: 'location / { add_header Cache-Control "public, max-age=86400"; }',
    }),
    EdgeProcess.start(['--allow-origin', '127.0.0.1', '--name', 'paris']),
    EdgeProcess.start(['--allow-origin', '*', '--allow-origin', origin.host]),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await Promise.all([edge, openEdge].map((process) => process?.stop('SIGKILL')));
  await nginx?.stop();
  await origin?.stop();
  await folder.remove();
});

const good = () => `${nginx.url}/a file.iso`;

describe('an edge with rules', () => {
  test('shows its rules, and the command that makes a signed link', async () => {
    const rules = join(folder.path, 'rules.json');
    const secrets = join(folder.path, 'secrets');
    const { host } = new URL(nginx.url);
    const origins = [
      { origin: host, allow: 'signed', maxFileSize: '1GiB' },
      { origin: origin.host, maxFileSize: '1MiB', contentTypes: ['application/*'] },
    ];
    await writeFile(rules, JSON.stringify({ origins }));
    await writeFile(secrets, 'the secret of signed links');
    const ruled = await EdgeProcess.start(['--rules-file', rules, '--link-secret-file', secrets]);
    const { context, page, problems } = await openPage(browser);
    try {
      await page.goto(ruled.url);
      const listed = page.locator('.card', { hasText: 'What this edge serves' });
      expect(await listed.locator('li').allTextContents()).toEqual([
        `${host} by signed links`,
        origin.host,
      ]);

      await page.goto(checkUrl(ruled, good()));
      await page.getByRole('heading', { name: 'by signed links only' }).waitFor();
      await page.getByText('Files of at most 1 GiB.').waitFor();
      const command = (await page.locator('#text-sign').textContent()) ?? '';
      const [, ...args] = command
        .replace('--secret-file secrets', `--secret-file ${secrets}`)
        .split(' ');
      const signed = await runCli(args);
      expect(signed).toMatchObject({ code: 0 });
      const got = await fetchAll(signed.stdout.trim());
      expect([got.status, got.digest]).toEqual([200, sha256(DATA)]);

      // The edge does as the page says.
      const large = origin.url('none', { size: 2_000_000 });
      await page.goto(checkUrl(ruled, large));
      await page
        .getByRole('heading', { name: 'The file is larger than this edge serves' })
        .waitFor();
      await page.getByText('Files of at most 1 MiB.').waitFor();
      expect((await fetchAll(ruled.prefixed(large))).status).toBe(403);
      const small = origin.url('none', { size: 500_000 });
      await page.goto(checkUrl(ruled, small));
      await page.getByRole('heading', { name: 'This edge serves it at its best' }).waitFor();
      await page.getByText('Only files of these types: application/*.').waitFor();
      expect((await fetchAll(ruled.prefixed(small))).status).toBe(200);
      expect(problems).toEqual([]);
    } finally {
      await context.close();
      await ruled.stop('SIGKILL');
    }
  });
});

describe('a link of a good origin', () => {
  test('gets the best verdict, and its copied link brings the file', async () => {
    const { context, page, problems } = await openPage(browser, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.goto(edge.url);
    await page.getByLabel('Link to a file').fill(good());
    await page.getByRole('button', { name: 'Check link' }).click();
    await page.getByRole('heading', { name: 'This edge serves it at its best' }).waitFor();
    expect(await findingsOn(page)).toMatchObject({
      'ranges-right': 'good',
      'etag-strong': 'good',
      fresh: 'good',
      revalidates: 'good',
      'type-known': 'good',
    });
    await page.getByRole('button', { name: 'Copy Link' }).click();
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const got = await fetchAll(copied);
    expect([got.status, sha256(got.body)]).toEqual([200, sha256(DATA)]);
    expect(problems).toEqual([]);
    await context.close();
  });

  test('can be downloaded by its Metalink with the command line', async () => {
    const { context, page } = await openPage(browser);
    await page.goto(checkUrl(edge, good()));
    const command = await page.locator('#text-millrace').textContent();
    const url = /'(.*)'$/.exec(command ?? '')?.[1] ?? '';
    const result = await runCli(['get', url, '-d', join(folder.path, 'out')]);
    expect(result).toMatchObject({ code: 0 });
    const got = await readFile(join(folder.path, 'out', 'a file.iso'));
    expect(sha256(got)).toBe(sha256(DATA));
    await context.close();
  });

  test('has a Metalink that names all edges of the network and the origin', async () => {
    const cluster = await Cluster.start({
      nodes: 2,
      options: ['--allow-origin', '127.0.0.1'],
      proxies: true,
      publicUrls: true,
    });
    try {
      const link = encodeURIComponent(good());
      const answer = await fetchAll(`${cluster.node(0).edge.url}/-/metalink?link=${link}`);
      expect(answer.headers['content-type']).toMatch(/^application\/metalink4\+xml/);
      const text = answer.body.toString();
      expect(text).toContain(`<size>${DATA.length}</size>`);
      const file = `${nginx.url}/a%20file.iso`;
      const proxies = cluster.nodes.map(({ proxy }) => `http://127.0.0.1:${proxy?.port}/${file}`);
      expect(text.match(/(?<=<url[^>]*>)[^<]+/g)).toEqual([...proxies, file]);
    } finally {
      await cluster.stop();
    }
  });
});

describe('without JavaScript', () => {
  test('a plain form checks a link, and the advice can be read', async () => {
    const { context, page } = await openPage(browser, { javaScriptEnabled: false });
    await page.goto(edge.url);
    await page.getByLabel('Link to a file').fill(origin.url('no-ranges'));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /keeps it once it has passed/ }).waitFor();
    expect(await page.locator('#text-link').textContent()).toBe(
      edge.prefixed(origin.url('no-ranges')),
    );
    expect(await page.getByRole('button', { name: /Copy/ }).count()).toBe(0);
    const finding = page.locator('[data-finding="ranges-ignored"]');
    await finding.getByText('What to do').click();
    expect(await finding.getByText('proxy_force_ranges on').isVisible()).toBe(true);
    expect(await finding.getByText('MaxRanges default').isVisible()).toBe(true);
    await context.close();
  });
});

describe('a fault of an origin', () => {
  let window: OpenPage;
  // An edge for these tests alone, because the number of checks per client is limited.
  let asked: EdgeProcess;
  beforeAll(async () => {
    asked = await EdgeProcess.start(['--allow-origin', '127.0.0.1']);
    window = await openPage(browser, { javaScriptEnabled: false });
  });
  afterAll(async () => {
    await window.context.close();
    await asked.stop('SIGKILL');
  });

  const [BEST, PASSED, NOT] = [/at its best/, /cannot keep it/, /cannot serve it/];
  const STREAMED = /keeps it once it has passed/;
  const FAULTS = [
    ['no-ranges', STREAMED, { 'ranges-ignored': 'limited' }],
    ['missing-content-range', NOT, { 'ranges-wrong': 'bad' }],
    ['unknown-length', PASSED, { 'length-unknown': 'limited' }],
    ['no-validators', PASSED, { 'version-none': 'bad' }],
    ['dates-only', BEST, { 'date-only': 'limited' }],
    ['etag-per-request', NOT, { 'version-unstable': 'bad' }],
    ['weak-etag', PASSED, { 'etag-weak-only': 'bad' }],
    ['if-match-broken', BEST, { 'own-version-refused': 'limited' }],
    ['no-store', PASSED, { 'no-store': 'bad' }],
    ['set-cookie', PASSED, { 'set-cookie': 'bad' }],
    ['vary-cookie', PASSED, { vary: 'bad' }],
    ['no-cache', BEST, { 'fresh-never': 'limited' }],
    ['redirect-chain', BEST, { redirects: 'limited' }],
    ['not-found', NOT, { 'not-found': 'bad' }],
    ['forbidden', NOT, { denied: 'bad' }],
  ] as const;

  test.each(FAULTS)('%s is reported', async (fault, verdict, findings) => {
    const { page } = window;
    await page.goto(checkUrl(asked, origin.url(fault)));
    expect(await page.getByRole('region', { name: 'Result' }).textContent()).toMatch(verdict);
    expect(await findingsOn(page)).toMatchObject(findings);
  });

  test.each(FAULTS)('the verdict on %s comes true', async (fault, verdict, _findings) => {
    const url = origin.url(fault, { seed: 'as-said' });
    const { status, headers, complete, digest } = await fetchAll(asked.prefixed(url));
    const whole = status === 200 && complete;
    if (whole) expect(digest).toBe(origin.digest(url));
    const kept = !/fwd=bypass/.test(String(headers['cache-status']));
    const best = headers['accept-ranges'] === 'none' ? STREAMED : BEST;
    const came = kept ? best : PASSED;
    expect(whole ? came : NOT).toBe(verdict);
  });

  test('each redirect is shown', async () => {
    const { page } = window;
    await page.goto(checkUrl(openEdge, origin.url('redirect')));
    const hops = page.locator('.hops li');
    expect(await hops.allTextContents()).toEqual([expect.stringMatching(/^30\d .*\/none\//)]);
  });
});

describe('a link that an edge does not serve', () => {
  let window: OpenPage;
  beforeAll(async () => {
    window = await openPage(browser);
  });
  afterAll(() => window.context.close());

  test.each([
    ['an origin that is not allowed', () => [edge, 'http://localhost/x'], /does not serve that/],
    ['a private address', () => [openEdge, 'http://10.0.0.1/x'], /private address/],
    ['a redirect to one', () => [openEdge, origin.url('redirect-to-name')], /private address/],
    [
      'an origin that is down',
      () => [edge, `http://127.0.0.1:${closedPort}/x`],
      /cannot be reached/,
    ],
    ['a link of another kind', () => [edge, 'ftp://127.0.0.1/x'], /only http and https/i],
    ['a link with a password', () => [edge, 'http://u:p@127.0.0.1/x'], /user name or password/],
  ] as const)('%s is refused in plain words', async (_what, given, words) => {
    const [process, link] = (given as () => [EdgeProcess, string])();
    const { page } = window;
    origin.reset();
    await page.goto(checkUrl(process, link));
    const result = page.getByRole('region', { name: 'Result' });
    expect(await result.textContent()).toMatch(words);
    expect(await page.getByRole('heading', { name: 'Publish this' }).count()).toBe(0);
    expect(origin.requests.filter(({ path }) => path.startsWith('/none'))).toEqual([]);
  });

  test('has no Metalink', async () => {
    const link = encodeURIComponent('http://10.0.0.1/x');
    const { status, body } = await fetchAll(`${openEdge.url}/-/metalink?link=${link}`);
    expect([status, JSON.parse(body.toString()).code]).toEqual([403, 'private-address']);
  });

  test('markup in a link stays text', async () => {
    const { page, problems } = window;
    const evil = `http://127.0.0.1:1/"><script>document.title='taken'</script>`;
    await page.goto(checkUrl(edge, evil));
    expect(await page.title()).not.toBe('taken');
    expect(await page.getByLabel('Link to a file').inputValue()).toBe(evil);
    expect(problems).toEqual([]);
  });
});

describe('a check', () => {
  test('costs the origin three small requests, and none when it is asked again', async () => {
    const link = origin.url('one-hour', { size: 50_000_000 });
    origin.reset();
    const asked = checkUrl(openEdge, link);
    for (const url of [asked, asked.replace('/?', '/-/check?'), asked]) {
      expect((await fetchAll(url)).status).toBe(200);
    }
    expect(origin.requests).toHaveLength(3);
    expect(origin.sentBytes).toBeLessThan(200_000);
  });

  test('is refused to a client that asks for too many, with the time to wait', async () => {
    const own = await EdgeProcess.start(['--allow-origin', '127.0.0.1']);
    try {
      origin.reset();
      const all = Array.from({ length: 60 }, (_, i) =>
        fetchAll(checkUrl(own, origin.url('one-hour', { size: 1000, seed: `${i}` }))),
      );
      const answers = await Promise.all(all);
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThanOrEqual(30);
      expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);
      expect(refused[0]?.body.toString()).toContain('Too many requests');
      expect(origin.requests.length).toBeLessThanOrEqual(90);
    } finally {
      await own.stop('SIGKILL');
    }
  });
});

describe('the page', () => {
  /** Rules to check in each theme: themes differ only in their colours. */
  const RULES = { light: undefined, dark: ['color-contrast'] } as const;
  const pages = () => [edge.url, checkUrl(edge, good()), checkUrl(edge, 'http://localhost/x')];

  test.each(['light', 'dark'] as const)('is accessible in the %s theme', async (colorScheme) => {
    const { context, page, problems } = await openPage(browser, { colorScheme });
    for (const url of pages()) {
      await page.goto(url);
      expect({ url, barriers: await barriers(page, RULES[colorScheme]) }).toEqual({
        url,
        barriers: [],
      });
    }
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(ground).toBe(colorScheme === 'dark' ? 'rgb(17, 22, 27)' : 'rgb(244, 246, 247)');
    expect(problems).toEqual([]);
    await context.close();
  });

  test('fits a telephone 360 pixels wide', async () => {
    const { context, page } = await openPage(browser, { viewport: { width: 360, height: 740 } });
    for (const url of pages()) {
      await page.goto(url);
      for (const more of await page.getByText('What to do').all()) await more.click();
      await fits(page);
    }
    await context.close();
  });

  test('has assets that may be kept for ever, and nothing else of that folder is served', async () => {
    const page = (await fetchAll(`${edge.url}/`)).body.toString();
    const path = /href="(\/-\/assets\/[^"]+publisher\.css)"/.exec(page)?.[1] ?? '';
    const { status, headers } = await fetchAll(edge.url + path);
    expect([status, headers['cache-control']]).toEqual([
      200,
      'public, max-age=31536000, immutable',
    ]);
    for (const other of ['tsconfig.json', 'series.test.ts', '..%2f..%2fpackage.json']) {
      expect((await fetchAll(edge.url + path.replace('publisher.css', other))).status).toBe(404);
    }
  });
});
