import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { StandingClient } from './standing-client.ts';

/** Many times what the good source alone needs for the longest file. */
const MOST_MS = 60_000;

test('a download comes whole from one good source, whatever others do and whenever its client stands still', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0 }), async (seed) => {
      const client = new StandingClient(seed);
      const isWhole = await client.run(MOST_MS);
      expect({ names: client.names, isWhole }).toEqual({ names: client.names, isWhole: true });
    }),
    { numRuns: 300 },
  );
});
