import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FairShare } from './fair-share.ts';

/** Runs downloads that always want more, for some virtual time. @returns bytes by key */
function contend(askers: readonly (readonly [string, number])[], rate: number, ms: number) {
  const share = new FairShare<string>(rate, 0);
  const had = new Map<string, number>();
  const owners = new Map<number, readonly [string, number]>();
  let now = 0;
  const ask = (asker: readonly [string, number]) => {
    for (;;) {
      const ticket = share.ask(asker[0], asker[1], now);
      if (ticket !== undefined) return void owners.set(ticket, asker);
      had.set(asker[0], (had.get(asker[0]) ?? 0) + asker[1]);
    }
  };
  for (const asker of askers) ask(asker);
  while (now < ms) {
    const { granted, nextAt } = share.grant(now);
    for (const id of granted) {
      const asker = owners.get(id) as readonly [string, number];
      had.set(asker[0], (had.get(asker[0]) ?? 0) + asker[1]);
      ask(asker);
    }
    now = nextAt ?? now + 1;
  }
  return had;
}

describe('one rate for many', () => {
  test('is shared evenly by downloads, however many connections each has', () => {
    const many = Array.from({ length: 30 }, () => ['many', 1000] as const);
    const had = contend([...many, ['few', 1000]], 100_000, 10_000);
    const [a, b] = [had.get('many') as number, had.get('few') as number];
    expect(Math.abs(a - b)).toBeLessThanOrEqual(2000 + 25_000);
    expect(a + b).toBeLessThanOrEqual(100_000 * 10 + 25_000 + 2000);
    expect(a + b).toBeGreaterThan(95_000 * 10);
  });

  test('counts bytes, not requests', () => {
    const had = contend(
      [
        ['large', 10_000],
        ['small', 100],
      ],
      100_000,
      10_000,
    );
    const ratio = (had.get('large') as number) / (had.get('small') as number);
    expect(ratio).toBeGreaterThan(0.9);
    expect(ratio).toBeLessThan(1.1);
  });

  test('is exceeded by a quarter of a second at most, and no download starves', () => {
    const asker = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 100, max: 5000 }));
    fc.assert(
      fc.property(
        fc.array(asker, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 10_000, max: 100_000 }),
        (askers, rate) => {
          const had = contend(askers, rate, 4000);
          const total = [...had.values()].reduce((sum, bytes) => sum + bytes, 0);
          expect(total).toBeLessThanOrEqual(rate * 4.25 + 5000 * 2);
          for (const [key] of askers) {
            expect(had.get(key)).toBeGreaterThanOrEqual(rate / 3 - 10_000);
          }
        },
      ),
    );
  });

  test('makes no ticket wait without a limit, and grants all tickets once the limit is lifted', () => {
    const share = new FairShare<string>(undefined, 0);
    expect(share.ask('a', 1e9, 0)).toBeUndefined();
    share.setRate(1000, 0);
    expect(share.ask('a', 10_000, 0)).toBeUndefined();
    const ids = [share.ask('a', 1, 0), share.ask('b', 1, 0)];
    expect(share.grant(0).granted).toEqual([]);
    share.setRate(undefined, 0);
    expect(share.grant(0).granted.sort()).toEqual(ids);
    expect(share.waiting).toBe(0);
  });

  test('is not held up by downloads that leave and tickets that are cancelled', () => {
    const share = new FairShare<string>(1000, 0);
    share.ask('a', 10_000, 0);
    const first = share.ask('a', 5, 0) as number;
    share.ask('b', 5, 0);
    const last = share.ask('c', 5, 0) as number;
    share.cancel('a', first);
    share.leave('b');
    share.leave('nobody');
    expect(share.waiting).toBe(1);
    expect(share.grant(60_000).granted).toEqual([last]);
  });
});
