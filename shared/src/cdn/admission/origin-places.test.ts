import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type OriginPlace, OriginPlaces } from './origin-places.ts';

/** Enters an origin; throws if that is refused. */
function enter(places: OriginPlaces, origin: string, client: string | undefined): OriginPlace {
  const place = places.enter(origin, client);
  if (place === undefined) throw new Error(`${client} was refused ${origin}`);
  return place;
}

describe('OriginPlaces', () => {
  test('idle origins make room, the longest idle one first', () => {
    const places = new OriginPlaces({ max: 3, share: 3 });
    const used = ['a', 'b', 'c'].map((name) => enter(places, name, 'x'));
    used[1]?.leave(1);
    used[0]?.leave(2);
    used[2]?.leave(3);
    expect([places.size, places.inUse]).toEqual([3, 0]);
    expect(enter(places, 'd', 'y')).toMatchObject({ evicted: 'b', displaced: undefined });
    // An origin that is asked again is not idle.
    expect(enter(places, 'a', 'y').evicted).toBeUndefined();
    expect(enter(places, 'e', 'y').evicted).toBe('c');
  });

  test('one client has at most its share of origins, but any number of requests to each', () => {
    const places = new OriginPlaces({ max: 8, share: 2 });
    const first = enter(places, 'a', 'x');
    enter(places, 'b', 'x');
    enter(places, 'b', 'x');
    expect(places.enter('c', 'x')).toBeUndefined();
    enter(places, 'c', 'y');
    expect(places.enter('c', 'x')).toBeUndefined();
    first.leave(0);
    first.leave(0);
    enter(places, 'c', 'x');
    expect(places.inUse).toBe(2);
  });

  test('if all are in use, the client with most loses its newest to a client with fewer', () => {
    const places = new OriginPlaces({ max: 4, share: 3 });
    const held = ['a', 'b', 'c'].map((name) => enter(places, name, 'x'));
    enter(places, 'd', 'y');
    expect(enter(places, 'e', 'z').displaced).toEqual({ origin: 'c', client: 'x' });
    // A request that was cut off ends later, and has no place to give back.
    held[2]?.leave(5);
    expect([places.size, places.inUse]).toEqual([4, 4]);
    // Now no client has more than a newcomer would.
    expect(places.enter('f', 'z')).toBeUndefined();
    expect(places.enter('f', 'x')).toBeUndefined();
  });

  test('an origin that others use as well is not cut off', () => {
    const places = new OriginPlaces({ max: 2, share: 2 });
    enter(places, 'a', 'x');
    enter(places, 'b', 'x');
    enter(places, 'b', 'y');
    expect(enter(places, 'c', 'z').displaced).toEqual({ origin: 'a', client: 'x' });
  });

  test('clients with many origins do not protect each other by using the same ones', () => {
    const places = new OriginPlaces({ max: 2, share: 2 });
    const held = ['x', 'y'].flatMap((client) => ['a', 'b'].map((o) => enter(places, o, client)));
    expect(enter(places, 'c', 'z').displaced).toEqual({ origin: 'b', client: 'x' });
    expect(held.map((place) => place.lost)).toEqual([false, true, false, true]);
    for (const place of held) place.leave(1);
    expect([places.size, places.inUse]).toEqual([2, 1]);
  });

  test('a client that stands for many has no share, but still gives way', () => {
    const places = new OriginPlaces({ max: 3, share: 1 });
    for (const name of ['a', 'b', 'c']) places.enter(name, 'node', false);
    expect(places.inUse).toBe(3);
    expect(enter(places, 'd', 'x').displaced).toEqual({ origin: 'c', client: 'node' });
    expect(enter(places, 'e', undefined).displaced).toEqual({ origin: 'b', client: 'node' });
  });

  test('idle origins lose their places after a time', () => {
    const places = new OriginPlaces({ max: 9, share: 9 });
    enter(places, 'a', 'x').leave(10);
    enter(places, 'b', 'x').leave(20);
    enter(places, 'c', 'x');
    expect(places.takeIdle(20)).toEqual(['a']);
    expect([places.size, places.inUse]).toEqual([2, 1]);
  });

  test('all counts hold, and a client without origins is refused only if all are in use', () => {
    const step = fc.record({
      leave: fc.boolean(),
      client: fc.constantFrom('x', 'y', 'z'),
      origin: fc.integer({ min: 0, max: 12 }),
      which: fc.nat(50),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const places = new OriginPlaces({ max: 6, share: 4 });
        const under: { client: string; origin: number; place: OriginPlace }[] = [];
        let now = 0;
        for (const { leave, client, origin, which } of steps) {
          now++;
          if (leave) {
            const [one] = under.splice(which % Math.max(1, under.length), 1);
            one?.place.leave(now);
            continue;
          }
          const place = places.enter(String(origin), client);
          if (place === undefined) {
            const own = new Set(under.filter((u) => u.client === client).map((u) => u.origin));
            if (own.size === 0) expect(new Set(under.map((u) => u.origin)).size).toBe(6);
            continue;
          }
          const cut = place.displaced?.origin;
          for (let i = under.length - 1; i >= 0; i--) {
            if (String(under[i]?.origin) === cut) under.splice(i, 1);
          }
          under.push({ client, origin, place });
          expect(places.size).toBeLessThanOrEqual(6);
          expect(places.inUse).toBe(new Set(under.map((u) => u.origin)).size);
        }
      }),
      { seed: 11, numRuns: 300 },
    );
  });
});
