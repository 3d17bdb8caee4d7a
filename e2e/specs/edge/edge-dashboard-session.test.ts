/** Logging in to the operators' dashboard and out of it: who gets a session, and when it ends. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { freePorts } from '../../fixtures/origins/nginx.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const TOKEN = 'correct-horse-battery-staple';
const folder = await temporaryFolder();
const tokenFile = join(folder.path, 'token');
const OPTIONS = ['--allow-origin', '127.0.0.1', '--admin-token-file', tokenFile];

beforeAll(() => writeFile(tokenFile, `${TOKEN}\n`));
afterAll(() => folder.remove());

describe('without the token', () => {
  let edge: EdgeProcess;
  beforeAll(async () => {
    edge = await EdgeProcess.start(OPTIONS);
  });
  afterAll(() => edge.stop('SIGKILL'));

  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const post = (path: string, headers: Record<string, string>, token: string) =>
    fetch(`${edge.url}/-/dashboard/${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...form, ...headers },
      body: `token=${token}`,
    });

  test('there is a log-in form, and no figure', async () => {
    const { status, body } = await fetchAll(`${edge.url}/-/dashboard`);
    expect([status, body.toString().includes('Administration token')]).toEqual([401, true]);
    const data = await fetchAll(`${edge.url}/-/dashboard/data`);
    expect([data.status, JSON.parse(data.body.toString()).code]).toEqual([401, 'token-required']);
    const cookie = `millrace-edge-${new URL(edge.url).port}=99999999999999.AAAAAAAAAAAAAAAA.${'A'.repeat(43)}`;
    const forged = await fetchAll(`${edge.url}/-/dashboard/data`, { headers: { cookie } });
    expect(forged.status).toBe(401);
  });

  test('the cookie is limited to the edge’s own pages, and forms of other sites are refused', async () => {
    const right = await post('login', { origin: edge.url }, TOKEN);
    expect(right.status).toBe(303);
    expect(right.headers.get('set-cookie')).toMatch(/Path=\/-\/; HttpOnly; SameSite=Strict$/);
    const others: Record<string, string>[] = [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ];
    for (const headers of others) {
      const refused = await post('login', headers, TOKEN);
      expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null]);
      expect((await post('logout', headers, '')).status).toBe(401);
    }
  });

  test('a client that guesses has to wait', async () => {
    const statuses = new Set<number>();
    await until(async () => {
      const { status } = await post('login', { origin: edge.url }, `guess-${statuses.size}`);
      return statuses.add(status).has(429);
    });
    expect(statuses).toEqual(new Set([401, 429]));
  });

  test('an edge that has no token lets nobody in', async () => {
    const open = await EdgeProcess.start(['--allow-origin', '127.0.0.1']);
    try {
      const { status, body } = await fetchAll(`${open.url}/-/dashboard`);
      expect([status, body.toString()]).toEqual([
        403,
        expect.stringContaining('no administration token'),
      ]);
      expect((await fetchAll(`${open.url}/-/dashboard/data`)).status).toBe(401);
    } finally {
      await open.stop('SIGKILL');
    }
  });
});

describe('logging out', () => {
  /** Returns the different statuses that all processes give a request for figures with a cookie. */
  const statuses = async (edge: EdgeProcess, cookie: string) => {
    const headers = { cookie, connection: 'close' };
    const answers = Array.from({ length: 12 }, () =>
      fetchAll(`${edge.url}/-/dashboard/data`, { headers }),
    );
    return [...new Set((await Promise.all(answers)).map(({ status }) => status))];
  };
  const send = (edge: EdgeProcess, path: string, body: string, cookie = '') =>
    fetch(`${edge.url}/-/dashboard/${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        ...{ 'content-type': 'application/x-www-form-urlencoded', origin: edge.url },
        ...(cookie && { cookie }),
      },
      body,
    });
  const begin = async (edge: EdgeProcess) => {
    const { headers } = await send(edge, 'login', `token=${TOKEN}`);
    return String(headers.get('set-cookie')).split(';')[0] as string;
  };

  test('ends the session for a copied cookie as well, at all processes and after a restart', async () => {
    const cache = join(folder.path, 'cache');
    // One port for the edge, and one for each process.
    const port = await freePorts(3);
    const options = [...OPTIONS, '--workers', '2', '--cache-dir', cache, '--name', 'left'];
    options.push('--port', String(port));
    let edge = await EdgeProcess.start(options);
    try {
      const [mine, other, third] = [await begin(edge), await begin(edge), await begin(edge)];
      for (const cookie of [mine, other, third])
        expect(await statuses(edge, cookie)).toEqual([200]);
      expect((await send(edge, 'logout', '', mine)).status).toBe(303);
      expect(await statuses(edge, mine)).toEqual([401]);
      expect(await statuses(edge, other)).toEqual([200]);
      await edge.stop('SIGKILL');
      edge = await EdgeProcess.start(options);
      expect(await statuses(edge, mine)).toEqual([401]);
      expect(await statuses(edge, other)).toEqual([200]);
      // An ended session cannot end others; a running one can end all of them.
      await send(edge, 'logout', 'everywhere=yes', mine);
      expect(await statuses(edge, third)).toEqual([200]);
      await send(edge, 'logout', 'everywhere=yes', other);
      for (const cookie of [other, third]) expect(await statuses(edge, cookie)).toEqual([401]);
      expect(await statuses(edge, await begin(edge))).toEqual([200]);
    } finally {
      await edge.stop('SIGKILL');
    }
  });
});
