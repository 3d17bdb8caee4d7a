/** Tests of fuzz targets, for the test file beside each file of targets. */

import { describe, expect, test } from '@jest/globals';
import { runCases, runLongCase } from './run-target.ts';
import type { FuzzTarget } from './target.ts';

/** Cases of each target in a run of the tests. */
const CASES = 20_000;
/** Always the same cases, so that a failure is of the code; `npm run bench -- fuzz` tries others. */
const SEED = 20_261_123;

/** Declares a test for the random cases of each target, and one for each of its long cases. */
export function testTargets(targets: readonly FuzzTarget[]): void {
  describe.each(targets.map((target) => [target.name, target] as const))('%s', (_, target) => {
    test(`holds for ${CASES} cases and for all that were found before`, async () => {
      expect(await runCases(target, CASES, SEED)).toBeUndefined();
    });
    test('takes its seeds, and refuses what is made of them unless it takes anything', async () => {
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
