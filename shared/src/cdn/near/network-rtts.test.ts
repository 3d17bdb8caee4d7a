import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../base/clock.ts';
import {
  FIGURE_BYTES,
  MAX_NETWORKS,
  MAX_NODES_PER_NETWORK,
  MAX_TOLD_NETWORKS,
  NETWORK_BYTES,
  NetworkRtts,
  type ToldRtt,
} from './network-rtts.ts';

const NET = '192.0.2.0/24';
const MINUTE = 60_000;

describe('NetworkRtts', () => {
  test('the shortest round trip counts for ten minutes, then the next one replaces it', () => {
    const rtts = new NetworkRtts('own');
    rtts.onMeasured(NET, 20, 0);
    rtts.onMeasured(NET, 50, MINUTE);
    expect(rtts.rtt(NET, 'own', MINUTE)).toBe(20);
    rtts.onMeasured(NET, 10, 2 * MINUTE);
    expect(rtts.rtt(NET, 'own', 2 * MINUTE)).toBe(10);
    rtts.onMeasured(NET, 50, 12 * MINUTE);
    expect(rtts.rtt(NET, 'own', 12 * MINUTE)).toBe(50);
  });

  test('a round trip is forgotten after half an hour', () => {
    const rtts = new NetworkRtts('own');
    rtts.onMeasured(NET, 20, 0);
    rtts.onTold('b', [[NET, 5]], MINUTE);
    expect(rtts.rtt(NET, 'own', 30 * MINUTE - 1)).toBe(20);
    expect(rtts.rtt(NET, 'own', 30 * MINUTE)).toBeUndefined();
    expect(rtts.rtt(NET, 'b', 30 * MINUTE)).toBe(5);
    expect(rtts.toTell(30 * MINUTE, seededRandom(1))).toEqual([]);
  });

  test('a node tells what it has measured itself, not what it was told', () => {
    const rtts = new NetworkRtts('own');
    rtts.onMeasured(NET, 20.123, 0);
    rtts.onTold('b', [['198.51.100.0/24', 5]], 0);
    expect(rtts.toTell(0, seededRandom(1))).toEqual([[NET, 20.1]]);
  });

  test('no other node can tell of this one', () => {
    const rtts = new NetworkRtts('own');
    rtts.onMeasured(NET, 20, 0);
    rtts.onTold('own', [[NET, 1]], 0);
    expect(rtts.rtt(NET, 'own', 0)).toBe(20);
  });

  test('round trips that no network has are ignored', () => {
    const rtts = new NetworkRtts('own');
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY, 10_001]) {
      rtts.onMeasured(NET, ms, 0);
      rtts.onTold('b', [[NET, ms]], 0);
    }
    expect([rtts.size, rtts.rtt(NET, 'b', 0)]).toEqual([0, undefined]);
  });

  test('of many networks the ones used last are told, and a sample of the others', () => {
    const rtts = new NetworkRtts('own');
    const count = 1000;
    for (let i = 0; i < count; i++) rtts.onMeasured(`n${i}`, i, 0);
    const random = seededRandom(7);
    const told = rtts.toTell(0, random).map(([network]) => network);
    expect(new Set(told).size).toBe(MAX_TOLD_NETWORKS);
    const latest = Array.from({ length: MAX_TOLD_NETWORKS / 2 }, (_, i) => `n${count - 1 - i}`);
    expect(told).toEqual(expect.arrayContaining(latest));
    const all = new Set(told);
    for (let i = 0; i < 500; i++) for (const [network] of rtts.toTell(0, random)) all.add(network);
    expect(all.size).toBe(count);
  });

  test('the nearest nodes of a network are remembered, and always the own one', () => {
    const rtts = new NetworkRtts('own');
    rtts.onMeasured(NET, 900, 0);
    for (let i = 0; i < 20; i++) rtts.onTold(`n${i}`, [[NET, 10 * ((i * 7) % 20)]], 0);
    const known = Array.from({ length: 20 }, (_, i) => rtts.rtt(NET, `n${i}`, 0));
    const left = known.filter((ms) => ms !== undefined).toSorted((a, b) => a - b);
    expect(left).toEqual([0, 10, 20, 30, 40, 50, 60]);
    expect(left).toHaveLength(MAX_NODES_PER_NETWORK - 1);
    expect(rtts.rtt(NET, 'own', 0)).toBe(900);
  });

  test('a node that a client was sent to is expected to tell for a minute', () => {
    const rtts = new NetworkRtts('own');
    rtts.onSent(NET, 'b', 0);
    expect(rtts.isExpected(NET, 'b', MINUTE - 1)).toBe(true);
    expect(rtts.isExpected(NET, 'b', MINUTE)).toBe(false);
    expect(rtts.isExpected(NET, 'c', 0)).toBe(false);
    for (let i = 0; i < 3 * MAX_NODES_PER_NETWORK; i++) rtts.onSent(NET, `n${i}`, 0);
    expect(rtts.isExpected(NET, 'b', 0)).toBe(false);
  });

  test('stays bounded whatever clients and nodes send, and its weight is that of its entries', () => {
    const step = fc.record({
      kind: fc.constantFrom('measured' as const, 'told' as const, 'sent' as const),
      network: fc.integer({ min: 0, max: 3 * MAX_NETWORKS }).map((n) => `net${n}`),
      node: fc.integer({ min: 0, max: 20 }).map((n) => `node${n}`),
      ms: fc.double({ min: -10, max: 20_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.nat(), (steps, seed) => {
        const rtts = new NetworkRtts('node0');
        const random = seededRandom(seed);
        const networks = new Set<string>();
        const nodes = Array.from({ length: 21 }, (_, i) => `node${i}`);
        for (const [now, { kind, network, node, ms }] of steps.entries()) {
          networks.add(network);
          const told: ToldRtt[] = [[network, ms]];
          if (kind === 'measured') rtts.onMeasured(network, ms, now);
          else if (kind === 'told') rtts.onTold(node, told, now);
          else rtts.onSent(network, node, now);
        }
        const now = steps.length;
        let figures = 0;
        for (const network of networks) {
          const known = nodes.filter((node) => rtts.rtt(network, node, now) !== undefined);
          expect(known.length).toBeLessThanOrEqual(MAX_NODES_PER_NETWORK);
          figures += known.length;
        }
        expect(rtts.bytes).toBe(rtts.size * NETWORK_BYTES + figures * FIGURE_BYTES);
        expect(rtts.toTell(now, random).length).toBeLessThanOrEqual(MAX_TOLD_NETWORKS);
      }),
    );
  });

  test('the network that was used longest ago is forgotten first', () => {
    const rtts = new NetworkRtts('own');
    for (let i = 0; i < MAX_NETWORKS; i++) rtts.onMeasured(`n${i}`, 1, 0);
    rtts.onMeasured('n0', 1, 0);
    rtts.onMeasured('one more', 1, 0);
    expect([rtts.size, rtts.rtt('n0', 'own', 0), rtts.rtt('n1', 'own', 0)]).toEqual([
      MAX_NETWORKS,
      1,
      undefined,
    ]);
    expect(rtts.bytes).toBe(MAX_NETWORKS * (NETWORK_BYTES + FIGURE_BYTES));
  });
});
