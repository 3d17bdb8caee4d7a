/** All attacks at once beside honest clients: half a minute of `npm run bench -- hostile`. */

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ATTACKS } from '../../fixtures/clients/hostile-attacks.ts';
import { runHostile, SPARE_DESCRIPTORS } from '../../fixtures/clients/hostile-run.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';

const MiB = 1024 * 1024;
const SEED = 20_261_123;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

test('beside slow readers, vanishing clients, floods, random bytes and resets no byte is wrong, and all resources are released', async () => {
  const outcome = await runHostile({
    folder: folder.path,
    seed: SEED,
    attacks: Object.keys(ATTACKS),
    clients: 2,
    calmMs: 2000,
    hostileMs: 25_000,
  });
  expect(outcome.alive).toBe(true);
  expect(outcome.honest.wrong).toEqual([]);
  expect(outcome.honest.requests - outcome.honest.failures).toBeGreaterThan(10);
  for (const [name, { fired, refused }] of Object.entries(outcome.attacks)) {
    expect([name, fired > refused]).toEqual([name, true]);
  }
  expect(outcome.transfersAfter).toBe(0);
  expect(outcome.chunkBytesAfter).toBe(0);
  expect(outcome.descriptorsAfter).toBeLessThanOrEqual(
    outcome.descriptorsBefore + SPARE_DESCRIPTORS,
  );
  // 128 MiB of cache, 200 slow readers and Node itself.
  const most = Math.max(...outcome.samples.map(({ residentBytes }) => residentBytes));
  expect(most).toBeLessThan(1024 * MiB);
});
