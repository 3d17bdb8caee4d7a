/** A port of its own for administration: strangers reach nothing of it by the port for clients. */

import { describe, expect, test } from '@jest/globals';
import { H2Client } from '../../fixtures/clients/h2-client.ts';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { isLive, logIn, openPage } from '../../fixtures/pages/edge-pages.ts';
import { browserOrComplain, launchBrowser } from '../../fixtures/pages/ui.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { OPTIONS, StrangersStage, TOKEN } from '../../fixtures/stages/strangers-stage.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const withBrowser = testsWhere(browserOrComplain('the port for administration in a browser'));
const stage = new StrangersStage();

describe('a separate port for administration', () => {
  const admin = async (started: EdgeProcess) => {
    const found = () => /"admin":"([^"]+)"/.exec(started.log.join('\n'))?.[1];
    await until(() => found() !== undefined);
    return found() as string;
  };
  const start = (...options: string[]) =>
    EdgeProcess.start([
      ...[...OPTIONS, '--admin-token-file', stage.at('token'), '--admin-port', '0'],
      ...options,
    ]);
  const statuses = async (base: string, paths: readonly string[], method = 'GET') => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const got = paths.map((path) => fetchAll(base + path, { method, headers }));
    return (await Promise.all(got)).map(({ status }) => status);
  };
  const counts = ['/-/downloads', '/-/downloads.csv', '/-/dashboard/downloads'];
  const pages = ['/-/dashboard', '/-/dashboard/data', '/-/pins', '/-/prefetch', ...counts];

  test('has the dashboard and administration, which the other port lacks in every spelling', async () => {
    const separate = await start('--workers', '2');
    try {
      const [clients, operators] = [separate.url, await admin(separate)];
      expect(new Set(await statuses(operators, pages))).toEqual(new Set([200]));
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
      const others = [
        `/${stage.origin.url('/image.iso')}`,
        '/-/edges',
        '/-/metalink?link=x',
        '/-/check',
      ];
      expect(new Set(await statuses(operators, others))).toEqual(new Set([404]));
      const files = [`/${stage.origin.url('/image.iso')}`, '/', '/-/status', '/-/edges'];
      expect(new Set(await statuses(clients, files))).toEqual(new Set([200]));
      const front = await fetchAll(`${operators}/`);
      expect([front.status, front.headers.location]).toEqual([303, '/-/dashboard']);
      expect((await separate.status()).draining).toBe(false);
    } finally {
      await separate.stop('SIGKILL');
    }
  });

  test('has TLS when the edge has', async () => {
    const separate = await start('--tls-cert', stage.cert, '--tls-key', stage.key);
    try {
      const client = await H2Client.connect(await admin(separate), stage.cert);
      expect((await client.fetch('/-/dashboard')).status).toBe(401);
      expect((await client.fetch(`/${stage.origin.url('/image.iso')}`)).status).toBe(404);
      await client.close();
    } finally {
      await separate.stop('SIGKILL');
    }
  });

  withBrowser.test('is where operators log in', async () => {
    const [separate, browser] = await Promise.all([start(), launchBrowser()]);
    const { page } = await openPage(browser);
    try {
      await logIn(page, { url: await admin(separate) }, TOKEN);
      await isLive(page);
    } finally {
      await browser.close();
      await separate.stop('SIGKILL');
    }
  });
});
