import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { silentLog } from '@millrace/shared/base/log';
import { DiskCache } from '../cache/disk-cache.ts';
import { chunkBytes } from '../cache/weights.ts';
import type { Chunk } from '../files/chunk.ts';
import { chunkKey } from '../files/chunk-request.ts';
import type { Found } from './chunk-store.ts';
import {
  CHUNK,
  chunk,
  type Fetch,
  forEver,
  settle,
  setUp,
  textOf,
  turn,
} from './testing/store-stage.ts';

const dirs: string[] = [];

afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true });
});

/** Weight of a test chunk in the memory tier, with an index of up to two digits. */
const COST = CHUNK + chunkBytes(chunkKey(chunk(10)), chunk(10).version);

async function openDisk(): Promise<DiskCache> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-'));
  dirs.push(dir);
  return DiskCache.open({ dir, maxBytes: 2 ** 20, log: silentLog });
}

describe('ChunkStore', () => {
  test('fetches a chunk once and has it from then on', async () => {
    const { store, fetches, nth } = setUp();
    const first = store.get(chunk(3), forEver);
    await turn();
    expect(nth(0).request).toEqual(chunk(3));
    nth(0).bring('x');
    expect(await first).toMatchObject({ tier: 'source', joined: false });
    expect(textOf(await first)).toBe('x'.repeat(CHUNK));
    const second = await store.get(chunk(3), forEver);
    expect(second).toMatchObject({ tier: 'memory', joined: false });
    expect(second.chunk).toBe((await first).chunk);
    expect(store.peek(chunk(3))).toBe(second.chunk);
    expect(store.peek(chunk(4))).toBeUndefined();
    expect(fetches).toHaveLength(1);
  });

  test('callers at the same time share one fetch', async () => {
    const { store, fetches, nth } = setUp();
    const all = [0, 1, 2].map(() => store.get(chunk(0), forEver));
    await turn();
    expect(fetches).toHaveLength(1);
    nth(0).bring('x');
    const found = await Promise.all(all);
    expect(found.map(({ joined }) => joined)).toEqual([false, true, true]);
    for (const one of found) expect(textOf(one)).toBe('x'.repeat(CHUNK));
  });

  test('without any cache a chunk still reaches all who wait for it', async () => {
    const { store, nth, used } = setUp({ cacheBytes: 0 });
    const all = [0, 1, 2].map(() => store.get(chunk(0), forEver));
    await turn();
    nth(0).bring('x');
    const found = await Promise.all(all);
    await settle();
    for (const one of found) expect(textOf(one)).toBe('x'.repeat(CHUNK));
    for (const one of found) one.chunk.release();
    expect(used()).toBe(0);
  });

  test('versions, files, chunks and scopes are never mixed', async () => {
    const { store, fetches } = setUp();
    const requests = [
      chunk(0),
      chunk(1),
      chunk(0, { tag: 'e.b' }),
      chunk(0, { url: 'https://example.com/g' }),
      chunk(0, { scope: 'private' }),
    ];
    expect(new Set(requests.map(chunkKey)).size).toBe(requests.length);
    const all = requests.map((request) => store.get(request, forEver));
    await turn();
    expect(fetches).toHaveLength(requests.length);
    for (const [i, fetch] of fetches.entries()) fetch.bring(String(i));
    const texts = (await Promise.all(all)).map((found) => textOf(found)[0]);
    expect(texts).toEqual(['0', '1', '2', '3', '4']);
  });

  test('a failure reaches all callers, and the next caller fetches again', async () => {
    const { store, nth } = setUp();
    const all = [0, 1].map(() => store.get(chunk(0), forEver));
    await turn();
    nth(0).fail('origin-reset');
    for (const one of all) await expect(one).rejects.toMatchObject({ code: 'origin-reset' });
    const again = store.get(chunk(0), forEver);
    await turn();
    nth(1).bring('y');
    expect(await again).toMatchObject({ joined: false });
  });

  test('a caller that leaves does not disturb the others; the last one ends the fetch', async () => {
    const { store, nth, used } = setUp();
    const leaving = [new AbortController(), new AbortController()] as const;
    const all = leaving.map(({ signal }) => store.get(chunk(0), signal));
    await turn();
    leaving[0].abort(new Error('first left'));
    await expect(all[0]).rejects.toThrow('first left');
    expect(nth(0).signal.aborted).toBe(false);
    leaving[1].abort(new Error('second left'));
    await expect(all[1]).rejects.toThrow('second left');
    expect(nth(0).signal.aborted).toBe(true);
    // Bytes that still come in are given back, and a new request fetches again.
    const fresh = store.get(chunk(0), forEver);
    await turn();
    nth(0).bring('old');
    nth(1).bring('n');
    expect(textOf(await fresh)).toBe('n'.repeat(CHUNK));
    await settle();
    expect(used()).toBe(1);
  });

  test('a chunk on disk is not fetched, and is in memory afterwards', async () => {
    const disk = await openDisk();
    const before = setUp({ disk });
    const first = before.store.get(chunk(0), forEver);
    while (before.fetches.length === 0) await turn();
    before.nth(0).bring('x');
    const { chunk: stored } = await first;
    const digest = await stored.digest();
    await disk.flush();
    const after = setUp({ disk });
    const all = await Promise.all([0, 1].map(() => after.store.get(chunk(0), forEver)));
    expect(all.map(({ tier, joined }) => [tier, joined])).toEqual([
      ['disk', false],
      ['disk', true],
    ]);
    for (const found of all) expect(textOf(found)).toBe('x'.repeat(CHUNK));
    expect((await (all[0] as Found).chunk.digest()).equals(digest)).toBe(true);
    expect(await after.store.get(chunk(0), forEver)).toMatchObject({ tier: 'memory' });
    expect(after.fetches).toHaveLength(0);
  });

  test('a chunk on its way to disk keeps its memory until it is there', async () => {
    const disk = await openDisk();
    const { store, nth, fetches, used } = setUp({ disk, cacheBytes: 0 });
    const wanted = store.get(chunk(0), forEver);
    while (fetches.length === 0) await turn();
    nth(0).bring('x');
    (await wanted).chunk.release();
    await turn();
    expect(used()).toBe(1);
    await disk.flush();
    await settle();
    expect(used()).toBe(0);
  });

  test('says when bytes of a chunk last came in, while it is under way', async () => {
    const { store, nth, clock } = setUp();
    const wanted = store.get(chunk(0), forEver);
    await turn();
    expect(store.progressAt(chunk(0))).toBeUndefined();
    clock.now = 77;
    nth(0).onBytes(1);
    expect(store.progressAt(chunk(0))).toBe(77);
    expect(store.progressAt(chunk(1))).toBeUndefined();
    nth(0).bring('x');
    await wanted;
    expect(store.progressAt(chunk(0))).toBeUndefined();
  });

  test('a source that brings another number of bytes is at fault, not the client', async () => {
    const { store, nth } = setUp();
    const wanted = store.get(chunk(0), forEver);
    await turn();
    nth(0).bring('x', CHUNK - 1);
    await expect(wanted).rejects.toMatchObject({ code: 'internal' });
    expect(store.peek(chunk(0))).toBeUndefined();
  });

  test('an evicted chunk stays whole for its users, and is there for no others', async () => {
    const { store, nth, used } = setUp({ cacheBytes: COST });
    const bring = async (index: number) => {
      const wanted = store.get(chunk(index), forEver);
      await turn();
      nth(index).bring(String(index));
      return (await wanted).chunk;
    };
    const held = await bring(0);
    (await bring(1)).release();
    await settle();
    expect(held.data.toString()).toBe('0'.repeat(CHUNK));
    held.release();
    expect(held.data).toHaveLength(0);
    expect(() => held.retain()).toThrow(expect.objectContaining({ code: 'internal' }));
    expect(store.peek(chunk(0))).toBeUndefined();
    expect(used()).toBe(1);
  });

  test('whatever callers and sources do, every chunk is whole while used and no memory is lost', async () => {
    const random = seededRandom(11);
    const pick = (n: number) => Math.floor(random() * n);
    const { store, fetches, used, clock } = setUp({ cacheBytes: 3 * COST });
    const held: { found: Chunk; text: string }[] = [];
    const callers: AbortController[] = [];
    const open = new Set<Fetch>();
    let seen = 0;
    for (let i = 0; i < 3000; i++) {
      const index = pick(8);
      const caller = new AbortController();
      callers.push(caller);
      store.get(chunk(index), caller.signal).then(
        ({ chunk: found }) => held.push({ found, text: String(index) }),
        () => {},
      );
      clock.now += 300;
      if (random() < 0.3) store.hedge(chunk(index));
      if (random() < 0.4) callers[pick(callers.length)]?.abort(new Error('left'));
      await turn();
      for (; seen < fetches.length; seen++) open.add(fetches[seen] as Fetch);
      for (const fetch of open) {
        const chance = random();
        if (chance < 0.6) open.delete(fetch);
        if (chance < 0.5) fetch.bring(String(fetch.request.range.start / CHUNK));
        else if (chance < 0.6) fetch.fail(random() < 0.5 ? 'origin-reset' : 'wrong-range');
      }
      for (const { found, text } of held) expect(found.data.toString()).toBe(text.repeat(CHUNK));
      while (held.length > 5) held.splice(pick(held.length), 1)[0]?.found.release();
    }
    for (const fetch of open) fetch.fail('origin-reset');
    await settle();
    for (const { found } of held) found.release();
    // Only the cache still holds chunks.
    expect(used()).toBeLessThanOrEqual(3);
  });
});
