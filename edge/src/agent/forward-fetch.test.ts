import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import type { Route } from '@millrace/shared/cdn/routing/route';
import { MemoryCache } from '../cache/memory-cache.ts';
import { newPurge, Purges } from '../cache/purges.ts';
import { sha256 } from '../files/chunk.ts';
import { ChunkMemory } from '../files/chunk-memory.ts';
import { INGRESS, type Path } from '../files/path.ts';
import type { ForwardTarget } from '../peers/membership.ts';
import type { Network, Onward } from '../peers/network.ts';
import type { PeerChunk } from '../peers/peer-client.ts';
import { ChunkStore } from './chunk-store.ts';

const CHUNK = 65_536;
const LATE_MS = 1000;
const forEver = new AbortController().signal;
const request = {
  version: {
    url: 'https://example.com/file',
    scope: 'public' as const,
    length: 10 * CHUNK,
    validators: { etag: '"1"' },
    tag: 'e.1',
    fields: {},
  },
  range: { start: 0, end: CHUNK },
};
const broken = (peer: string) => new PeerFailure(peer, new MillraceError('origin-reset'));

interface Asked {
  readonly peer: string;
  readonly attempt: number;
  readonly path: Path;
  readonly signal: AbortSignal;
  readonly observer: AttemptObserver;
  bring(text: string): Promise<void>;
  fail(error: unknown): void;
}

/**
 * A store whose network asks the given peers one after the other, then the origin.
 *
 * @param keep whether chunks belong to this node when they pass through
 */
function setUp(peers: string[], keep = false) {
  const memory = new ChunkMemory({ slotBytes: CHUNK, keepBytes: 64 * CHUNK, poison: true });
  const clock = { now: 0 };
  const asked: Asked[] = [];
  const silent: string[] = [];
  const reported: unknown[] = [];
  const heard = new Map<string, number>();
  const origin = { fetches: 0 };
  const buffer = (text: string) => {
    const made = memory.allocate(CHUNK);
    made.data.fill(text);
    return made;
  };
  const network = {
    route(_request: unknown, _path: Path, _attempt: number, tried: ReadonlySet<string>) {
      const name = peers.find((peer) => !tried.has(peer));
      const route = name && { to: 'peer', peer: { name } as ForwardTarget, keep };
      return (route ?? { to: 'origin' }) as Route<ForwardTarget>;
    },
    fetch: (
      { name: peer }: ForwardTarget,
      _request: unknown,
      { attempt, path }: Onward,
      signal: AbortSignal,
      observer: AttemptObserver,
    ) =>
      new Promise<PeerChunk>((resolve, reject) => {
        observer.onSent();
        asked.push({
          ...{ peer, attempt, path, signal, observer },
          async bring(text) {
            const made = buffer(text);
            resolve({ buffer: made, digest: await sha256(made.data) });
          },
          fail: reject,
        });
      }),
    lateAfterMs: () => LATE_MS,
    heardAt: (peer: string) => heard.get(peer),
    isSlow: () => false,
    onSilent: (peer: string) => silent.push(peer),
  };
  const purges = new Purges();
  const store = new ChunkStore({
    cache: new MemoryCache(2 ** 22),
    purges,
    memory,
    disk: undefined,
    source: {
      async fetch(_request, _attempt, _signal, observer) {
        origin.fetches++;
        observer.onSent();
        return buffer('o');
      },
      lateAfterMs: () => LATE_MS,
    },
    network: network as unknown as Network,
    now: () => clock.now,
    onFetched: (hop, requests) => reported.push([hop, requests]),
  });
  const nth = async (n: number) => {
    while (asked[n] === undefined) await turn();
    return asked[n];
  };
  return { store, clock, asked, nth, silent, heard, origin, memory, reported, purges };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a chunk that belongs to another node', () => {
  test('comes from there, and is not kept by the node where it only enters the network', async () => {
    const { store, nth, origin, memory } = setUp(['a']);
    const got = store.get(request, forEver);
    await (await nth(0)).bring('a');
    const { chunk, tier } = await got;
    expect([tier, chunk.data.toString('latin1', 0, 2), origin.fetches]).toEqual(['peer', 'aa', 0]);
    expect(store.peek(request)).toBeUndefined();
    chunk.release();
    await turn();
    expect(memory.figures.usedBytes).toBe(0);
  });

  test('is copied by the node where it enters if it often does, until it is purged', async () => {
    const { store, nth, asked, purges, memory } = setUp(['a']);
    for (const n of [0, 1, 2]) {
      expect(store.peek(request)).toBeUndefined();
      const got = store.get(request, forEver);
      await (await nth(n)).bring('a');
      (await got).chunk.release();
      await turn();
    }
    const { chunk, tier } = await store.get(request, forEver);
    expect([tier, chunk.data[0], asked.length]).toEqual(['memory', 'a'.charCodeAt(0), 3]);
    chunk.release();
    await purges.purge(newPurge({ kind: 'all' }, 0), false);
    expect(store.peek(request)).toBeUndefined();
    expect(memory.figures.usedBytes).toBe(0);
  });

  test('is kept by a node that it passes through', async () => {
    const { store, nth } = setUp(['a'], true);
    const got = store.get(request, forEver);
    await (await nth(0)).bring('a');
    (await got).chunk.release();
    expect(store.peek(request)?.data[0]).toBe('a'.charCodeAt(0));
  });

  test('is asked for once, however many clients want it', async () => {
    const { store, nth, asked } = setUp(['a']);
    const all = [1, 2, 3].map(() => store.get(request, forEver));
    await (await nth(0)).bring('a');
    const found = await Promise.all(all);
    expect(found.map(({ joined }) => joined)).toEqual([false, true, true]);
    expect(asked).toHaveLength(1);
    for (const { chunk } of found) chunk.release();
  });

  test('is requested at once from the next node if one fails, which is named to it', async () => {
    const { store, nth } = setUp(['a', 'b']);
    const got = store.get(request, forEver);
    (await nth(0)).fail(broken('a'));
    const second = await nth(1);
    expect([second.peer, second.path.avoid]).toEqual(['b', ['a']]);
    await second.bring('b');
    expect((await got).tier).toBe('peer');
  });

  test('comes from the origin if no node is left, and is kept', async () => {
    const { store, nth, origin, reported } = setUp(['a']);
    const got = store.get(request, forEver, { ...INGRESS, hops: 1 });
    (await nth(0)).fail(broken('a'));
    expect((await got).tier).toBe('source');
    expect(origin.fetches).toBe(1);
    expect(store.peek(request)).toBeDefined();
    // A failed request was replaced; it was not late.
    expect(reported).toEqual([
      ['origin', 1],
      [2, 1],
    ]);
  });

  test('fails with the error of the origin, without asking other nodes', async () => {
    const { store, nth, asked } = setUp(['a', 'b']);
    const got = store.get(request, forEver);
    const gone = new MillraceError('origin-gone');
    (await nth(0)).fail(gone);
    await expect(got).rejects.toBe(gone);
    expect(asked).toHaveLength(1);
  });
});

describe('a node that says nothing', () => {
  test('gets a competitor, which is not told to avoid it, and is reported as silent', async () => {
    const { store, nth, clock, silent, asked, reported } = setUp(['a', 'b']);
    const got = store.get(request, forEver);
    const first = await nth(0);
    clock.now = LATE_MS - 1;
    store.hedge(request);
    expect(asked).toHaveLength(1);
    clock.now = LATE_MS;
    store.hedge(request);
    const second = await nth(1);
    expect([second.peer, second.path.avoid, silent]).toEqual(['b', [], ['a']]);
    await second.bring('b');
    expect((await got).tier).toBe('peer');
    expect(first.signal.aborted).toBe(true);
    expect(reported).toEqual([[1, 2]]);
  });

  test('but answers others is only busy, and gets more time', async () => {
    const { store, nth, clock, silent, heard, asked } = setUp(['a', 'b']);
    const got = store.get(request, forEver);
    const first = await nth(0);
    clock.now = 2 * LATE_MS;
    heard.set('a', clock.now - 1);
    store.hedge(request);
    expect([asked.length, silent]).toEqual([1, []]);
    await first.bring('a');
    expect((await got).tier).toBe('peer');
  });

  test('but is getting the chunk itself is waited for', async () => {
    const { store, nth, clock, asked } = setUp(['a', 'b']);
    const got = store.get(request, forEver);
    const first = await nth(0);
    clock.now = LATE_MS;
    first.observer.onBytes(CHUNK + 1); // more than half of the way: it has all of it
    expect(store.share(request, INGRESS)).toBeCloseTo(0.5, 2);
    store.hedge(request);
    expect(asked).toHaveLength(1);
    await first.bring('a');
    (await got).chunk.release();
  });

  test('has no competitor while it receives the chunk slowly, but has one if it sends it slowly', async () => {
    const { store, nth, clock, asked } = setUp(['a', 'b']);
    const got = store.get(request, forEver);
    const first = await nth(0);
    clock.now = 3 * LATE_MS;
    first.observer.onBytes(CHUNK / 2); // a quarter of the way: another nine times as long
    store.hedge(request);
    expect(asked).toHaveLength(1);
    clock.now = 6 * LATE_MS;
    first.observer.onBytes(CHUNK / 2);
    store.hedge(request);
    const second = await nth(1);
    await second.bring('b');
    (await got).chunk.release();
  });
});

test('a request that has been forwarded does not wait for one that has not', async () => {
  const { store, nth, asked } = setUp(['a']);
  const own = store.get(request, forEver);
  const first = await nth(0);
  // The other node has a different view: it asks back, while this one waits for it.
  const forwarded = store.get(request, forEver, { hops: 1, salt: '', via: ['a'], avoid: [] });
  const second = await nth(1);
  expect(asked).toHaveLength(2);
  await second.bring('b');
  expect((await forwarded).chunk.data[0]).toBe('b'.charCodeAt(0));
  await first.bring('a');
  (await own).chunk.release();
});

test('a request with a salt keeps the next node from the late ones as well', async () => {
  const { store, clock, nth } = setUp(['a', 'b', 'c']);
  const got = store.get(request, forEver);
  for (const [n, avoid] of [[], [], ['a', 'b']].entries()) {
    expect((await nth(n)).path.avoid).toEqual(avoid);
    clock.now += 10 * LATE_MS;
    if (n < 2) store.hedge(request);
  }
  await (await nth(2)).bring('c');
  (await got).chunk.release();
});
