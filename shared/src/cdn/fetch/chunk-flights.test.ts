import { describe, expect, test } from '@jest/globals';
import type { Route } from '../routing/route.ts';
import { ChunkFlights, type Ways } from './chunk-flights.ts';

const forEver = new AbortController().signal;
const path = (hops: number, salt = '') => ({ hops, salt });
const toPeer: Route<{ name: string }> = { to: 'peer', peer: { name: 'b' }, keep: true };

/** Ways to a chunk that count their uses, and end when the test says so. */
function ways(route: Route<{ name: string }> | undefined) {
  const begun = { forward: 0, own: 0 };
  let end: (chunk: string) => void = () => {};
  const wait = () =>
    new Promise<string>((resolve) => {
      end = resolve;
    });
  const made: Ways<{ name: string }, string> = {
    route: () => route,
    forward: () => {
      begun.forward++;
      return wait();
    },
    own: () => {
      begun.own++;
      return wait();
    },
  };
  return { ways: made, begun, end: (chunk: string) => end(chunk) };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('requests for one chunk', () => {
  test('with equally many hops share a forwarded fetch', async () => {
    const flights = new ChunkFlights<string>();
    const { ways: w, begun, end } = ways(toPeer);
    const first = flights.get('c', path(1), forEver, w);
    const second = flights.get('c', path(1), forEver, w);
    await turn();
    expect([first.joined, second.joined, begun.forward]).toEqual([false, true, 1]);
    end('bytes');
    expect(await Promise.all([first.result, second.result])).toEqual(['bytes', 'bytes']);
  });

  test('with more hops do not wait for requests with fewer', async () => {
    const flights = new ChunkFlights<string>();
    const { ways: w, begun } = ways(toPeer);
    flights.get('c', path(0), forEver, w);
    expect(flights.get('c', path(1), forEver, w).joined).toBe(false);
    await turn();
    expect(begun.forward).toBe(2);
  });

  test('with a salt do not wait for requests without it, which wait for the late node', async () => {
    const flights = new ChunkFlights<string>();
    const { ways: w, begun } = ways(toPeer);
    flights.get('c', path(1), forEver, w);
    expect(flights.get('c', path(1, 'a'), forEver, w).joined).toBe(false);
    expect(flights.get('c', path(1, 'a'), forEver, w).joined).toBe(true);
    await turn();
    expect(begun.forward).toBe(2);
  });

  test("all join the node's own fetch, which waits for no other node", async () => {
    const flights = new ChunkFlights<string>();
    const { ways: w, begun } = ways(toPeer);
    flights.own('c', forEver, w.own);
    expect([0, 1, 2].map((hops) => flights.get('c', path(hops), forEver, w).joined)).toEqual([
      true,
      true,
      true,
    ]);
    await turn();
    expect(begun).toEqual({ forward: 0, own: 1 });
  });

  test('begin a fetch of the node itself if routing says so, or if it is alone', async () => {
    for (const route of [{ to: 'origin' } as const, undefined]) {
      const flights = new ChunkFlights<string>();
      const { ways: w, begun } = ways(route);
      flights.get('c', path(0), forEver, w);
      expect(flights.hasOwn('c')).toBe(true);
      await turn();
      expect(begun).toEqual({ forward: 0, own: 1 });
    }
  });
});
