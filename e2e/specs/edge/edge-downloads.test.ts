/** Counts of downloads: what counts as one, for whom, and what is left after a restart. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { geoDatabase } from '@millrace/shared/testing/geo-database';
import { fetchAll, openResponse } from '../../fixtures/clients/http-client.ts';
import { contentOf } from '../../fixtures/origins/content.ts';
import { ask } from '../../fixtures/programs/admin-client.ts';
import { type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { AdminStage, FRESH } from '../../fixtures/stages/admin-stage.ts';
import { until } from '../../fixtures/until.ts';

const stage = await AdminStage.set();
const [BERLIN, SYDNEY] = ['192.0.2.7', '198.51.100.7'];

interface Count {
  readonly file: string;
  readonly country: string;
  readonly begun: number;
  readonly completed: number;
  readonly bytes: number;
}

async function counts(edge: EdgeProcess, url: string): Promise<Count[]> {
  const { body } = await ask(edge, 'GET', 'downloads?days=2');
  return (body.downloads as Count[]).filter(({ file }) => file === url.split('?')[0]);
}

/** Begun and completed downloads of a file, as `2/1`. */
async function figure(edge: EdgeProcess, url: string): Promise<string> {
  const all = await counts(edge, url);
  const sum = (part: 'begun' | 'completed') => all.reduce((n, row) => n + row[part], 0);
  return `${sum('begun')}/${sum('completed')}`;
}

async function database(): Promise<string> {
  const path = join(stage.folder, 'places.mmdb');
  const place = { latitude: 0, longitude: 0 };
  const networks = [
    ['192.0.2.0/24', place, 'DE'],
    ['198.51.100.0/24', place, 'AU'],
  ] as const;
  await writeFile(path, geoDatabase(networks));
  return path;
}

test.each([1, 2])('downloads in %s processes are counted once, and kept', async (workers) => {
  const cache = join(stage.folder, `cache-${workers}`);
  await mkdir(cache);
  const options = [
    ...['--geoip', await database(), '--trusted-proxy', '127.0.0.1', '--cache-dir', cache],
    ...['--workers', `${workers}`],
  ];
  const edge = await stage.start(...options);
  const url = stage.origin.url(`/counted-${workers}.iso`);
  // The query is a secret, and no part of the file's name.
  const body = contentOf('counted', 500_000);
  stage.origin.add(`/counted-${workers}.iso?token=secret`, { body, ...FRESH });
  const through = edge.prefixed(`${url}?token=secret`);
  const get = (client: string, range: string) =>
    fetchAll(through, { headers: { 'x-forwarded-for': client, range, connection: 'close' } });
  // One client with several connections, out of order and with an overlap; another one leaves.
  const parts = ['bytes=300000-', 'bytes=0-199999', 'bytes=150000-299998'];
  await Promise.all(parts.map((range) => get(BERLIN, range)));
  await get(SYDNEY, 'bytes=0-99999');
  await until(async () => (await figure(edge, url)) === '2/0');
  await get(BERLIN, 'bytes=299990-300009');
  await until(async () => (await figure(edge, url)) === '2/1');
  const whole = await openResponse(through, {
    headers: { 'x-forwarded-for': SYDNEY, 'user-agent': 'another program' },
  });
  await new Promise((resolve) => whole.resume().once('end', resolve));
  await until(async () => (await figure(edge, url)) === '3/2');
  expect(await counts(edge, url)).toMatchObject([
    { country: 'AU', begun: 2, completed: 1, bytes: 600_000 },
    { country: 'DE', begun: 1, completed: 1 },
  ]);
  const text = await (await fetch(`${edge.url}/-/metrics`)).text();
  expect(text).toContain('millrace_downloads_total{state="completed",country="DE"} 1\n');
  await edge.stop();
  const kept = await readFile(join(cache, 'downloads.json'), 'utf8');
  expect(kept).toContain('"file"');
  for (const secret of [BERLIN, SYDNEY, 'token', 'another program']) {
    expect(kept).not.toContain(secret);
  }
  const again = await stage.start(...options);
  expect(await figure(again, url)).toBe('3/2');
});

test('the counts are for holders of the token, as CSV, and at the command line', async () => {
  const { edge } = stage;
  const { url } = stage.publish(100_000);
  await fetchAll(edge.prefixed(url));
  await until(async () => (await figure(edge, url)) === '1/1');
  expect((await ask(edge, 'GET', 'downloads', undefined, '')).status).toBe(401);
  expect((await ask(edge, 'GET', 'downloads?days=0')).status).toBe(400);
  const args = ['edge', 'downloads', '--edge', edge.url, '--token-file', stage.tokenFile];
  const csv = await runCli([...args, '--csv']);
  expect(csv.stdout).toMatch(/^day,file,country,begun,completed,bytes\n/);
  expect(csv.stdout).toContain(`${url},ZZ,1,1,100000`);
  expect((await runCli([...args, '--by', 'country'])).stdout).toMatch(/^COUNTRY\t.*\nZZ\t1\t1\t/);
  const scraper = { accept: 'application/openmetrics-text; version=1.0.0' };
  const metrics = await fetch(`${edge.url}/-/metrics`, { headers: scraper });
  expect(metrics.headers.get('content-type')).toMatch(/^application\/openmetrics-text/);
  expect(await metrics.text()).toMatch(/\n# TYPE millrace_downloads counter\n[\s\S]*# EOF\n$/);
});
