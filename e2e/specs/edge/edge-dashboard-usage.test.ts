/** The operators' dashboard in a real browser: the usage of clients, and an edge of several processes. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { barriers } from '../../fixtures/pages/axe.ts';
import { isLive, logIn, openPage } from '../../fixtures/pages/edge-pages.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const { beforeAll, describe, test } = testsWhere(browserOrComplain('the usage in the dashboard'));

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

describe('the usage of clients', () => {
  test('is shown beside its limits, and so are refusals, after a wrong token', async () => {
    const edge = await EdgeProcess.start([...OPTIONS, '--client-connections', '100']);
    const { context, page } = await openPage(browser, { viewport: { width: 1280, height: 900 } });
    const guess = () =>
      fetch(`${edge.url}/-/dashboard/login`, {
        method: 'POST',
        headers: { origin: edge.url },
        body: new URLSearchParams({ token: 'wrong' }),
      });
    try {
      await logIn(page, edge, 'wrong-wrong-wrong-wrong');
      await page.getByText('That is not the token of this edge').waitFor();
      expect(await barriers(page)).toEqual([]);
      await logIn(page, edge, TOKEN);
      await isLive(page);
      await shows(page, '[data-resource="connections"] td:nth-of-type(1)', /^[1-9]/);
      await shows(page, '[data-resource="connections"] td:nth-of-type(3)', /^100$/);
      await shows(page, '[data-resource="memory"] td:nth-of-type(2)', /GiB$/);
      await shows(page, '#admission', 'No client has been refused so far');
      await until(async () => (await guess()).status === 429);
      await shows(page, '[data-resource="guesses"] .some', /^[1-9]/);
      await shows(page, '#admission [data-client="127.0.0.1"]', /Wrong tokens: [1-9]/);
      await shows(page, '#admission', '/-/refusals');
      expect(await barriers(page)).toEqual([]);
    } finally {
      await context.close();
      await edge.stop('SIGKILL');
    }
  });
});

describe('an edge of several processes', () => {
  test('has one dashboard for all of them', async () => {
    const edge = await EdgeProcess.start([...OPTIONS, '--workers', '2']);
    const { context, page } = await openPage(browser);
    try {
      await logIn(page, edge, TOKEN);
      await isLive(page);
      const url = origin.url('one-hour', { size: 10 * CHUNK, seed: 'workers', name: 'all.iso' });
      const agents = Array.from({ length: 6 }, () => fetchAll(edge.prefixed(url)));
      for (const { digest } of await Promise.all(agents)) expect(digest).toBe(origin.digest(url));
      await shows(page, '[data-tile="hits"]', 'of 60 delivered');
      await shows(page, '#files li', /all\.iso.*60 chunks/);
      expect(await page.locator('#processes [data-fact*="-"]').count()).toBe(2);
      await page.reload();
      await isLive(page);
    } finally {
      await context.close();
      await edge.stop('SIGKILL');
    }
  });
});
