import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  byHistory,
  type DepotEvent,
  eventsIn,
  MAX_REMEMBERED,
  reputeOf,
  type SeenDepot,
  withEvent,
} from './depot-history.ts';
import type { ReplicaState } from './findings.ts';

const DAY_MS = 86_400_000;
const MIB = 2 ** 20;
const NOW = 2_000_000_000_000;

/** Notes events of a depot, all at one time. */
function seenOf(
  origin: string,
  events: readonly DepotEvent[],
  now = NOW,
  before: SeenDepot[] = [],
) {
  return events.reduce((seen, event) => withEvent(seen, origin, event, now), before);
}

const at = (mibPerSecond: number): DepotEvent => ({
  ...{ kind: 'kept', bytes: 10 * MIB, ms: 10_000 / mibPerSecond },
});

describe('the history of depots', () => {
  test('a depot that lost what it had is bad for weeks, and new again after months', () => {
    const seen = seenOf('https://a', [at(1), { kind: 'lost' }]);
    const repute = (days: number) => reputeOf(seen[0], NOW + days * DAY_MS);
    expect([0, 14, 42, 150].map(repute)).toEqual(['bad', 'bad', 'bad', 'new']);
  });

  test('one failure among many parts that were kept is forgiven, not one that goes on', () => {
    const kept = Array.from({ length: 12 }, () => at(1));
    const failed = seenOf('https://a', [...kept, { kind: 'failed' }]);
    expect(reputeOf(failed[0], NOW)).toBe('good');
    const later = [1, 2].reduce(
      (seen, hours) => seenOf('https://a', [{ kind: 'failed' }], NOW + hours * 3_700_000, seen),
      failed,
    );
    expect(reputeOf(later[0], NOW + DAY_MS)).toBe('bad');
  });

  test('questions that fail within an hour count once, as the worst of them', () => {
    const kinds = ['refused', 'failed', 'lost', 'failed', 'refused'] as const;
    const seen = seenOf(
      'https://a',
      kinds.map((kind) => ({ kind })),
    );
    expect(seen[0]).toMatchObject({ failed: 4, failure: 'lost', kept: 0 });
  });

  test('a depot that was full is asked last for a day, or until it stores something', () => {
    const full = seenOf('https://a', [at(1), { kind: 'refused' }]);
    expect(reputeOf(full[0], NOW + DAY_MS - 1)).toBe('full');
    expect(reputeOf(full[0], NOW + DAY_MS)).toBe('good');
    const still = seenOf('https://a', [{ kind: 'kept' }], NOW + 1, full);
    expect(reputeOf(still[0], NOW + 2)).toBe('full');
    const stored = seenOf('https://a', [at(1)], NOW + 1, full);
    expect(reputeOf(stored[0], NOW + 2)).toBe('good');
  });

  test('bad depots come last, much faster ones first, and equal ones as their network says', () => {
    const seen = [
      ...seenOf('https://slow', [at(1)]),
      ...seenOf('https://fast', [at(10)]),
      ...seenOf('https://same', [at(11)]),
      ...seenOf('https://bad', [at(50), { kind: 'lost' }]),
    ];
    const names = ['bad', 'slow', 'new', 'same', 'fast'];
    const found = names.map((name) => ({ origin: `https://${name}` }));
    const { usable, last } = byHistory(found, seen, NOW);
    const named = (list: typeof usable) => list.map(({ origin }) => origin.slice(8));
    expect([named(usable), named(last)]).toEqual([['new', 'same', 'fast', 'slow'], ['bad']]);
    expect(byHistory(found, [], NOW)).toEqual({ usable: found, last: [] });
  });

  test('answers about replicas say the worst of each depot, and nothing if none of them answers', () => {
    const findings = (...states: [string, ReplicaState][]) =>
      new Map(states.map(([read, state]) => [{ read, at: 0 }, { state }]));
    const [a, b, c] = ['https://a/-/d/x/y/f', 'https://b/-/d/x/y/f', 'https://c/other.bin'];
    expect([...eventsIn(findings([a, 'there'], [a, 'gone'], [b, 'silent'], [c, 'gone']))]).toEqual([
      ['https://a', { kind: 'lost' }],
      ['https://b', { kind: 'failed' }],
    ]);
    expect([...eventsIn(findings([a, 'silent'], [b, 'silent'], [b, 'expired']))]).toEqual([]);
  });

  test('short parts say nothing about the rate', () => {
    const [seen] = seenOf('https://a', [{ kind: 'kept', bytes: 1000, ms: 1 }, { kind: 'kept' }]);
    expect(seen).toMatchObject({ kept: 2, rate: undefined });
  });

  test('whatever is seen, accounts stay bounded, and each depot is ordered once', () => {
    const event = fc.oneof(
      fc.constantFrom<DepotEvent>(
        ...(['lost', 'failed', 'refused', 'slow'] as const).map((kind) => ({ kind })),
      ),
      fc.record({ kind: fc.constant('kept' as const), bytes: fc.nat(), ms: fc.nat() }),
    );
    const step = fc.tuple(
      fc.integer({ min: 0, max: 400 }),
      event,
      fc.integer({ min: -9, max: 99 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
        let [seen, now]: [SeenDepot[], number] = [[], NOW];
        for (const [depot, what, days] of steps) {
          now += days * DAY_MS;
          seen = withEvent(seen, `https://${depot}`, what, now);
        }
        expect(seen.length).toBeLessThanOrEqual(MAX_REMEMBERED);
        for (const { kept, failed } of seen) {
          expect(kept >= 0 && kept <= 20 && failed >= 0 && failed <= 20).toBe(true);
        }
        const found = seen.toReversed();
        const { usable, last } = byHistory(found, seen, now);
        expect(new Set([...usable, ...last])).toEqual(new Set(found));
      }),
    );
  });
});
