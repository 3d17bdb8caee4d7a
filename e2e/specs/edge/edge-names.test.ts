/** Rules about the names of files: query parameters to ignore, and labels to purge by. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { signLink } from '@millrace/shared/node/link-signature';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { freshFile as file, ScriptedOrigin } from '../../fixtures/origins/scripted-origin.ts';
import { ADMIN_TOKEN, ask } from '../../fixtures/programs/admin-client.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';

const SECRET = 'a secret of publishers';
let origin: ScriptedOrigin;
let edge: EdgeProcess;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  origin = await ScriptedOrigin.start();
  const [rules, token, secrets] = ['rules.json', 'token', 'secrets'].map((name) =>
    join(folder.path, name),
  ) as [string, string, string];
  const origins = [
    { origin: '127.0.0.1' },
    { origin: '127.0.0.1/named', ignoreQuery: ['utm_*'] },
    { origin: '127.0.0.1/all', ignoreQuery: 'all', passLabels: true },
    { origin: '127.0.0.1/signed', allow: 'signed', ignoreQuery: { allBut: ['v'] } },
  ];
  await writeFile(rules, JSON.stringify({ origins }));
  await writeFile(token, ADMIN_TOKEN);
  await writeFile(secrets, SECRET);
  edge = await EdgeProcess.start([
    ...['--rules-file', rules, '--admin-token-file', token, '--link-secret-file', secrets],
  ]);
});
afterAll(async () => {
  await edge.stop('SIGKILL');
  await origin.stop();
  await folder.remove();
});

const get = (url: string) => fetchAll(edge.prefixed(url));
const text = async (url: string) => (await get(url)).body.toString();

describe('query parameters to ignore', () => {
  test('lead to one file, which the origin is asked for without them', async () => {
    const url = origin.script('/named/f?v=1', file('one'));
    const other = origin.script('/named/f?v=2', file('two'));
    for (const query of ['utm_source=a&', 'utm_source=b&', '']) {
      expect(await text(url.replace('v=', `${query}v=`))).toBe('one');
      expect(await text(other.replace('v=', `${query}v=`))).toBe('two');
    }
    expect(['/named/f?v=1', '/named/f?v=2'].map((path) => origin.asked(path).length)).toEqual([
      ...[1, 1],
    ]);
  });

  test('do not matter to purges and pins', async () => {
    const url = origin.script('/all/f', file('old'), file('new'));
    expect([await text(`${url}?a=1`), await text(`${url}?b=2`)]).toEqual(['old', 'old']);
    const pinned = await ask(edge, 'POST', 'pins', { url: `${url}?c=3`, seconds: 3600 });
    expect(pinned.body.pin.url).toBe(url);
    const purged = await ask(edge, 'POST', 'purge', { url: `${url}?d=4` });
    expect(purged.body.purged).toEqual({ kind: 'url', url });
    expect([await text(`${url}?a=1`), await text(url)]).toEqual(['new', 'new']);
    expect(origin.asked('/all/f')).toHaveLength(2);
  });

  test('do not matter to signed links, however these are signed', async () => {
    const url = origin.script('/signed/f?v=1', file('signed'));
    const tracked = `${url}&fbclid=7`;
    const link = (signed: string, asked: string) => {
      const permit = signLink(new URL(signed), 2_000_000_000, false, SECRET);
      return fetchAll(`${edge.url}/-/signed/${permit}/${asked}`);
    };
    for (const [signed, asked] of [
      [url, tracked],
      [tracked, tracked],
      [url, url],
    ] as const) {
      expect((await link(signed, asked)).body.toString()).toBe('signed');
    }
    expect((await link(url, tracked.replace('v=1', 'v=2'))).status).toBe(403);
    expect(origin.asked('/signed/f?v=1')).toHaveLength(1);
  });
});

describe('labels', () => {
  test.each(['surrogate-key', 'cache-tag'])(
    'in %s purge all files that have them',
    async (name) => {
      const files = ['a', 'b', 'c'].map((letter) =>
        origin.script(
          `/${name}-${letter}`,
          file(`old-${letter}`, { [name]: letter === 'c' ? 'other' : `Group-${name}` }),
          file(`new-${letter}`),
        ),
      );
      for (const url of files) {
        const { headers } = await get(url);
        expect(headers[name]).toBeUndefined();
      }
      const { body } = await ask(edge, 'POST', 'purge', { label: `group-${name}` });
      expect(body.purged).toEqual({ kind: 'label', label: `group-${name}` });
      expect(await Promise.all(files.map(text))).toEqual(['new-a', 'new-b', 'old-c']);
    },
  );

  test('reach clients where the rule says so', async () => {
    const url = origin.script('/all/labelled', file('x', { 'cache-tag': 'a,b' }));
    expect((await get(url)).headers['cache-tag']).toBe('a,b');
  });

  test('in another form are refused', async () => {
    for (const label of ['', '*', 'a b', 'ä']) {
      const { status, body } = await ask(edge, 'POST', 'purge', { label });
      expect([status, body.code]).toEqual([400, 'bad-option']);
    }
  });
});

test('a reload of an immutable file does not reach the origin, no-cache does', async () => {
  const url = origin.script(
    '/immutable',
    file('i', { 'cache-control': 'max-age=3600, immutable' }),
  );
  await get(url);
  for (const [directive, requests] of [
    ['max-age=0', 1],
    ['no-cache', 2],
  ] as const) {
    const headers = { 'cache-control': directive };
    expect((await fetchAll(edge.prefixed(url), { headers })).body.toString()).toBe('i');
    expect(origin.asked('/immutable')).toHaveLength(requests);
  }
});
