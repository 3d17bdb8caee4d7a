/** The operators' dashboard, in a real browser with real traffic. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect } from '@jest/globals';
import type { Browser, Page, Route } from 'playwright-core';
import { fetchAll, openResponse } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { freePorts } from '../../fixtures/origins/nginx.ts';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { isLive, logIn, openPage } from '../../fixtures/pages/edge-pages.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { Cluster } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const { beforeAll, describe, test } = testsWhere(browserOrComplain('the dashboard'));

const TOKEN = 'correct-horse-battery-staple';
const CHUNK = 64 * 1024;
const folder = await temporaryFolder();
const tokenFile = join(folder.path, 'token');
const OPTIONS = [
  '--allow-origin',
  '127.0.0.1',
  '--chunk-size',
  '64KiB',
  '--admin-token-file',
  tokenFile,
];
let browser: Browser;
let origin: FaultOrigin;

beforeAll(async () => {
  await writeFile(tokenFile, `${TOKEN}\n`);
  [browser, origin] = await Promise.all([launchBrowser(), FaultOrigin.start()]);
});
afterAll(async () => {
  await browser?.close();
  await origin?.stop();
  await folder.remove();
});

/** Waits until an element of the dashboard shows the text. */
async function shows(page: Page, selector: string, text: string | RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor();
}

describe('with real traffic', () => {
  let cluster: Cluster;
  let page: Page;
  let problems: string[];
  const big = () => origin.url('one-hour', { size: 40 * CHUNK, name: 'big.iso' });

  beforeAll(async () => {
    cluster = await Cluster.start({ nodes: 3, options: OPTIONS });
    ({ page, problems } = await openPage(browser, { viewport: { width: 1280, height: 900 } }));
    await logIn(page, cluster.node(0).edge, TOKEN);
    await isLive(page);
  });
  afterAll(async () => {
    await page?.context().close();
    await cluster?.stop();
  });

  test('figures update by themselves, and agree with the status', async () => {
    const { edge } = cluster.node(0);
    expect(page.url()).not.toContain(TOKEN);
    await shows(page, '[data-tile="offload"] .value', '–');
    for (let i = 0; i < 4; i++) {
      const { digest } = await fetchAll(edge.prefixed(big()));
      expect(digest).toBe(origin.digest(big()));
    }
    const tail = { headers: { range: `bytes=${39 * CHUNK}-` } };
    await Promise.all(Array.from({ length: 8 }, () => fetchAll(edge.prefixed(big()), tail)));
    await fetchAll(edge.prefixed(origin.url('not-found')));
    await fetchAll(edge.prefixed('http://localhost/x'));
    const { transfers, chunks } = await edge.status();
    await shows(page, '[data-tile="transfers"]', `${transfers.requests} requests since the start`);
    expect(chunks.memory + chunks.disk + chunks.peer + chunks.source).toBe(168);
    await shows(page, '[data-tile="hits"]', 'of 168 delivered');
    await shows(page, '[data-tile="offload"] .value', /[\d.]+×|∞/);
    await shows(page, '[data-fact="origin-not-found"] dd', '1');
    await shows(page, '[data-fact="origin-not-allowed"] dd', '1');
  });

  test('a time can be chosen, and all figures of a time are of it', async () => {
    const shown = page.waitForResponse((response) => response.url().includes('range=day'));
    await page.getByLabel('Time').first().selectOption('last 24 hours');
    const { history } = await (await shown).json();
    expect(history.stepMs).toBe(300_000);
    // A day is only a minute old here: the same figures, in other steps.
    await shows(page, '[data-tile="hits"]', 'of 168 delivered');
    await shows(page, '#clients', 'none in the last 24 hours');
    await shows(page, '#errors', 'In the last 24 hours, of ');
    await shows(page, '[data-fact="origin-not-found"] dd', '1');
    await shows(page, '#files', /168 chunks.*worth half after six hours/s);
    await shows(page, '#peers-use', /^In the last 24 hours: [\d.]+ .iB from other edges/);
    await page.getByLabel('Time').first().selectOption('last 30 minutes');
    await shows(page, '#clients', 'none in the last 30 minutes');
  });

  test('a time that is chosen again while an answer about later steps is on its way is asked for whole', async () => {
    const isAsked = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    const since = /dashboard\/data\?.*since=/;
    const hold = async (route: Route) => {
      isAsked.resolve();
      await goesOn.promise;
      await route.continue();
    };
    await page.route(since, hold, { times: 1 });
    await isAsked.promise;
    const time = page.getByLabel('Time').first();
    for (const range of ['last 24 hours', 'last 30 minutes']) await time.selectOption(range);
    const whole = page.waitForRequest((request) =>
      /dashboard\/data\?range=\w+$/.test(request.url()),
    );
    goesOn.resolve();
    expect((await whole).url()).toContain('range=usual');
    await shows(page, '[data-tile="hits"]', 'of 168 delivered');
  });

  test('the file in demand is shown with its hottest part', async () => {
    const file = page.locator('#files li').filter({ hasText: '/big.iso' });
    await file.getByText('168 chunks').waitFor();
    expect(await file.getByRole('img').getAttribute('aria-label')).toBe(
      'Chunks in demand: 100 % of the file; hottest at 98 %',
    );
    expect(await file.locator('rect').count()).toBe(40);
  });

  test('the map and the list show the other edges, and that one of them has died', async () => {
    const rows = page.locator('#peers tbody tr');
    await rows.filter({ hasText: 'usable' }).nth(1).waitFor();
    await until(async () => (await page.locator('#peers .peer-dot.usable').count()) === 2);
    const dead = cluster.node(2);
    await dead.edge.stop('SIGKILL');
    await rows.filter({ hasText: dead.name }).filter({ hasText: 'does not answer' }).waitFor();
    await until(async () => (await page.locator('#peers .peer-dot.unusable').count()) === 1);
  });

  test('charts show a step once it is over', async () => {
    await page.locator('#bytes .area.clients[d*="z"]').waitFor();
    await page.locator('#tiers .area.memory[d*="z"]').waitFor();
    await page.locator('#errors .area.errors[d*="z"]').waitFor();
    // A single step draws a dot, which has no size.
    await page.locator('#window .line.windows[d*="M"]').waitFor({ state: 'attached' });
    expect(await page.locator('#window .sizes li').count()).toBe(9);
    expect(problems).toEqual([]);
  });

  test('a draining edge says so, and how many transfers it has sent elsewhere', async () => {
    const { edge } = cluster.node(0);
    const held = await openResponse(edge.prefixed(origin.url('gate')), {
      headers: { prefer: 'resume-on-reset' },
    });
    held.on('error', () => {});
    const drain = (method: string) =>
      fetch(`${edge.url}/-/drain`, { method, headers: { authorization: `Bearer ${TOKEN}` } });
    expect((await drain('POST')).status).toBe(202);
    await page.locator('#state').filter({ hasText: 'Draining' }).waitFor();
    await shows(page, '[data-fact="offloaded"] dd', '1');
    await drain('DELETE');
    await isLive(page);
  });

  test('the page is accessible in both themes, and fits a width of 360 pixels', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // Themes differ only in their colours.
      const rules = colorScheme === 'dark' ? ['color-contrast'] : undefined;
      expect({ colorScheme, barriers: await barriers(page, rules) }).toEqual({
        colorScheme,
        barriers: [],
      });
    }
    await page.setViewportSize({ width: 360, height: 740 });
    await fits(page);
  });

  test('logging out brings back the log-in form, and removes the cookie', async () => {
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByLabel('Administration token').waitFor();
    expect((await page.context().cookies()).length).toBe(0);
  });
});

describe('an edge that is started again', () => {
  test('is shown as offline, and its page continues when it is back', async () => {
    // A session is valid only at the edge of this name.
    const options = [...OPTIONS, '--name', 'again', '--port', String(await freePorts(1))];
    let edge = await EdgeProcess.start(options);
    const { context, page } = await openPage(browser);
    try {
      await logIn(page, edge, TOKEN);
      await isLive(page);
      await edge.stop('SIGKILL');
      await page.getByRole('alert').filter({ hasText: 'has not answered since' }).waitFor();
      edge = await EdgeProcess.start(options);
      await isLive(page);
      await page.getByRole('alert').waitFor({ state: 'hidden' });
      await fetchAll(edge.prefixed(origin.url('one-hour')));
      await shows(page, '[data-tile="transfers"]', '1 request since the start');
    } finally {
      await context.close();
      await edge.stop('SIGKILL');
    }
  });
});

describe('a page in use', () => {
  let edge: EdgeProcess;
  let page: Page;
  let problems: string[];
  /** Peers and files that the test puts into the edge's answers. */
  let told: { peers: object[]; files: object[] };
  let asked = 0;

  beforeAll(async () => {
    edge = await EdgeProcess.start(OPTIONS);
    ({ page, problems } = await openPage(browser));
    await page.route('**/-/dashboard/data*', async (route) => {
      asked++;
      const response = await route.fetch();
      if (!response.ok()) return route.fulfill({ response });
      const data = await response.json();
      data.status.peers = told.peers;
      await route.fulfill({ response, json: { ...data, files: told.files } });
    });
  });
  afterAll(async () => {
    await page?.context().close();
    await edge?.stop('SIGKILL');
  });

  const peer = (name: string, more = {}) => {
    const usual = { load: 0, weight: 1, member: true, usable: true, alive: true, isolated: false };
    return { name, url: `http://${name}`, rttMs: 10, ...usual, ...more };
  };
  const file = (url: string) => ({ url, length: 10, count: 9, error: 4, bytes: 10, cells: [1, 4] });
  /** Waits for two more requests: the answer already on its way may hold older peers and files. */
  const askedAgain = async () => {
    const before = asked;
    await until(() => asked >= before + 2);
  };

  test('with 400 edges shows those in trouble first, and says what the map leaves out', async () => {
    const peers = Array.from({ length: 400 }, (_, i) => peer(`edge-${i}`, { rttMs: 1 + i / 10 }));
    peers[399] = peer('edge-lost', { usable: false, alive: false, rttMs: null });
    told = { peers, files: [] };
    await logIn(page, edge, TOKEN);
    await isLive(page);
    const rows = page.locator('#peers tbody tr');
    await until(async () => (await rows.count()) === 400);
    expect(await rows.first().textContent()).toMatch(/edge-lost.*does not answer/s);
    expect(await page.locator('#peers .peer-dot').count()).toBe(60);
    expect(await page.locator('#peers .peer-dot.unusable').count()).toBe(1);
    await page.getByText('Of 400 edges the map shows 60').waitFor();
    for (const width of [1100, 360]) {
      await page.setViewportSize({ width, height: 740 });
      await fits(page);
    }
    await page.setViewportSize({ width: 1100, height: 740 });
  });

  test('shows names and URLs of others as text, whatever they contain', async () => {
    const evil = '"><img src=x onerror=alert(1)>';
    told = { peers: [peer(evil)], files: [file(`https://a.example/${evil}`)] };
    await page.locator('#peers th').getByText(evil, { exact: true }).waitFor();
    await page.locator('#files li').getByText(evil).waitFor();
    // The count leaves out the possible error, which may belong to other files.
    await page.locator('#files li').getByText('5 chunks').waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test('updates a focused list, which keeps its focus and its position', async () => {
    const many = Array.from({ length: 99 }, (_, i) => peer(`edge-${i}`));
    told = { peers: many, files: [] };
    const list = page.getByRole('region', { name: 'Edges' });
    await until(async () => (await list.locator('tbody tr').count()) === 99);
    await list.focus();
    await page.keyboard.press('End');
    await until(() => list.evaluate((one) => one.scrollTop > 500));
    told = { peers: many.map((one) => ({ ...one, usable: false, alive: false })), files: [] };
    await until(async () => (await list.getByText('does not answer').count()) === 99);
    expect(await list.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await list.evaluate((one) => one.scrollTop > 500)).toBe(true);
  });

  test('keeps selected text in place, so that it can be copied', async () => {
    told = { peers: [], files: [file('https://a.example/first')] };
    const shown = page.locator('#files .file-head .mono');
    await shown.filter({ hasText: 'first' }).waitFor();
    // Finds and selects in one step: the page replaces the element every two seconds, and in the two
    // steps of `selectText` it may be gone by the second.
    await page.evaluate(() => {
      const found = document.querySelector('#files .file-head .mono');
      if (found !== null) getSelection()?.selectAllChildren(found);
    });
    told = { peers: [], files: [file('https://a.example/second')] };
    await askedAgain();
    expect(await page.evaluate(() => String(getSelection()))).toBe('https://a.example/first');
    await page.evaluate(() => getSelection()?.removeAllRanges());
    await shown.filter({ hasText: 'second' }).waitFor();
  });

  test('turns into the log-in form by itself when the session is over', async () => {
    await page.context().clearCookies();
    await page.getByLabel('Administration token').waitFor();
  });
});
