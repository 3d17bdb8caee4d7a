import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { FakeOrigin } from '../../testing/fake-origin.ts';
import { offerOf, World } from '../../testing/fake-surroundings.ts';

const LENGTH = 3 * 1024 * 1024 + 12_345;
const URL = 'http://origin.example/file.bin';
const EDGE = 'http://edge.example';

const content = createHash('sha256').update('content').digest();
const FILE = new Uint8Array(LENGTH).map((_, i) => (content[i % 32] as number) ^ (i >> 13));
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const DIGEST = digestOf(FILE);

function world(seed = 1) {
  const origin = new FakeOrigin(FILE);
  return { origin, it: new World(origin.fetch, seededRandom(seed)) };
}

const isSaving = ([record]: readonly { state: string }[]) => record?.state === 'saving';

describe('an offer', () => {
  test('is proven by its first bytes and taken; its file is saved and then deleted', async () => {
    const { origin, it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    expect(origin.asked).toMatchObject([{ range: { start: 0, end: 65_536 } }]);
    expect(origin.asked[0]?.headers.get('if-range')).toBe('"1"');
    expect(await engine.call({ type: 'offerState', handOff: URL })).toEqual({ state: 'proven' });
    expect(it.records.records.size).toBe(0);
    const id = { id: URL };
    expect(await engine.call({ type: 'commit', handOff: URL })).toEqual(id);
    expect(await engine.call({ type: 'commit', handOff: URL })).toEqual(id);
    await it.until(engine, isSaving);
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([DIGEST]);
    expect(it.records.records.get(URL)).toMatchObject({ state: 'complete', storedBytes: LENGTH });
    expect(it.files.files.size).toBe(0);
    expect(it.files.urls.size).toBe(0);
  });

  test.each([
    ['of another length', { length: LENGTH + 1 }, 'version-changed'],
    ['of another version', { etag: '"2"' }, 'version-changed'],
    ['without a validator', { etag: undefined }, 'version-unproven'],
  ])('%s is refused, and leaves nothing behind', async (_, more, code) => {
    const { it } = world();
    const engine = await it.start();
    await expect(engine.call(offerOf(URL, LENGTH, more))).rejects.toMatchObject({ code });
    expect(await engine.call({ type: 'offerState', handOff: URL })).toEqual({ state: 'unknown' });
    await expect(engine.call({ type: 'commit', handOff: URL })).rejects.toThrow('no such offer');
  });

  test('that is withdrawn or a minute old cannot be committed', async () => {
    const { it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    await engine.call({ type: 'withdraw', handOff: URL });
    await expect(engine.call({ type: 'commit', handOff: URL })).rejects.toThrow('no such offer');
    await engine.call(offerOf(URL, LENGTH));
    it.now += 60_000;
    expect(await engine.call({ type: 'offerState', handOff: URL })).toEqual({ state: 'unknown' });
  });

  test('that is withdrawn during the storage check leaves and requests nothing', async () => {
    const { origin, it } = world();
    const engine = await it.start();
    const offered = engine.call(offerOf(URL, LENGTH));
    await Promise.all([
      engine.call({ type: 'withdraw', handOff: URL }),
      expect(offered).rejects.toMatchObject({ code: 'interrupted' }),
    ]);
    expect(await engine.call({ type: 'offerState', handOff: URL })).toEqual({ state: 'unknown' });
    expect(origin.asked).toEqual([]);
  });

  test('is refused without a request if its file does not fit into storage twice', async () => {
    const { origin, it } = world();
    it.estimate = { quota: 2 * LENGTH + 64 * 1024 * 1024 - 1, usage: 0 };
    const engine = await it.start();
    await expect(engine.call(offerOf(URL, LENGTH))).rejects.toMatchObject({
      problem: 'refused',
      code: 'disk-full',
    });
    expect(origin.asked).toEqual([]);
  });
});

describe('fetching', () => {
  async function fetched(prepare: (origin: FakeOrigin) => void, more: object = {}) {
    const { origin, it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH, more));
    prepare(origin);
    const before = it.now;
    await engine.call({ type: 'commit', handOff: URL });
    await it.until(engine, ([record]) => record?.state !== 'queued');
    const { state } = it.records.records.get(URL) ?? {};
    const [bytes] = await it.saveAll(engine);
    return { origin, it, engine, state, digest: bytes && digestOf(bytes), ms: it.now - before };
  }

  test('continues after broken connections', async () => {
    const { digest, origin } = await fetched((origin) => {
      origin.fault = (asked, count) => (count % 3 > 0 ? origin.broken(asked, 50_000) : undefined);
    });
    expect(digest).toBe(DIGEST);
    expect(origin.sentBytes).toBeLessThan(1.3 * LENGTH);
  });

  test('waits as long as Retry-After says', async () => {
    const { digest, ms } = await fetched((origin) => {
      const field = { 'retry-after': '7' };
      origin.fault = (_asked, count) =>
        count === 2 ? new Response(null, { status: 503, headers: field }) : undefined;
    });
    expect(digest).toBe(DIGEST);
    expect(ms).toBeGreaterThanOrEqual(7000);
  });

  test('waits without a network, and continues at once when it is back', async () => {
    const { origin, it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    origin.down = true;
    await engine.call({ type: 'commit', handOff: URL });
    let status: unknown;
    await it.until(engine, () => {
      void engine.call({ type: 'list' }).then((list) => {
        status = (list as unknown as { downloads: { status: string }[] }).downloads[0]?.status;
      });
      return status === 'waiting';
    });
    origin.down = false;
    engine.retryNow();
    await it.until(engine, isSaving);
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([DIGEST]);
  });

  test('sends edges no cookies and no log-ins', async () => {
    const { digest, origin } = await fetched(() => {}, { edges: [EDGE] });
    expect(digest).toBe(DIGEST);
    const [proof, ...others] = origin.asked;
    expect(proof).toMatchObject({ url: URL, credentials: 'include' });
    expect(others.length).toBeGreaterThan(0);
    for (const asked of others) {
      expect(asked).toMatchObject({ url: `${EDGE}/${URL}`, credentials: 'omit' });
    }
  });

  test.each([
    ['a log-in', URL, { headers: { Authorization: 'Basic eDp5' } }],
    ['a cookie', URL, { headers: { cookie: 'session=42' } }],
    ['a signature', `${URL}?signature=abc`, {}],
    ['a private address behind a redirect', URL, { finalUrl: 'http://10.0.0.1/file.iso' }],
  ])('of a file with %s never asks an edge', async (_, url, more) => {
    const { origin, it } = world();
    const engine = await it.start();
    await engine.call(offerOf(url, LENGTH, { edges: [EDGE], ...more }));
    await engine.call({ type: 'commit', handOff: url });
    await it.until(engine, isSaving);
    expect(origin.asked.filter((asked) => asked.url.startsWith(EDGE))).toEqual([]);
  });

  test.each(['other version', 'other place', 'other length'])(
    'sets aside an edge with an %s, and stores none of its bytes',
    async (kind) => {
      const { digest } = await fetched(
        (origin) => {
          origin.fault = ({ url, range: { start, end } }) => {
            if (!url.startsWith(EDGE)) return undefined;
            const wrong = new Uint8Array(end - start).fill(1);
            if (kind === 'other place') return origin.answer(start + 1, end, wrong.subarray(1));
            if (kind === 'other length') {
              return origin.answer(start, end, new Uint8Array(end - start + 1).fill(1));
            }
            const { headers } = origin.answer(start, end);
            headers.set('etag', '"2"');
            return new Response(wrong, { status: 206, headers });
          };
        },
        { edges: [EDGE] },
      );
      expect(digest).toBe(DIGEST);
    },
  );

  test('starts over if the file has changed', async () => {
    const { digest, it } = await fetched((origin) => {
      origin.etag = '"2"';
    });
    expect(digest).toBe(DIGEST);
    expect(it.records.records.get(URL)).toMatchObject({ validators: { etag: '"2"' }, restarts: 1 });
  });

  test('leaves a file without ranges to the browser, and checks its length', async () => {
    const { origin, it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    origin.fault = () => new Response('log in', { status: 200, headers: { etag: '"1"' } });
    await engine.call({ type: 'commit', handOff: URL });
    await it.until(engine, ([record]) => record?.state === 'browser');
    await it.until(engine, () => it.saves.length > 0);
    expect(it.saves).toMatchObject([{ id: URL, url: URL, length: LENGTH }]);
    expect(it.files.files.size).toBe(0);
    const file = { downloadId: 1, length: 6, fileName: 'a.bin' };
    await engine.call({ type: 'saved', id: URL, file });
    expect(it.records.records.get(URL)).toMatchObject({
      state: 'error',
      error: { code: 'wrong-length' },
    });
  });

  test('fails when storage is full, and continues from there once there is room', async () => {
    const { origin, it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    it.files.room = LENGTH - 1;
    await engine.call({ type: 'commit', handOff: URL });
    await it.until(engine, ([record]) => record?.state === 'error');
    expect(it.records.records.get(URL)).toMatchObject({ error: { code: 'disk-full' } });
    it.files.room = LENGTH;
    await engine.call({ type: 'command', id: URL, command: 'resume' });
    await it.until(engine, isSaving);
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([DIGEST]);
    expect(origin.asked.length).toBeGreaterThan(1);
  });
});

describe('the digest that the origin states for the whole file', () => {
  const base64 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64');
  const stated = (bytes: Uint8Array) => ({ 'repr-digest': `sha-256=:${base64(bytes)}:` });
  const isOver = ([record]: readonly { state: string }[]) => record?.state !== 'queued';

  async function taken(fields: Record<string, string>, edges: readonly string[] = []) {
    const { origin, it } = world();
    origin.fields = fields;
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH, { edges }));
    return { origin, it, engine, commit: () => engine.call({ type: 'commit', handOff: URL }) };
  }

  test.each(['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'])(
    'is checked before the file is saved: %s',
    async (algorithm) => {
      const digest = createHash(algorithm).update(FILE).digest('base64');
      const field = `${algorithm === 'sha1' ? 'sha' : algorithm.replace('sha', 'sha-')}=${digest}`;
      const { it, engine, commit } = await taken({ digest: field });
      await commit();
      await it.until(engine, isOver);
      expect(it.records.records.get(URL)?.digests).toMatchObject([{ algorithm }]);
      expect((await it.saveAll(engine)).map(digestOf)).toEqual([DIGEST]);
    },
  );

  test('keeps a file with another digest from being saved; it is fetched again', async () => {
    const { origin, it, engine, commit } = await taken(stated(FILE));
    origin.fault = ({ range: { start, end } }) => {
      const wrong = FILE.slice(start, end);
      wrong[wrong.length >> 1] = (wrong[wrong.length >> 1] as number) ^ 1;
      return origin.answer(start, end, wrong);
    };
    await commit();
    await it.until(engine, isOver);
    expect(it.records.records.get(URL)).toMatchObject({
      state: 'error',
      storedBytes: 0,
      error: { code: 'wrong-digest' },
    });
    expect(it.saves).toEqual([]);
    expect(it.files.files.size).toBe(0);
    origin.fault = () => undefined;
    await engine.call({ type: 'command', id: URL, command: 'resume' });
    await it.until(engine, isSaving);
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([DIGEST]);
  });

  test('sets aside edges that sent other bytes', async () => {
    const { origin, it, engine, commit } = await taken(stated(FILE), [EDGE]);
    origin.fault = ({ url, range: { start, end } }) =>
      url.startsWith(EDGE) ? origin.answer(start, end, new Uint8Array(end - start)) : undefined;
    await commit();
    await it.until(engine, isSaving);
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([DIGEST]);
    expect(origin.asked.filter(({ url }) => url.startsWith(EDGE)).length).toBeGreaterThan(0);
    expect(it.records.records.get(URL)?.restarts).toBe(1);
  });

  test('is checked for added links, too', async () => {
    const { origin, it } = world();
    origin.fields = stated(FILE.slice(1));
    const engine = await it.start();
    await engine.call({ type: 'add', links: [{ url: URL, headers: {}, edges: [] }] });
    await it.until(engine, isOver);
    expect([...it.records.records.values()]).toMatchObject([{ error: { code: 'wrong-digest' } }]);
    expect(it.saves).toEqual([]);
  });
});

describe('after a restart', () => {
  test('stored bytes are not fetched again', async () => {
    const { origin, it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    origin.fault = () => {
      origin.down = origin.sentBytes > LENGTH / 2;
      return undefined;
    };
    await engine.call({ type: 'commit', handOff: URL });
    await it.until(engine, () => origin.down && it.now > 5000);
    await it.crash();
    const header = { url: URL, length: LENGTH, validators: { etag: '"1"' } };
    const storedBytes = (await it.files.copy().open(URL, header)).stored.bytes;
    expect(storedBytes).toBeGreaterThan(LENGTH / 3);
    origin.down = false;
    origin.fault = () => undefined;
    origin.sentBytes = 0;
    const next = await it.start();
    await it.until(next, isSaving);
    expect((await it.saveAll(next)).map(digestOf)).toEqual([DIGEST]);
    expect(origin.sentBytes).toBeLessThanOrEqual(1.02 * LENGTH - storedBytes);
  });

  test('a file that was being saved is offered to the browser under its new URL', async () => {
    const { it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    await engine.call({ type: 'commit', handOff: URL });
    await it.until(engine, isSaving);
    const [first] = it.saves.splice(0);
    await engine.call({ type: 'saving', id: URL, url: first?.url as string, downloadId: 7 });
    const next = await it.start();
    const [second] = it.saves;
    expect(second).toMatchObject({ begun: { url: first?.url, downloadId: 7 } });
    expect(second?.url).not.toBe(first?.url);
    expect((await it.saveAll(next)).map(digestOf)).toEqual([DIGEST]);
  });

  test('a file that could not be saved is kept, and saved when the user resumes it', async () => {
    const { origin, it } = world();
    const engine = await it.start();
    await engine.call(offerOf(URL, LENGTH));
    await engine.call({ type: 'commit', handOff: URL });
    await it.until(engine, isSaving);
    it.saves.splice(0);
    const code = 'file-not-writable';
    await engine.call({ type: 'not-saved', id: URL, code, message: 'FILE_ACCESS_DENIED' });
    expect(it.records.records.get(URL)).toMatchObject({ state: 'error', error: { code } });
    const asked = origin.asked.length;
    await engine.call({ type: 'command', id: URL, command: 'resume' });
    await it.until(engine, isSaving);
    expect((await it.saveAll(engine)).map(digestOf)).toEqual([DIGEST]);
    expect(origin.asked.length).toBe(asked);
  });

  test('files without a record are deleted', async () => {
    const { it } = world();
    await it.files.open('stray', { url: URL, length: 1, validators: {} });
    await it.start();
    expect(it.files.files.size).toBe(0);
  });
});
