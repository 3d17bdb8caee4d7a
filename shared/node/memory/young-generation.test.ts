import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { YOUNG_BYTES } from './young-generation.ts';

const MODULE = new URL('./young-generation.ts', import.meta.url);

/**
 * Makes objects of which most survive, a few in each turn, in a process of its own.
 *
 * @returns largest size of its young generation, bytes
 */
async function largestYoung(first: string): Promise<number> {
  const program = `
    import { boundYoungGeneration, youngBytes } from ${JSON.stringify(MODULE.href)};
    import { setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
    ${first}
    const kept = [];
    let largest = 0;
    for (let turn = 0; turn < 4000; turn++) {
      for (let i = 0; i < 500; i++) kept.push({ i, pair: [i, turn] });
      if (kept.length > 500_000) kept.splice(0, 400_000);
      largest = Math.max(largest, youngBytes());
      await new Promise(setImmediate);
    }
    console.log(largest);`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  return Number(stdout);
}

test('lets the young generation grow to its bound, and no further', async () => {
  const bytes = await largestYoung('boundYoungGeneration();');
  expect(bytes).toBeGreaterThan(YOUNG_BYTES / 2);
  // The next step is twice as large; some pages more are on their way from one half to the other.
  expect(bytes).toBeLessThan(1.5 * YOUNG_BYTES);
}, 60_000);

test('lets it grow again once the bound has ended', async () => {
  expect(await largestYoung('boundYoungGeneration()();')).toBeGreaterThan(1.5 * YOUNG_BYTES);
}, 60_000);
