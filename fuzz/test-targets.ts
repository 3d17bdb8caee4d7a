/** Declares the tests of fuzz targets, for the test file beside each file of targets. */

import { describe, expect, test } from '@jest/globals';
import { runCases, runLongCase } from './run-target.ts';
import type { FuzzTarget } from './target.ts';

/** Cases of each target in a run of the tests. */
const CASES = 20_000;
/** Fixed seed: a failure comes from changed code. `npm run bench -- fuzz` tries other seeds. */
const SEED = 20_261_123;

/** Declares a test for the random cases of each target, and one for each of its long cases. */
export function testTargets(targets: readonly FuzzTarget[]): void {
  describe.each(targets.map((target) => [target.name, target] as const))('%s', (_, target) => {
    test(`holds for ${CASES} cases and for all that were found before`, async () => {
      expect(await runCases(target, CASES, SEED)).toBeUndefined();
    });
    test('accepts its seeds, and refuses mutations unless it accepts any input', async () => {
      const { tried, refused, refusedMutations } = await target.trySeeds(SEED);
      expect(tried).toBeGreaterThan(0);
      expect(refused).toEqual([]);
      expect(refusedMutations > 0).toBe(!target.takesAll);
    });
    for (const name of target.longCases) {
      test(`works in proportion to its input: ${name}`, async () => {
        expect(await runLongCase(target, name)).toBeUndefined();
      });
    }
  });
}
