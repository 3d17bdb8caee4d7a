/** Chunks whose bodies are already on their way when the store hears of them. */

import { describe, expect, test } from '@jest/globals';
import {
  CHUNK,
  chunk,
  forEver,
  LATE_MS,
  settle,
  setUp,
  textOf,
  turn,
} from './testing/store-stage.ts';

describe('ChunkStore', () => {
  test('a body that is already on its way becomes the chunk', async () => {
    const { store, nth, fetches, start } = setUp();
    const body = (attempt: number, signal: AbortSignal, o: Parameters<typeof start>[3]) =>
      start(chunk(0), attempt, signal, o);
    expect(store.adopt(chunk(0), body)).toBe(true);
    expect(store.adopt(chunk(0), body)).toBe(false);
    const wanted = store.get(chunk(0), forEver);
    await turn();
    expect(fetches).toHaveLength(1);
    nth(0).bring('x');
    expect(await wanted).toMatchObject({ tier: 'source', joined: true });
    expect(store.adopt(chunk(0), body)).toBe(false);
  });

  test('a body that no caller waits for is read to the end, and kept', async () => {
    const { store, nth, start } = setUp();
    store.adopt(chunk(0), (attempt, signal, o) => start(chunk(0), attempt, signal, o));
    const leaving = new AbortController();
    const wanted = store.get(chunk(0), leaving.signal);
    await turn();
    leaving.abort(new Error('left'));
    await expect(wanted).rejects.toThrow('left');
    expect(nth(0).signal.aborted).toBe(false);
    nth(0).bring('x');
    await settle();
    expect(store.peek(chunk(0))?.data.toString()).toBe('x'.repeat(CHUNK));
  });

  test('a body that breaks fails no caller that comes later', async () => {
    const { store, nth, start, used } = setUp();
    store.adopt(chunk(0), (attempt, signal, o) => start(chunk(0), attempt, signal, o));
    await turn();
    nth(0).fail('origin-reset');
    await settle();
    const wanted = store.get(chunk(0), forEver);
    await turn();
    nth(1).bring('x');
    expect(await wanted).toMatchObject({ tier: 'source', joined: false });
    await settle();
    expect(used()).toBe(1);
  });

  test('a late body gets a request beside it', async () => {
    const { store, nth, fetches, clock, start, reported } = setUp();
    store.adopt(chunk(0), (attempt, signal, o) => start(chunk(0), attempt, signal, o));
    const wanted = store.get(chunk(0), forEver);
    await turn();
    store.hedge(chunk(0));
    expect(fetches).toHaveLength(1);
    clock.now = LATE_MS;
    store.hedge(chunk(0));
    store.hedge(chunk(99));
    expect([fetches.length, nth(1).attempt]).toEqual([2, 1]);
    nth(1).bring('y');
    expect(textOf(await wanted)).toBe('y'.repeat(CHUNK));
    expect(nth(0).signal.aborted).toBe(true);
    expect(reported).toEqual([['origin', 2]]);
  });
});
