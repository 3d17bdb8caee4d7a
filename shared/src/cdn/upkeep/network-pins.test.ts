import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isLeased, type NetworkPin, NetworkPins } from './network-pins.ts';

const pin = (id: string, at: number, expiresAt: number, more: Partial<NetworkPin> = {}) => ({
  id,
  url: `https://a.example/${id}`,
  bytes: 10,
  tag: 'e.1',
  length: 10,
  proof: '00',
  at,
  expiresAt,
  until: Math.max(at, expiresAt),
  ...more,
});
const leases = (pins: NetworkPins) => pins.pins.map(({ id, expiresAt }) => [id, expiresAt]).sort();

describe('NetworkPins', () => {
  test('a node that was away learns what was pinned, and then agrees with the others', () => {
    const [there, away] = [new NetworkPins(), new NetworkPins()];
    there.merge([pin('a', 0, 100), pin('b', 5, 50)], 5);
    expect(away.digest(6)).not.toBe(there.digest(6));
    expect(away.merge(there.pins, 6)).toHaveLength(2);
    expect(away.digest(6)).toBe(there.digest(6));
    expect(away.merge(there.pins, 6)).toEqual([]);
  });

  test('a lease cut short, or released, does not come back with a node that was away', () => {
    const [there, away] = [new NetworkPins(), new NetworkPins()];
    for (const node of [there, away]) node.merge([pin('a', 0, 1000), pin('b', 0, 1000)], 0);
    there.merge([pin('a', 10, 20), pin('b', 10, 10)], 10);
    // Both leases are over; the other node remembers longer ones.
    expect(there.merge(away.pins, 500)).toEqual([]);
    away.merge(there.pins, 500);
    expect(away.pins.filter((known) => isLeased(known, 500))).toEqual([]);
    expect(away.digest(500)).toBe(there.digest(500));
    expect(there.digest(1000)).toBe(new NetworkPins().digest(0));
    expect(there.pins).toEqual([]);
  });

  test('the last change counts even if the clock of its node is behind', () => {
    const pins = new NetworkPins();
    pins.merge([pin('a', 30_000, 90_000)], 10_000);
    const at = pins.stamp('a', 10_000);
    pins.merge([pin('a', at, at)], 10_000);
    expect(pins.get('a')?.expiresAt).toBe(at);
    expect(isLeased(pin('a', at, at), 10_000)).toBe(false);
    expect(pins.stamp('b', 10_000)).toBe(10_000);
  });

  test('of too many pins, or pins with too long URLs, all nodes remember the same', () => {
    const many = Array.from({ length: 30 }, (_, i) => pin(`p${i}`, 0, 100 + ((i * 7) % 30)));
    const nodes = [many, [...many].reverse()].map((order) => {
      const pins = new NetworkPins({ maxPins: 10 });
      for (const one of order) pins.merge([one], 0);
      return pins;
    });
    expect(leases(nodes[0] as NetworkPins)).toEqual(leases(nodes[1] as NetworkPins));
    expect(nodes[0]?.pins).toHaveLength(10);
    const short = new NetworkPins({ maxChars: 100 });
    short.merge([pin('a', 0, 9, { url: 'x'.repeat(99) }), pin('b', 0, 8)], 0);
    expect(short.pins).toEqual([]);
  });

  test('nodes that exchange pins agree, whatever they have heard in whatever order', () => {
    const state = fc
      .record({
        id: fc.constantFrom('a', 'b', 'c'),
        at: fc.integer({ min: 0, max: 50 }),
        forMs: fc.integer({ min: 0, max: 50 }),
        earlier: fc.integer({ min: 0, max: 100 }),
      })
      .map(({ id, at, forMs, earlier }) =>
        pin(id, at, at + forMs, { until: Math.max(at + forMs, earlier) }),
      );
    const orders = fc
      .array(state, { maxLength: 12 })
      .chain((states) =>
        fc.tuple(
          fc.constant(states),
          fc.shuffledSubarray(states, { minLength: states.length, maxLength: states.length }),
          fc.integer({ min: 0, max: 60 }),
        ),
      );
    fc.assert(
      fc.property(orders, ([some, others, now]) => {
        const [a, b] = [new NetworkPins(), new NetworkPins()];
        a.merge(some, now);
        for (const one of others) b.merge([one], now);
        a.merge(b.pins, now);
        b.merge(a.pins, now);
        expect(leases(a)).toEqual(leases(b));
        expect(a.digest(now)).toBe(b.digest(now));
      }),
    );
  });
});
