import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../base/clock.ts';
import { chooseNear, type NearEdge } from './nearest-edge.ts';

const OWN: NearEdge = {
  name: 'own',
  rttMs: undefined,
  km: undefined,
  peerMs: 0,
  load: 0,
  weight: 1,
  room: 1,
};

const edge = (name: string, rest: Partial<NearEdge> = {}): NearEdge => ({ ...OWN, name, ...rest });
const always = () => true;
const never = () => false;

/** Returns how often each edge comes first in many answers. */
function firsts(
  edges: readonly NearEdge[],
  own: NearEdge = edges[0] as NearEdge,
  mayExplore: (name: string) => boolean = never,
): Record<string, number> {
  const random = seededRandom(42);
  const counts: Record<string, number> = {};
  for (let i = 0; i < 1000; i++) {
    const name = chooseNear(edges, own, mayExplore, random).edges[0]?.name ?? 'none';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('chooseNear', () => {
  test('the nearest edge by measured round trips comes first, wherever the client asked', () => {
    const edges = [
      edge('own', { rttMs: 80 }),
      edge('b', { rttMs: 10, peerMs: 75 }),
      edge('c', { rttMs: 40, peerMs: 50 }),
    ];
    expect(firsts(edges)).toEqual({ b: 1000 });
    const { edges: ordered } = chooseNear(edges, edges[0] as NearEdge, never, seededRandom(1));
    expect(ordered.map(({ name }) => name)).toEqual(['b', 'c', 'own']);
  });

  test('without any figure clients stay at the asked edge and those beside it', () => {
    const edges = [OWN, edge('beside', { peerMs: 1 }), edge('far', { peerMs: 90 })];
    const counts = firsts(edges);
    expect(Object.keys(counts).toSorted()).toEqual(['beside', 'own']);
    expect(counts.own).toBeGreaterThan(400);
    expect(counts.beside).toBeGreaterThan(400);
  });

  test('a distance on the ground stands in for a round trip, and a round trip wins over it', () => {
    const edges = [
      edge('own', { km: 9000 }),
      edge('b', { km: 300, peerMs: 200 }),
      edge('c', { km: 5000, rttMs: 3, peerMs: 200 }),
    ];
    expect(firsts(edges.slice(0, 2))).toEqual({ b: 1000 });
    expect(firsts(edges)).toEqual({ c: 1000 });
  });

  test('an edge that nobody has measured counts as far as the way through the asked one', () => {
    const edges = [edge('own', { rttMs: 30 }), edge('b', { peerMs: 30 }), edge('c', { rttMs: 55 })];
    const { edges: ordered } = chooseNear(edges, edges[0] as NearEdge, never, seededRandom(1));
    expect(ordered.map(({ name }) => name)).toEqual(['own', 'c', 'b']);
  });

  test('one answer in eight sends a client to an unmeasured edge that may be much nearer', () => {
    const edges = [edge('own', { rttMs: 100 }), edge('b', { peerMs: 95 })];
    const counts = firsts(edges, edges[0], always);
    expect(counts.b).toBeGreaterThan(90);
    expect(counts.b).toBeLessThan(160);
    expect(firsts(edges, edges[0], never)).toEqual({ own: 1000 });
  });

  test('no client is sent to be measured where the asked edge is nearer for certain', () => {
    // A round trip of 10 ms here and 95 ms from there: it is at least 85 ms away.
    const edges = [edge('own', { rttMs: 10 }), edge('b', { peerMs: 95 })];
    expect(firsts(edges, edges[0], always)).toEqual({ own: 1000 });
  });

  test('no client is sent to be measured where nothing can be measured', () => {
    const edges = [OWN, edge('b', { peerMs: 95 })];
    expect(firsts(edges, OWN, always)).toEqual({ own: 1000 });
  });

  test('a busy edge gives way to one that is a little farther', () => {
    const near = { rttMs: 20, peerMs: 0 };
    const farther = edge('b', { rttMs: 30, peerMs: 15 });
    expect(firsts([edge('own', near), farther])).toEqual({ own: 1000 });
    expect(firsts([edge('own', { ...near, load: 20 }), farther])).toEqual({ b: 1000 });
    // Its weight says that it can take more.
    expect(firsts([edge('own', { ...near, load: 20, weight: 25 }), farther])).toEqual({
      own: 1000,
    });
  });

  test('of equally near edges the less busy one gets more clients, and not all of them', () => {
    const edges = [
      edge('own', { rttMs: 20, load: 2 }),
      edge('b', { rttMs: 20, load: 1 }),
      edge('c', { rttMs: 20, load: 2 }),
    ];
    const counts = firsts(edges) as { own: number; b: number; c: number };
    expect(counts.b).toBeGreaterThan(counts.own);
    expect(counts.b).toBeGreaterThan(counts.c);
    expect(counts.own).toBeGreaterThan(0);
  });

  test('equally near edges get clients in proportion to their weights', () => {
    const counts = firsts([edge('own', { weight: 3 }), edge('b', { weight: 1 })]);
    expect(counts.own).toBeGreaterThan(650);
    expect(counts.b).toBeGreaterThan(150);
  });

  test('an edge without room comes last, unless none has any', () => {
    const full = edge('own', { rttMs: 1, room: 0.01 });
    const edges = [full, edge('b', { rttMs: 90, peerMs: 80 })];
    expect(firsts(edges)).toEqual({ b: 1000 });
    const { edges: ordered } = chooseNear(edges, full, never, seededRandom(1));
    expect(ordered.map(({ name }) => name)).toEqual(['b', 'own']);
    expect(firsts([full])).toEqual({ own: 1000 });
  });

  test('the asked edge helps to judge others even if no client may be sent to it', () => {
    const own = edge('own', { rttMs: 5 });
    const edges = [edge('far', { peerMs: 90 }), edge('near', { peerMs: 2 })];
    expect(firsts(edges, own)).toEqual({ near: 1000 });
  });

  test('no edge at all gives an empty order', () => {
    expect(chooseNear([], OWN, always, seededRandom(1))).toEqual({ edges: [], explores: false });
  });

  const edges = fc.array(
    fc.record({
      rttMs: fc.option(fc.double({ min: 0, max: 500, noNaN: true }), { nil: undefined }),
      km: fc.option(fc.double({ min: 0, max: 20_000, noNaN: true }), { nil: undefined }),
      peerMs: fc.double({ min: 0, max: 500, noNaN: true }),
      load: fc.nat(1000),
      weight: fc.double({ min: 0.01, max: 1000, noNaN: true }),
      room: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { minLength: 1, maxLength: 12 },
  );

  test('every edge is in the answer once, whatever is known of them', () => {
    fc.assert(
      fc.property(edges, fc.nat(), (given, seed) => {
        const all = given.map((one, i) => edge(`e${i}`, one));
        const { edges: ordered } = chooseNear(all, all[0] as NearEdge, always, seededRandom(seed));
        expect(ordered).toHaveLength(all.length);
        expect(new Set(ordered)).toEqual(new Set(all));
      }),
    );
  });

  test('among measured edges with the same load and room, the first is no farther than a quarter and 2 ms', () => {
    const measured = fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(measured, fc.nat(), (given, seed) => {
        const all = given.map((rttMs, i) => edge(`e${i}`, { rttMs, peerMs: i }));
        const choice = chooseNear(all, all[0] as NearEdge, always, seededRandom(seed));
        const first = choice.edges[0]?.rttMs as number;
        expect(choice.explores).toBe(false);
        expect(first).toBeLessThanOrEqual((Math.min(...given) + 5) * 1.25 - 5 + 1e-9);
      }),
    );
  });
});
