import { describe, expect, test } from '@jest/globals';
import { edgesWithRoom, readDepotNeed } from './depot-room.ts';

const need = (query: string) => readDepotNeed(new URLSearchParams(query));
const room = { bytes: 100, seconds: 60 };
const edge = (name: string, rttMs: number, freeBytes = 100, maxSeconds = 60, healthy = true) => ({
  ...{ name, rttMs, healthy, depot: { freeBytes, maxSeconds } },
});
const names = (edges: readonly { readonly name: string }[]) => edges.map(({ name }) => name);
const nothing = () => undefined;

describe('the query of a list of edges', () => {
  test('names bytes, seconds and an edge; other parameters have no meaning', () => {
    expect(need('bytes=5&seconds=9&near=paris&x=1')).toEqual({
      room: { bytes: 5, seconds: 9 },
      near: 'paris',
    });
    expect(need('bytes=0')).toEqual({ room: { bytes: 0, seconds: 0 }, near: undefined });
    expect(need('x=1')).toEqual({ room: undefined, near: undefined });
  });

  test.each([
    ['bytes=-1', /bytes must be a whole number/],
    ['bytes=1e3', /bytes/],
    ['bytes=', /bytes/],
    ['bytes=9999999999999999', /bytes/],
    ['seconds=0', /seconds must be a whole number from 1/],
    ['bytes=1&bytes=2', /bytes is given twice/],
    ['near=', /near must be the name/],
    [`near=${'x'.repeat(101)}`, /near/],
  ])('is refused if it is %s, with the parameter named', (query, message) => {
    expect(() => need(query)).toThrow(
      expect.objectContaining({ code: 'bad-request', detail: expect.stringMatching(message) }),
    );
  });
});

describe('edges with room', () => {
  test('are the healthy ones whose depots take so many bytes for so long', () => {
    const edges = [
      ...[edge('full', 1, 99), edge('short', 1, 100, 59), edge('ill', 1, 100, 60, false)],
      ...[{ name: 'none', rttMs: 1, healthy: true, depot: undefined }, edge('able', 9)],
    ];
    expect(names(edgesWithRoom(edges, room, nothing))).toEqual(['able']);
  });

  test('come by round trip as long as nothing has been observed, the listing edge first', () => {
    const edges = [edge('far', 80), edge('near', 8), edge('self', 0), edge('b', 20), edge('a', 20)];
    expect(names(edgesWithRoom(edges, room, nothing))).toEqual(['self', 'near', 'a', 'b', 'far']);
  });

  test('come by observed throughput, and between these stand those that have sent nothing', () => {
    // Throughput times round trip is 8,000 at most edges: at 40 ms that is 200 a second.
    const speeds: Record<string, number> = { slow: 5, a: 1000, b: 100 };
    const edges = [edge('slow', 4), edge('b', 80), edge('new', 40), edge('a', 8)];
    const sorted = edgesWithRoom(edges, room, (name) => speeds[name]);
    expect(names(sorted)).toEqual(['a', 'new', 'b', 'slow']);
  });

  test('are bounded in number', () => {
    const edges = Array.from({ length: 300 }, (_, i) => edge(`e${i}`, i + 1));
    expect(names(edgesWithRoom(edges, room, nothing))).toEqual(
      Array.from({ length: 100 }, (_, i) => `e${i}`),
    );
  });
});
