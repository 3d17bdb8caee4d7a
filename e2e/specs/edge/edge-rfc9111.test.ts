/**
 * Fields and freshness of an origin's answer at an edge: the causes of failures that the public suite
 * http-tests/cache-tests has found. An Age makes answers stale at once, so that no test waits.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { formatHttpDate } from '@millrace/shared/http/fields/http-date';
import { type Fetched, fetchAll } from '../../fixtures/clients/http-client.ts';
import {
  freshFile as file,
  type ScriptedAnswer,
  ScriptedOrigin,
} from '../../fixtures/origins/scripted-origin.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const AWARE = { prefer: 'resume-on-reset' };
let origin: ScriptedOrigin;
let edge: EdgeProcess;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  origin = await ScriptedOrigin.start();
  const rules = join(folder.path, 'rules.json');
  const passing = { origin: '127.0.0.1/pages', passAnswers: true };
  const timed = { origin: '127.0.0.1/timed', fresh: '1h', staleWhileRevalidate: '1h' };
  const changed = {
    origin: '127.0.0.1/changed',
    dropFields: ['X-Powered-By'],
    addFields: { 'Cache-Control': 'max-age=86400, immutable' },
  };
  const origins = [{ origin: '127.0.0.1' }, passing, timed, changed];
  await writeFile(rules, JSON.stringify({ origins }));
  edge = await EdgeProcess.start(['--rules-file', rules]);
});
afterAll(async () => {
  await edge.stop('SIGKILL');
  await origin.stop();
  await folder.remove();
});

const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetchAll(edge.prefixed(url), { headers, method });
const text = async (url: string) => (await get(url)).body.toString();
const status = ({ headers }: Fetched) => String(headers['cache-status']);

describe('fields of the origin', () => {
  test('that describe the file come with it, from the cache as well', async () => {
    const fields = {
      'content-language': 'de',
      'x-amz-version-id': '7',
      vary: 'Accept-Encoding',
      date: formatHttpDate(Date.now() - 60_000),
      'content-md5': 'rL0Y20zC+Fzt72VPzMSk2A==',
    };
    const url = origin.script('/fields', file('fields', { ...fields, expires: fields.date }));
    for (const where of ['fwd=uri-miss', 'hit']) {
      const got = await get(url);
      expect(got.headers).toMatchObject(fields);
      expect(status(got)).toContain(where);
    }
    const part = await get(url, { range: 'bytes=0-1' });
    expect(part.headers).toMatchObject({ 'content-language': 'de' });
    expect(part.headers['content-md5']).toBeUndefined();
    expect((await get(url, { 'if-none-match': '"fields"' })).headers).toMatchObject({
      vary: fields.vary,
      date: fields.date,
    });
    expect(origin.asked('/fields')).toHaveLength(1);
  });

  test.each([
    ['a file', 'max-age=3600'],
    ['an answer that is passed through', 'no-store'],
  ])('that hold for more than the file stay out of %s', async (kind, cacheControl) => {
    const url = origin.script(
      `/held/${encodeURIComponent(kind)}`,
      file('held', {
        'cache-control': cacheControl,
        connection: 'keep-alive, X-Hop',
        'x-hop': '1',
        'x-end': '2',
        'content-security-policy': "default-src 'self'",
        'strict-transport-security': 'max-age=99',
        'clear-site-data': '"cookies"',
        'x-accel-redirect': '/etc/passwd',
        refresh: '0; url=/-/dashboard',
        'access-control-allow-credentials': 'true',
      }),
    );
    for (let i = 0; i < 2; i++) {
      const { headers, body } = await get(url);
      expect(body.toString()).toBe('held');
      expect(headers).toMatchObject({
        'x-end': '2',
        'content-security-policy': 'sandbox allow-downloads',
        'x-content-type-options': 'nosniff',
      });
      for (const name of ['x-hop', 'strict-transport-security', 'clear-site-data', 'refresh']) {
        expect(headers[name]).toBeUndefined();
      }
      expect(headers['x-accel-redirect']).toBeUndefined();
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  test('are updated by a 304, and others stay', async () => {
    const stale = { age: '7200' };
    const url = origin.script(
      '/updated',
      file('updated', { ...stale, 'x-new': '1', 'x-old': 'a' }),
      file('updated', { 'x-new': '2' }),
    );
    await get(url);
    const got = await get(url);
    expect(got.headers).toMatchObject({ 'x-new': '2', 'x-old': 'a' });
    expect(status(got)).toContain('fwd-status=304');
    const cached = await get(url);
    expect(cached.headers).toMatchObject({ 'x-new': '2', 'x-old': 'a' });
    expect(status(cached)).toContain('hit');
  });

  test.each([
    ['a file', file('dated')],
    ['a stream', { body: 'dated', status: 200, headers: { 'cache-control': 'max-age=3600' } }],
  ])('judge If-Modified-Since by Date where %s has no Last-Modified', async (kind, answer) => {
    const made = Date.now() - 60_000;
    const url = origin.script(`/dated/${encodeURIComponent(kind)}`, {
      ...answer,
      headers: { ...answer.headers, date: formatHttpDate(made) },
    });
    const since = (at: number) => get(url, { 'if-modified-since': formatHttpDate(at) });
    expect((await get(url)).status).toBe(200);
    // A copy with the same Date may be of before a change within that second.
    for (const at of [made - 3_000_000, made])
      expect((await since(at)).body.toString()).toBe('dated');
    expect((await since(Date.now() + 60_000)).status).toBe(304);
    expect(origin.asked(`/dated/${encodeURIComponent(kind)}`)).toHaveLength(1);
  });

  test('of a 304 that forbids to store it serve nobody else', async () => {
    const url = origin.script(
      '/withdrawn',
      file('withdrawn', { age: '7200' }),
      file('withdrawn', { 'cache-control': 'private, max-age=3600' }),
    );
    for (let i = 0; i < 4; i++) expect(await text(url)).toBe('withdrawn');
    expect(origin.asked('/withdrawn')).toHaveLength(4);
  });
});

describe('freshness', () => {
  test.each<[string, Record<string, string>, number]>([
    [
      'CDN-Cache-Control lets it',
      { 'cdn-cache-control': 'max-age=60', 'cache-control': 'no-store' },
      1,
    ],
    ['CDN-Cache-Control forbids it', { 'cdn-cache-control': 'no-store' }, 2],
    ['a malformed CDN-Cache-Control does not count', { 'cdn-cache-control': 'no-store, &&' }, 1],
    ['an Age of more than nine digits is old', { age: '99999999999' }, 2],
    ['the first Age of two counts', { age: '7200, 0' }, 2],
    [
      'months in capitals are dates',
      { 'cache-control': '', expires: 'Thu, 01 JAN 2099 00:00:00 GMT' },
      1,
    ],
  ])('is what the origin says: %s', async (name, headers, requests) => {
    const path = `/fresh/${encodeURIComponent(name)}`;
    const url = origin.script(path, file('fresh', headers));
    await get(url);
    expect((await get(url)).body.toString()).toBe('fresh');
    expect(origin.asked(path)).toHaveLength(requests);
  });

  test('ends by stale-while-revalidate with the old file, while the new one is fetched', async () => {
    const brief = { 'cache-control': 'max-age=1, stale-while-revalidate=3600', age: '60' };
    const url = origin.script('/swr', file('old', brief), file('new'));
    await get(url);
    const stale = await get(url);
    expect(stale.body.toString()).toBe('old');
    expect(status(stale)).toMatch(/hit; ttl=-\d+; detail=revalidating/);
    await until(async () => (await text(url)) === 'new');
    expect(origin.asked('/swr')).toHaveLength(2);
  });

  test('a client that wants no stale file gets the new one', async () => {
    const brief = { 'cache-control': 'max-age=1, stale-while-revalidate=3600', age: '60' };
    const url = origin.script('/swr-not', file('old', brief), file('new'));
    await get(url);
    const got = await get(url, { 'cache-control': 'max-age=0' });
    expect(got.body.toString()).toBe('new');
  });
});

describe('a rule for an origin', () => {
  test.each([
    ['lets a file without a time be fresh', { 'cache-control': '' }, 1],
    ['replaces the time of the origin', { 'cache-control': 'max-age=0' }, 1],
    ['does not replace no-cache', { 'cache-control': 'no-cache' }, 2],
    ['does not have a private file stored', { 'cache-control': 'private' }, 2],
  ])('%s', async (name, headers, requests) => {
    const path = `/timed/${encodeURIComponent(name)}`;
    const url = origin.script(path, file('timed', headers));
    for (let i = 0; i < 2; i++) expect(await text(url)).toBe('timed');
    expect(origin.asked(path)).toHaveLength(requests);
  });

  test.each(['max-age=60', 'no-store'])('changes fields of an answer with %s', async (cc) => {
    const headers = { 'cache-control': cc, 'x-powered-by': 'PHP', 'x-other': '1' };
    const url = origin.script(`/changed/${cc}`, file('changed', headers));
    for (let i = 0; i < 2; i++) {
      const got = await get(url);
      expect(got.headers).toMatchObject({
        'x-other': '1',
        'cache-control': 'max-age=86400, immutable',
      });
      expect(got.headers['x-powered-by']).toBeUndefined();
    }
    expect(origin.asked(`/changed/${cc}`)).toHaveLength(cc === 'no-store' ? 2 : 1);
  });
});

test('a small file that must not be stored is asked for once', async () => {
  const url = origin.script('/once', file('once', { 'cache-control': 'no-store' }));
  const got = await get(url);
  expect([got.status, got.body.toString()]).toEqual([200, 'once']);
  expect(got.headers['content-range']).toBeUndefined();
  expect(origin.asked('/once')).toHaveLength(1);
});

test('a small file that must not be stored is asked for again by conditions of the client', async () => {
  const url = origin.script('/condition', file('condition', { 'cache-control': 'no-store' }));
  expect((await get(url, { 'if-none-match': '"condition"' })).status).toBe(304);
});

describe('an origin’s own answer without a file', () => {
  const page = (status: number, headers: ScriptedAnswer['headers'] = {}): ScriptedAnswer => ({
    status,
    body: `<p>${status}</p>`,
    headers: { 'content-type': 'text/html', ...headers },
  });

  test('replaces the edge’s error only where a rule says so', async () => {
    const url = origin.script('/plain/404', page(404));
    const { status: code, headers } = await get(url);
    expect([code, headers['content-type']]).toEqual([404, 'application/problem+json']);
  });

  test.each([203, 302, 404, 410, 418, 500])('%d comes as it is, in its sandbox', async (code) => {
    const url = origin.script(`/pages/${code}`, page(code, { 'x-page': '1' }));
    const got = await get(url);
    expect([got.status, got.body.toString()]).toEqual([code, `<p>${code}</p>`]);
    expect(got.headers).toMatchObject({
      'content-type': 'text/html',
      'x-page': '1',
      'content-security-policy': 'sandbox allow-downloads',
    });
    const head = await get(url, {}, 'HEAD');
    expect([head.status, head.body.length]).toEqual([code, 0]);
  });

  test('is kept for as long as it says', async () => {
    const url = origin.script(
      '/pages/kept',
      page(404, { 'cache-control': 'max-age=60' }),
      file('now'),
    );
    await get(url);
    const again = await get(url);
    expect([again.status, again.body.toString()]).toEqual([404, '<p>404</p>']);
    expect(status(again)).toMatch(/hit; ttl=\d+; detail=origin-not-found/);
    expect(Number(again.headers.age)).toBeGreaterThanOrEqual(0);
    const anew = await get(url, { 'cache-control': 'no-cache' });
    expect(anew.body.toString()).toBe('now');
    expect(await text(url)).toBe('now');
  });

  test.each([
    ['a server error without a time', page(500)],
    ['a private page', page(404, { 'cache-control': 'private, max-age=60' })],
    ['a page with a cookie', page(404, { 'cache-control': 'max-age=60', 'set-cookie': 'a=b' })],
  ])('is not kept: %s', async (name, answer) => {
    const path = `/pages/${encodeURIComponent(name)}`;
    const url = origin.script(path, answer);
    for (let i = 0; i < 2; i++) expect((await get(url)).headers['set-cookie']).toBeUndefined();
    expect(origin.asked(path)).toHaveLength(2);
  });

  test('comes as well where the file was passed through before', async () => {
    const secret = file('secret', { 'cache-control': 'no-store' });
    const url = origin.script('/pages/tunnel', secret, page(410));
    await get(url);
    const got = await get(url);
    expect([got.status, got.body.toString()]).toEqual([410, '<p>410</p>']);
  });

  test('does not go to clients that know Millrace, which get the code', async () => {
    const url = origin.script('/pages/aware', page(404, { 'cache-control': 'max-age=60' }));
    for (let i = 0; i < 2; i++) {
      const got = await get(url, AWARE);
      expect(JSON.parse(got.body.toString())).toMatchObject({ code: 'origin-not-found' });
    }
  });

  test('does not ask for a password in the edge’s name', async () => {
    const url = origin.script('/pages/login', page(401, { 'www-authenticate': 'Basic realm="x"' }));
    const got = await get(url);
    expect([got.status, got.headers['www-authenticate']]).toEqual([403, undefined]);
    expect(JSON.parse(got.body.toString())).toMatchObject({ code: 'origin-login' });
  });

  test('does not take the place of a file that may be used while the origin fails', async () => {
    const url = origin.script('/pages/stale', file('stale', { age: '7200' }), page(500));
    await get(url);
    const got = await get(url);
    expect([got.status, got.body.toString()]).toEqual([200, 'stale']);
  });

  test('that there is no file is said while the origin fails as well, if it may be', async () => {
    const failing = await ScriptedOrigin.start();
    const strict = { 'cache-control': 'must-revalidate' };
    const paths = {
      plain: failing.script('/absent', page(404)),
      page: failing.script('/pages/absent', page(410)),
      strict: failing.script('/strict', page(404, strict)),
      // The file came after the answer, whose place it has taken.
      back: failing.script('/back', page(404), { body: 'back', headers: { etag: 'W/"b"' } }),
    };
    const statuses = async () => {
      const got = await Promise.all(Object.values(paths).map((url) => get(url)));
      return got.map((one) => one.status);
    };
    expect(await statuses()).toEqual([404, 410, 404, 404]);
    expect(await statuses()).toEqual([404, 410, 404, 200]);
    await failing.stop();
    expect(await statuses()).toEqual([404, 410, 502, 200]);
    expect(await text(paths.back)).toBe('back');
    const gone = await get(paths.page);
    expect([gone.body.toString(), status(gone)]).toEqual([
      '<p>410</p>',
      expect.stringMatching(/hit; ttl=-?\d+; detail=stale-origin-down/),
    ]);
    const plain = await get(paths.plain, AWARE);
    expect(JSON.parse(plain.body.toString())).toMatchObject({ code: 'origin-not-found' });
  });

  test('that is long is an error of the edge', async () => {
    const long = { status: 404, body: 'x'.repeat(65 * 1024) };
    const got = await get(origin.script('/pages/long', long));
    expect(JSON.parse(got.body.toString())).toMatchObject({ code: 'origin-not-found' });
  });
});
