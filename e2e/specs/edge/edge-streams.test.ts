/** Files of origins without ranges or length: one stream, kept as it passes. */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fetchAll, openResponse, readAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { type StreamedFile, StreamOrigin } from '../../fixtures/origins/stream-origin.ts';
import { ADMIN_TOKEN, ask } from '../../fixtures/programs/admin-client.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;
const CHUNK = 64 * 1024;
const CONTENT = contentOf('streams', 3 * MiB + 12_345);
/** Longer than a stream runs ahead of its clients. */
const LARGE = contentOf('large streams', 20 * MiB);
const FRESH = { 'cache-control': 'max-age=3600' };
/** An archive as code hosts build it on demand. */
const ARCHIVE = { etag: 'W/"archive"', 'cache-control': 'max-age=0' };
let origin: StreamOrigin;
let folder: string;
let edge: EdgeProcess;

const options = () => [
  ...['--allow-origin', '127.0.0.1', '--chunk-size', String(CHUNK), '--log-level', 'warn'],
  ...['--cache-memory', '32M', '--cache-dir', folder, '--cache-disk', '64M'],
  ...['--admin-token-file', join(folder, 'token')],
];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-streams-'));
  await writeFile(join(folder, 'token'), ADMIN_TOKEN);
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

describe('an encoded file', () => {
  const encoded = gzipSync(CONTENT);
  const coded = { status: 200, complete: true, digest: sha256(encoded) };
  const headers = { ...FRESH, 'content-encoding': 'gzip', etag: '"file"' };

  test.each([
    ['in one stream', false, 1],
    // The first part only shows that there is a coding.
    ['in parts', true, 2],
  ])(
    'that comes %s is kept with its coding, and is always whole',
    async (name, hasRanges, asked) => {
      const path = `/encoded-${name.replaceAll(' ', '-')}`;
      const url = origin.add(path, { body: encoded, headers, hasRanges, hasLength: true });
      const asks: Record<string, string>[] = [
        {},
        { range: 'bytes=0-9' },
        { range: 'bytes=-9', 'if-range': '"file"' },
      ];
      for (const more of asks) {
        const got = await get(url, more);
        expect(got).toMatchObject(coded);
        expect(got.headers).toMatchObject({ 'content-encoding': 'gzip', 'accept-ranges': 'none' });
        expect(got.headers.etag).toBe('W/"file"');
      }
      expect((await get(url, { 'if-none-match': 'W/"file"' })).status).toBe(304);
      expect(origin.count(path)).toBe(asked);
    },
  );

  test('is another version once its origin sends it without the coding', async () => {
    const path = '/encoded-no-more';
    const anew = { ...headers, 'cache-control': 'max-age=0' };
    const url = origin.add(path, { body: encoded, headers: anew, hasLength: true });
    expect(await get(url)).toMatchObject(coded);
    const { 'content-encoding': _, ...plain } = { ...anew, etag: '"plain"' };
    origin.add(path, { body: CONTENT, headers: plain, hasLength: true });
    const got = await get(url);
    expect(got).toMatchObject(whole);
    expect(got.headers['content-encoding']).toBeUndefined();
  });
});

test('a file that nothing pins is kept for its lifetime, although its origin has ranges', async () => {
  const weak = { etag: 'W/"weak"' };
  for (const [path, bytes, headers, answers] of [
    ['/weak-small', 1000, { ...FRESH, ...weak }, 1],
    // The part that the edge has asked for first is not used.
    ['/weak-large', 3 * CHUNK, { ...FRESH, ...weak }, 2],
    ['/bare-large', 3 * CHUNK, FRESH, 2],
    ['/weak-never', 3 * CHUNK, weak, undefined],
  ] as const) {
    const body = CONTENT.subarray(0, bytes);
    const url = origin.add(path, { body, headers, hasRanges: true, hasLength: true });
    for (let i = 0; i < 2; i++) expect((await get(url)).digest).toBe(sha256(body));
    const { status } = await get(url, { 'if-none-match': 'W/"weak"' });
    expect(status).toBe('etag' in headers ? 304 : 200);
    const part = await get(url, { range: 'bytes=10-19' });
    expect([part.status, part.digest]).toEqual([206, sha256(body.subarray(10, 20))]);
    if (answers === undefined) expect(origin.count(path)).toBeGreaterThan(2);
    else expect(origin.count(path)).toBe(answers);
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
    const read = async (path: string) => {
      const body = contentOf(path, 900_000);
      const known = origin.files.get(path) ?? { body, headers: FRESH };
      const url = origin.add(path, known);
      const got = await fetchAll(small.prefixed(url));
      return { complete: got.complete, digest: got.digest };
    };
    const all = (path: string) => ({ complete: true, digest: sha256(file(path).body) });
    const pushOut = async () => {
      for (const path of ['/b', '/c', '/d', '/e']) await read(path);
    };
    expect(await read('/a')).toEqual(all('/a'));
    await pushOut();
    expect(await read('/a')).toEqual(all('/a'));
    expect(origin.count('/a')).toBe(2);
    await pushOut();
    // The origin has another file by now, which it says nowhere.
    const other = Buffer.from(file('/a').body);
    other[500_000] = (other[500_000] as number) ^ 1;
    file('/a').body = other;
    const changed = await read('/a');
    expect(changed.complete ? changed : all('/a')).toEqual(all('/a'));
    expect(await read('/a')).toEqual(all('/a'));
  } finally {
    await small.stop('SIGKILL');
  }
});

describe('while a stream runs', () => {
  /** Adds a file whose stream stops after a bit more than 1 MiB, and begins to read it. */
  const begin = async (path: string, hasLength: boolean, more: Partial<StreamedFile> = {}) => {
    const held = { body: CONTENT, headers: FRESH, hasLength, holdAt: MiB + 5000, ...more };
    const url = origin.add(path, held);
    const leaving = new AbortController();
    const first = await openResponse(edge.prefixed(url), { signal: leaving.signal });
    return { url, first, leaving };
  };
  const part = (start: number, end: number) => sha256(CONTENT.subarray(start, end));

  test('parts come as soon as their bytes have passed, if the length is known', async () => {
    const { url, first } = await begin('/part', true);
    const early = await get(url, { range: 'bytes=70000-199999' });
    expect([early.status, early.digest]).toEqual([206, part(70_000, 200_000)]);
    expect(early.headers['content-range']).toBe(`bytes 70000-199999/${CONTENT.length}`);
    const late = get(url, { range: 'bytes=-1000' });
    await until(async () => (await edge.status()).transfers.active === 2);
    origin.release('/part');
    const { status, digest } = await late;
    expect([status, digest]).toEqual([206, part(CONTENT.length - 1000, CONTENT.length)]);
    expect((await readAll(first)).digest).toBe(whole.digest);
    expect(origin.count('/part')).toBe(1);
  });

  test('the whole file comes instead of a part, if the length is not known', async () => {
    const { url, first } = await begin('/no-part', false);
    const asked = get(url, { range: 'bytes=0-9' });
    await until(async () => (await edge.status()).transfers.active === 2);
    origin.release('/no-part');
    expect(await asked).toMatchObject(whole);
    expect((await readAll(first)).digest).toBe(whole.digest);
  });

  test.each([true, false])('a purge has later clients ask anew (length: %s)', async (hasLength) => {
    const path = `/purged-${hasLength}`;
    // The first client reads nothing until the stream has stopped far ahead of it.
    const body = hasLength ? LARGE : CONTENT;
    const { url, first } = await begin(path, hasLength, { body });
    const purged = await ask(edge, 'POST', 'purge', { url });
    expect(purged.status).toBe(200);
    const other = Buffer.from(body).reverse();
    file(path).body = other;
    file(path).holdAt = undefined;
    expect(await get(url)).toMatchObject({ complete: true, digest: sha256(other) });
    origin.release(path);
    // The old stream's client gets the old file, or a reset.
    const old = await readAll(first);
    if (old.complete) expect(old.digest).toBe(sha256(body));
    expect(await get(url)).toMatchObject({ complete: true, digest: sha256(other) });
    expect(origin.count(path)).toBe(2);
  });

  test('it ends soon after its only client has left', async () => {
    const { url, leaving } = await begin('/left', true, { body: LARGE });
    const failed = async () => {
      const text = await (await fetch(`${edge.url}/-/metrics`)).text();
      const found = /^millrace_streams_total\{[^}]*failed[^}]*\} (\d+)$/m.exec(text);
      return Number(found?.[1] ?? 0);
    };
    const before = await failed();
    leaving.abort();
    origin.release('/left');
    await until(async () => (await failed()) > before);
    expect(await get(url)).toMatchObject({ complete: true, digest: sha256(LARGE) });
    expect(origin.count('/left')).toBe(2);
  });
});

test.each([
  ['more', 1000],
  ['less', -1000],
])(
  'an origin that states %s bytes than it sends makes no client take them for all',
  async (name, by) => {
    let answers = 0;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        answers++;
        const length = CONTENT.length + by;
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n`);
        socket.write('cache-control: max-age=3600\r\netag: "lie"\r\n\r\n');
        socket.end(CONTENT);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`;
      for (let i = 0; i < 2; i++) {
        const got = await get(url);
        // Of too long a body HTTP has only the bytes that the length names.
        if (by > 0) expect(got.complete && got.status === 200).toBe(false);
        else if (got.complete)
          expect(got.digest).toBe(sha256(CONTENT.subarray(0, CONTENT.length + by)));
      }
      expect(answers).toBeGreaterThan(0);
    } finally {
      server.close();
    }
  },
);
