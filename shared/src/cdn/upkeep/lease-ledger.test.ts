import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LeaseLedger } from './lease-ledger.ts';

const QUOTA = 1000;
const MAX_LEASES = 12;
const ALLOWANCE = { bytes: 600, leases: 5 };

const ledger = () => new LeaseLedger({ quotaBytes: QUOTA, maxLeases: MAX_LEASES });
const lease = (id: string, bytes: number, owner = 'a', expiresAt = 100) => ({
  ...{ id, owner, bytes, expiresAt },
});

describe('LeaseLedger', () => {
  test('names the limit that a lease would exceed, with what is left, and charges nothing', () => {
    const leases = ledger();
    expect(leases.reserve(lease('x', 500), ALLOWANCE)).toBeUndefined();
    expect(leases.reserve(lease('y', 101), ALLOWANCE)).toEqual({ limit: 'owner-bytes', left: 100 });
    expect(leases.reserve(lease('y', 501, 'b'))).toEqual({ limit: 'quota', left: 500 });
    for (let i = 0; i < 4; i++) leases.reserve(lease(`z${i}`, 0), ALLOWANCE);
    expect(leases.reserve(lease('y', 0), ALLOWANCE)).toEqual({ limit: 'owner-leases', left: 0 });
    for (let i = 0; i < 7; i++) leases.reserve(lease(`w${i}`, 0, 'c'));
    expect(leases.reserve(lease('y', 0, 'c'))).toEqual({ limit: 'leases', left: 0 });
    expect([leases.usedBytes, leases.count]).toEqual([500, MAX_LEASES]);
  });

  test('a charge grows within the limits, and always shrinks', () => {
    const leases = ledger();
    leases.reserve(lease('x', 100), ALLOWANCE);
    expect(leases.charge('x', 601, ALLOWANCE)).toEqual({ limit: 'owner-bytes', left: 500 });
    expect(leases.get('x')?.bytes).toBe(100);
    expect(leases.charge('x', 600, ALLOWANCE)).toBeUndefined();
    // The owner may store less by now.
    expect(leases.charge('x', 50, { bytes: 10, leases: 1 })).toBeUndefined();
    expect([leases.usedBytes, leases.used('a').bytes]).toEqual([50, 50]);
  });

  test('what was promised in an earlier run is kept even beyond the limits', () => {
    const leases = ledger();
    leases.restore(lease('x', 5000));
    expect(leases.usedBytes).toBe(5000);
    expect(leases.reserve(lease('y', 1))).toEqual({ limit: 'quota', left: 0 });
    leases.release('x');
    expect(leases.reserve(lease('y', 1))).toBeUndefined();
  });
});

const id = fc.integer({ min: 0, max: 15 }).map((n) => `lease ${n}`);
const owner = fc.constantFrom('a', 'b', 'c');
const bytes = fc.integer({ min: 0, max: 500 });
const time = fc.integer({ min: 0, max: 300 });
const step = fc.oneof(
  fc.record({ kind: fc.constant('reserve' as const), id, owner, bytes, time }),
  fc.record({ kind: fc.constant('charge' as const), id, bytes }),
  fc.record({ kind: fc.constant('extend' as const), id, time }),
  fc.record({ kind: fc.constant('release' as const), id }),
  fc.record({ kind: fc.constant('expire' as const), time }),
);

test('in any order of requests the sums are those of the leases, no limit is exceeded, and leases end in time', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const leases = ledger();
      const model = new Map<string, { owner: string; bytes: number; expiresAt: number }>();
      let now = 0;
      for (const s of steps) {
        if (s.kind === 'reserve' && !model.has(s.id)) {
          const entry = { owner: s.owner, bytes: s.bytes, expiresAt: now + s.time };
          if (leases.reserve({ id: s.id, ...entry }, ALLOWANCE) === undefined) {
            model.set(s.id, entry);
          }
        } else if (s.kind === 'charge') {
          const entry = model.get(s.id);
          const refusal = leases.charge(s.id, s.bytes, ALLOWANCE);
          if (entry !== undefined && refusal === undefined) entry.bytes = s.bytes;
        } else if (s.kind === 'extend') {
          const entry = model.get(s.id);
          leases.extend(s.id, now + s.time);
          if (entry !== undefined) entry.expiresAt = now + s.time;
        } else if (s.kind === 'release') {
          expect(leases.release(s.id)).toBe(model.delete(s.id));
        } else if (s.kind === 'expire') {
          now += s.time;
          const over = [...model].filter(([, { expiresAt }]) => expiresAt <= now);
          expect(leases.expire(now).toSorted()).toEqual(over.map(([key]) => key).toSorted());
          for (const [key] of over) model.delete(key);
        }
        const all = [...model.values()];
        const sum = (entries: typeof all) => entries.reduce((n, entry) => n + entry.bytes, 0);
        expect(leases.usedBytes).toBe(sum(all));
        expect(leases.usedBytes).toBeLessThanOrEqual(QUOTA);
        expect(leases.count).toBe(model.size);
        expect(leases.count).toBeLessThanOrEqual(MAX_LEASES);
        for (const name of ['a', 'b', 'c']) {
          const own = all.filter((entry) => entry.owner === name);
          expect(leases.used(name)).toEqual({ bytes: sum(own), leases: own.length });
          expect(sum(own)).toBeLessThanOrEqual(ALLOWANCE.bytes);
          expect(own.length).toBeLessThanOrEqual(ALLOWANCE.leases);
        }
        const ends = all.map(({ expiresAt }) => expiresAt);
        expect(leases.nextEnd).toBe(ends.length === 0 ? undefined : Math.min(...ends));
      }
    }),
  );
});
