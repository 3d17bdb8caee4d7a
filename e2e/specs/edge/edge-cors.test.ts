/**
 * Pages of other sites that read files by ranges through an edge, whose rule allows it: published
 * readers of columns, map tiles and models, in Chromium. The origin itself allows nothing.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { gguf, parquet, pmtiles, row, tileText } from '../../fixtures/origins/range-files.ts';
import type * as Readers from '../../fixtures/pages/range-readers.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { type EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { RulesStage } from '../../fixtures/stages/rules-stage.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { bundleForPages } from '../../fixtures/tools/page-script.mjs';
import { LONGEST_WAIT_MS } from '../../fixtures/until.ts';

declare const readers: typeof Readers;

const { test, beforeAll, afterAll, beforeEach } = testsWhere(
  browserOrComplain('pages of other sites that read through an edge'),
);
const stage = await RulesStage.set();
const FRESH = { 'cache-control': 'max-age=3600' };
const TENSORS = Array.from({ length: 10 }, (_, i) => `blk.${i}.weight`);
let site: FileServer;
let origin: FileServer;
let browser: Browser;
let edge: EdgeProcess;
const remove: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const folder = await temporaryFolder();
  remove.push(folder.remove);
  await bundleForPages(folder.path, 'readers', 'e2e/fixtures/pages/range-readers.ts');
  [site, origin, browser] = await Promise.all([
    FileServer.start(),
    FileServer.start(),
    launchBrowser(),
  ]);
  const script = await readFile(join(folder.path, 'readers.mjs'));
  site.add('/readers.mjs', { body: script, headers: { 'content-type': 'text/javascript' } });
  const html = `<!doctype html><title>map</title><script type="module">
    import * as readers from '/readers.mjs'; globalThis.readers = readers;</script>`;
  site.add('/', { body: Buffer.from(html), headers: { 'content-type': 'text/html' } });
  origin.add('/table.parquet', { body: parquet(60_000), headers: FRESH });
  origin.add('/map.pmtiles', { body: pmtiles(5), headers: FRESH });
  origin.add('/model.gguf', { body: gguf(TENSORS), headers: FRESH });
});
beforeEach(async () => {
  const cors = { origins: [new URL(site.url('/')).origin, 'https://*.example'] };
  edge = await stage.start({ origins: [{ origin: '127.0.0.1', cors }] });
});
afterAll(async () => {
  await browser?.close();
  await site?.stop();
  await origin?.stop();
  for (const end of remove) await end();
});

async function open(host = '127.0.0.1'): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(LONGEST_WAIT_MS);
  await page.goto(site.url('/').replace('127.0.0.1', host));
  await page.waitForFunction('globalThis.readers !== undefined');
  return page;
}
const through = (path: string) => edge.prefixed(origin.url(path));

test('get the parts that they need, and the origin sends little more', async () => {
  const page = await open();
  const before = origin.sentBytes;
  const found = await page.evaluate(
    async ([table, map, model]) => [
      await readers.rows(table, 30_500, 30_503),
      await readers.tile(map, 5, 7, 21),
      await readers.model(model),
    ],
    [through('/table.parquet'), through('/map.pmtiles'), through('/model.gguf')] as const,
  );
  expect(found).toEqual([
    [row(30_500), row(30_501), row(30_502)],
    tileText(5, 7, 21),
    { architecture: 'llama', tensors: TENSORS },
  ]);
  const table = origin.files.get('/table.parquet')?.body.length ?? 0;
  expect(table).toBeGreaterThan(1_000_000);
  const all = [...origin.files.values()].reduce((sum, { body }) => sum + body.length, 0);
  expect(origin.sentBytes - before).toBeLessThan(all * 0.8);
  await page.close();
});

test('may set conditions and read errors; pages of sites that no rule names may nothing', async () => {
  origin.add('/small', { body: Buffer.from('small'), headers: FRESH, etag: '"s"' });
  const ask = (page: Page, path: string) =>
    page.evaluate(
      (url) => readers.status(url, { 'if-none-match': '"s"' }).catch(String),
      through(path),
    );
  const page = await open();
  expect(await ask(page, '/small')).toBe(304);
  expect(await ask(page, '/missing')).toBe(404);
  const other = await open('localhost');
  expect(await ask(other, '/small')).toContain('Failed to fetch');
  const plain = (url: string) => fetch(url, { cache: 'no-store' }).then((r) => r.text());
  expect(await page.evaluate(plain, through('/small'))).toBe('small');
  const refused = (url: string) => fetch(url, { cache: 'no-store' }).then((r) => r.text(), String);
  expect(await other.evaluate(refused, through('/small'))).toContain('Failed to fetch');
});
