/** Files of origins without ranges or length: one stream, kept as it passes. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fetchAll, openResponse, readAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { StreamOrigin } from '../../fixtures/origins/stream-origin.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;
const CHUNK = 64 * 1024;
const CONTENT = contentOf('streams', 3 * MiB + 12_345);
const FRESH = { 'cache-control': 'max-age=3600' };
/** An archive as code hosts build it on demand. */
const ARCHIVE = { etag: 'W/"archive"', 'cache-control': 'max-age=0' };
let origin: StreamOrigin;
let folder: string;
let edge: EdgeProcess;

const options = () => [
  ...['--allow-origin', '127.0.0.1', '--chunk-size', String(CHUNK), '--log-level', 'warn'],
  ...['--cache-memory', '32M', '--cache-dir', folder, '--cache-disk', '64M'],
];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-streams-'));
  origin = await StreamOrigin.start();
  edge = await EdgeProcess.start(options());
});
afterAll(async () => {
  await edge?.stop('SIGKILL');
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetchAll(edge.prefixed(url), { headers, method });
const whole = { status: 200, complete: true, digest: sha256(CONTENT) };
/** Waits until no stream is under way: the end of a body may be read before the stream's. */
const settled = (path: string) =>
  until(async () => {
    const { headers } = await get(origin.add(path, file(path)), {}, 'HEAD');
    return headers['content-length'] !== undefined && headers['accept-ranges'] === 'bytes';
  });
const file = (path: string) => {
  const found = origin.files.get(path);
  if (found === undefined) throw new Error(`there is no ${path}`);
  return found;
};

describe.each([
  ['of unknown length, with a lifetime', false, FRESH],
  ['of unknown length, with a weak tag', false, ARCHIVE],
  ['with a length', true, FRESH],
])('a file %s', (name, hasLength, headers) => {
  const path = `/${name.replaceAll(/\W+/g, '-')}`;
  let url: string;

  test('is asked for once, by clients that come before, while and after it passes', async () => {
    url = origin.add(path, { body: CONTENT, headers, hasLength, holdAt: MiB + 5000 });
    const first = await openResponse(edge.prefixed(url));
    const second = get(url);
    await until(async () => (await edge.status()).transfers.active === 2);
    // The first client reads nothing, and the other gets all.
    origin.release(path);
    expect(await second).toMatchObject(whole);
    expect(await get(url)).toMatchObject(whole);
    const late = await readAll(first);
    expect([late.complete, sha256(late.body)]).toEqual([true, whole.digest]);
    expect(origin.count(path)).toBe(1);
  });

  test('has ranges and a length once it is complete', async () => {
    await settled(path);
    const head = await get(url, {}, 'HEAD');
    expect(head.headers).toMatchObject({
      'content-length': String(CONTENT.length),
      'accept-ranges': 'bytes',
    });
    const parts = [CONTENT.length - 100, 0, 1_000_000].map(async (start) => {
      const got = await get(url, { range: `bytes=${start}-${start + 69_999}` });
      const part = CONTENT.subarray(start, start + 70_000);
      expect([got.status, got.digest]).toEqual([206, sha256(part)]);
    });
    await Promise.all(parts);
    expect(origin.count(path)).toBe(1);
  });
});

test('files that came in a stream are there after a restart', async () => {
  const path = '/restart';
  const url = origin.add(path, { body: CONTENT, headers: FRESH });
  expect(await get(url)).toMatchObject(whole);
  await settled(path);
  await edge.stop();
  edge = await EdgeProcess.start(options());
  expect((await get(url, { range: 'bytes=100-199' })).digest).toBe(
    sha256(CONTENT.subarray(100, 200)),
  );
  expect(await get(url)).toMatchObject(whole);
  expect(origin.count(path)).toBe(1);
});

test('a stream that breaks off goes on with the same bytes, and a changed one does not', async () => {
  const same = origin.add('/breaks', {
    body: CONTENT,
    headers: FRESH,
    breaks: (count) => (count === 1 ? 2 * MiB + 700 : undefined),
  });
  expect(await get(same)).toMatchObject(whole);
  expect(origin.count('/breaks')).toBe(2);
  for (const [path, hasLength] of [
    ['/changes', false],
    ['/changes-with-length', true],
  ] as const) {
    const other = Buffer.from(CONTENT);
    other[MiB] = (other[MiB] as number) ^ 1;
    const url = origin.add(path, {
      headers: FRESH,
      hasLength,
      get body() {
        return origin.count(path) < 1 ? CONTENT : other;
      },
      breaks: (count) => (count === 1 ? 2 * MiB + 700 : undefined),
    });
    expect((await get(url)).complete).toBe(false);
    expect(await get(url)).toMatchObject({ complete: true, digest: sha256(other) });
  }
});

test('a body that only the end of the connection ends is kept for nobody', async () => {
  const url = origin.add('/closes', { body: CONTENT, headers: FRESH, closes: true });
  for (let i = 0; i < 2; i++) expect(await get(url)).toMatchObject(whole);
  expect(origin.count('/closes')).toBe(2);
});

test.each([
  { 'cache-control': 'private, max-age=60' },
  { 'cache-control': 'no-store' },
  { ...FRESH, 'set-cookie': 'a=b' },
  { ...FRESH, vary: '*' },
])('an answer for one client is kept for nobody: %j', async (headers) => {
  const path = `/${Object.values(headers).join('').replaceAll(/\W+/g, '-')}`;
  const url = origin.add(path, { body: CONTENT.subarray(0, 1000), headers });
  for (let i = 0; i < 2; i++)
    expect((await get(url)).digest).toBe(sha256(CONTENT.subarray(0, 1000)));
  expect(origin.count(path)).toBe(2);
});

test('a lost chunk comes from a second stream with the same bytes, and never from another', async () => {
  const small = await EdgeProcess.start([
    ...['--allow-origin', '127.0.0.1', '--chunk-size', String(CHUNK), '--log-level', 'warn'],
    ...['--cache-memory', '2M'],
  ]);
  try {
    const ask = async (path: string) => {
      const body = contentOf(path, 900_000);
      const known = origin.files.get(path) ?? { body, headers: FRESH };
      const url = origin.add(path, known);
      const got = await fetchAll(small.prefixed(url));
      return { complete: got.complete, digest: got.digest };
    };
    const all = (path: string) => ({ complete: true, digest: sha256(file(path).body) });
    const pushOut = async () => {
      for (const path of ['/b', '/c', '/d', '/e']) await ask(path);
    };
    expect(await ask('/a')).toEqual(all('/a'));
    await pushOut();
    expect(await ask('/a')).toEqual(all('/a'));
    expect(origin.count('/a')).toBe(2);
    await pushOut();
    // The origin has another file by now, which it says nowhere.
    const other = Buffer.from(file('/a').body);
    other[500_000] = (other[500_000] as number) ^ 1;
    file('/a').body = other;
    const changed = await ask('/a');
    expect(changed.complete ? changed : all('/a')).toEqual(all('/a'));
    expect(await ask('/a')).toEqual(all('/a'));
  } finally {
    await small.stop('SIGKILL');
  }
});
