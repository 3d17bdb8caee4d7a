import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chooseWaiting } from './waiting-transfers.ts';

const KiB = 1024;
const MANY = Number.MAX_SAFE_INTEGER;
const transfer = (client: string, isWaiting = true, heldBytes = 32 * KiB) => ({
  client,
  isWaiting,
  heldBytes,
});

describe('chooseWaiting', () => {
  test('transfers that were begun while there was memory do not take what is freed later', () => {
    const flood = Array.from({ length: 100 }, () => transfer('flood'));
    const honest = transfer('honest');
    expect(chooseWaiting([...flood, honest], MANY)).toEqual(flood.slice(1).reverse());
  });

  test('clients with most transfers lose theirs first, and no more than is needed', () => {
    const few = [transfer('few'), transfer('few')];
    const many = Array.from({ length: 5 }, () => transfer('many'));
    expect(chooseWaiting([...few, ...many], 3 * 32 * KiB)).toEqual(many.slice(2).reverse());
  });

  test('a transfer whose response has begun is not chosen, but counts for its client', () => {
    const begun = transfer('a', false);
    const waiting = transfer('a');
    expect(chooseWaiting([waiting, begun], MANY)).toEqual([waiting]);
    expect(chooseWaiting([begun], MANY)).toEqual([]);
  });

  test('chooses none while there is no excess', () => {
    expect(chooseWaiting([transfer('a'), transfer('a')], 0)).toEqual([]);
  });

  test('whatever is under way, every client keeps a transfer and no begun one is refused', () => {
    const arbitrary = fc.record({
      client: fc.constantFrom('a', 'b', 'c'),
      isWaiting: fc.boolean(),
      heldBytes: fc.integer({ min: 1, max: 1e6 }),
    });
    fc.assert(
      fc.property(fc.array(arbitrary), fc.integer({ min: 1, max: 1e7 }), (transfers, excess) => {
        const chosen = new Set(chooseWaiting(transfers, excess));
        for (const { client, isWaiting } of transfers) {
          expect(transfers.some((one) => one.client === client && !chosen.has(one))).toBe(true);
          if (!isWaiting) expect([...chosen].every((one) => one.isWaiting)).toBe(true);
        }
        const sizes = [...chosen].map(({ heldBytes }) => heldBytes);
        const freed = sizes.reduce((sum, bytes) => sum + bytes, 0);
        expect(freed - (sizes.at(-1) ?? 0)).toBeLessThan(excess);
      }),
    );
  });
});
