/** The agent's shell over a real store: what races between requests do to windows (NSDI 5.5). */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { SlicePlan } from '@millrace/shared/cdn/chunks/chunk-plan';
import { FIRST_CHUNK_TIMEOUT_MS } from '@millrace/shared/cdn/delivery/retry-timer';
import { MemoryCache } from '../cache/memory-cache.ts';
import { ChunkMemory } from '../files/chunk-memory.ts';
import { ChunkStore } from './chunk-store.ts';
import { Delivery } from './delivery.ts';

const CHUNK = 65_536;
const CHUNKS = 4;
/** Window that a response begins with, in chunks of this size. */
const FIRST_WINDOW = 4;
const LATE_MS = 1000;
const version = {
  url: 'https://example.com/file',
  scope: 'public' as const,
  length: CHUNKS * CHUNK,
  validators: { etag: '"1"' },
  tag: 'e.1',
  fields: {},
};
const unlimited = { waitMs: () => 0, sent() {}, fetched() {}, release() {} };
const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  jest.useRealTimers();
  await Promise.all(ends.splice(0).map((end) => end()));
});

/** The response to a client on loopback that reads everything. */
async function responseToClient(): Promise<ServerResponse> {
  const answered = Promise.withResolvers<ServerResponse>();
  const server = createServer((_req, res) => answered.resolve(res));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  ends.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return answered.promise;
}

/** A store whose source answers when the test says so: `bring(chunk, attempt)`. */
function setUp() {
  const memory = new ChunkMemory({ slotBytes: CHUNK, keepBytes: 16 * CHUNK, poison: true });
  const clock = { now: 0 };
  const requests = new Map<string, () => void>();
  const store = new ChunkStore({
    cache: new MemoryCache(2 ** 24),
    memory,
    disk: undefined,
    source: {
      lateAfterMs: () => LATE_MS,
      fetch: (request, attempt, _signal, observer) =>
        new Promise((resolve) => {
          observer.onSent();
          const bring = () => resolve(memory.allocate(CHUNK));
          requests.set(`${request.range.start / CHUNK}.${attempt}`, bring);
        }),
    },
    network: undefined,
    now: () => clock.now,
  });
  /** @throws Error if the store has not sent that request */
  const bring = (chunk: number, attempt: number) => {
    const answer = requests.get(`${chunk}.${attempt}`);
    if (answer === undefined) throw new Error(`request ${chunk}.${attempt} was not sent`);
    answer();
  };
  /** Begins a response. @returns window sizes, one for each chunk, and the response's end */
  const deliver = async () => {
    const windows: number[] = [];
    const controller = new AbortController();
    const delivery = new Delivery({
      res: await responseToClient(),
      version,
      directUrl: undefined,
      grant: undefined,
      client: 'client',
      plan: {
        slices: new SlicePlan([{ start: 0, end: version.length }], CHUNK),
        inOrder: true,
        parts: undefined,
      },
      chunkBytes: CHUNK,
      store,
      admission: unlimited,
      signal: controller.signal,
      now: () => clock.now,
      random: () => 0.5,
      spare: () => true,
      waitsForMemory: () => true,
      begin() {},
      observe: {
        chunk() {},
        retry() {},
        sent() {},
        taken() {},
        window: (size) => windows.push(size),
      },
    });
    const ended = delivery.run();
    // A test that fails leaves the response unfinished, with timers that would never stop.
    ends.push(async () => {
      controller.abort(new Error('the test is over'));
      await ended.catch(() => {});
    });
    return { windows, ended };
  };
  return { clock, store, bring, deliver };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a response's window", () => {
  test('shrinks when the second request wins, though both attempts share one fetch', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const { clock, bring, deliver } = setUp();
    const { windows, ended } = await deliver();
    await turn();
    clock.now = FIRST_CHUNK_TIMEOUT_MS;
    jest.advanceTimersByTime(FIRST_CHUNK_TIMEOUT_MS);
    await turn();
    bring(0, 1);
    await turn();
    expect(windows).toEqual([FIRST_WINDOW - 1]);
    // The others come at last by their first requests, which is no loss.
    for (const chunk of [1, 2, 3]) bring(chunk, 0);
    await ended;
    expect(windows.slice(1)).toEqual([FIRST_WINDOW - 1, FIRST_WINDOW - 1, FIRST_WINDOW - 1]);
  });

  test('shrinks as well if the request that won was sent for another response', async () => {
    const { clock, store, bring, deliver } = setUp();
    const all = [await deliver(), await deliver()];
    await turn();
    clock.now = LATE_MS;
    store.hedge({ version, range: { start: 0, end: CHUNK } });
    bring(0, 1);
    await turn();
    expect(all.map(({ windows }) => windows)).toEqual([[FIRST_WINDOW - 1], [FIRST_WINDOW - 1]]);
    for (const chunk of [1, 2, 3]) bring(chunk, 0);
    await Promise.all(all.map(({ ended }) => ended));
  });

  test('keeps its size if the first request wins the race', async () => {
    const { clock, store, bring, deliver } = setUp();
    const { windows, ended } = await deliver();
    await turn();
    clock.now = LATE_MS;
    store.hedge({ version, range: { start: 0, end: CHUNK } });
    bring(0, 0);
    await turn();
    // The first chunk of a response counts as fast.
    expect(windows[0]).toBeGreaterThanOrEqual(FIRST_WINDOW);
    for (const chunk of [1, 2, 3]) bring(chunk, 0);
    await ended;
  });
});
