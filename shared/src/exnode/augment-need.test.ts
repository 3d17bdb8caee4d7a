import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  addressOf,
  counts,
  MIB,
  named,
  shapes,
  stored,
} from '../../testing/draws/stored-exnodes.ts';
import { Augmentation } from './augment.ts';
import { needOf } from './augment-need.ts';

describe('the depots that an augmentation needs beyond those that are named', () => {
  test('store just what the named ones cannot', () => {
    // Two parts: the second one has a replica more, and a named depot has a part of the file.
    const { exnode, findings } = stored([
      [[0, 'there']],
      [
        [0, 'there'],
        [1, 'there'],
      ],
    ]);
    const need = (copies: number, ...depots: number[]) =>
      needOf(exnode, findings, copies, depots.map(addressOf));
    expect(need(1)).toBeUndefined();
    expect(need(2, 1)).toBeUndefined();
    expect(need(2)).toEqual({ depots: 1, bytes: MIB });
    expect(need(3, 1)).toEqual({ depots: 1, bytes: 2 * MIB });
    expect(need(4, 1, 2)).toEqual({ depots: 1, bytes: 2 * MIB });
  });

  test('are enough, whatever is lost', () => {
    fc.assert(
      fc.property(shapes, counts, named, (places, copies, depots) => {
        const { exnode, findings } = stored(places);
        const own = depots.map(addressOf);
        const need = needOf(exnode, findings, copies, own);
        const news = Array.from({ length: need?.depots ?? 0 }, (_, i) => `http://new${i}`);
        const plan = new Augmentation(exnode, findings, copies, [...own, ...news]);
        expect(plan.shortage).toBeUndefined();
        plan.place();
        for (const depot of news) {
          const bytes = plan.fills.flatMap((fill) => (fill.depot === depot ? fill.bytes : []));
          expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(need?.bytes ?? 0);
        }
      }),
    );
  });
});
