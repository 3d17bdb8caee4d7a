import { describe, expect, test } from '@jest/globals';
import { type Random, seededRandom } from '@millrace/shared/base/clock';
import fc from 'fast-check';
import type { Offer } from '../contract/taker.ts';
import { DOWNLOAD, FakeWorld, type ProofOutcome } from '../testing/fake-world.ts';

const OFFER: Offer = {
  handOff: 'a',
  url: 'http://example.com/a',
  finalUrl: 'http://example.com/a',
  fileName: 'a',
  length: 5,
  etag: '"x"',
  headers: {},
  edges: [],
};

const OUTCOMES: ProofOutcome[] = ['proven', 'different', 'failed', 'refused', 'absent', 'never'];

/** Troubles by name, with the most times that each happens. */
type Troubles = Readonly<Record<string, { times: number; happen(world: FakeWorld): void }>>;

const TROUBLES: Troubles = {
  worker: { times: 4, happen: (world) => world.kill() },
  browser: { times: 1, happen: (world) => world.restartBrowser() },
  taker: { times: 2, happen: (world) => world.killTaker() },
  network: {
    times: 1,
    happen: (world) => {
      if (world.download?.state !== 'in_progress') return;
      world.change({ state: 'interrupted', paused: false, cancelled: false });
    },
  },
  impatience: {
    times: 1,
    happen: (world) => {
      if (world.download?.state !== 'in_progress') return;
      world.change({ ...world.download, paused: false });
    },
  },
  hurry: {
    times: 1,
    happen: (world) => {
      const { download } = world;
      if (download?.state === 'in_progress' && !download.paused) {
        world.change({ ...download, state: 'complete' });
      }
    },
  },
};

const NONE: Troubles = {};

const CANCELLATION: Troubles = {
  cancel: {
    times: 1,
    happen: (world) => {
      if (world.download?.state === 'in_progress') {
        world.change({ state: 'interrupted', paused: false, cancelled: true });
      }
    },
  },
  erase: { times: 1, happen: (world) => world.change(undefined) },
};

async function run(random: Random, pauses: boolean, outcome: ProofOutcome, troubles: Troubles) {
  const world = new FakeWorld(random, outcome, pauses);
  world.takerCompletes = random() < 0.3;
  await world.start();
  void world.handOffs?.begin(OFFER, DOWNLOAD, ['desktop'], pauses);
  const left = Object.values(troubles).flatMap(({ times, happen }) => {
    return Array<Troubles[string]['happen']>(Math.floor(random() * (times + 1))).fill(happen);
  });
  for (let i = 0; i < 120; i++) {
    if (random() < 0.04 && left.length > 0) {
      const [happen] = left.splice(Math.floor(random() * left.length), 1);
      happen?.(world);
    } else if (world.handOffs === undefined && random() < 0.3) {
      await world.start();
    } else if (!world.takerIsThere && random() < 0.1) {
      world.takerIsThere = true;
    } else if (random() < 0.1 && troubles !== NONE) {
      world.now += random() < 0.2 ? random() * 12_000 : random() * 500;
      world.handOffs?.tick();
    } else {
      await world.proceed();
    }
  }
  await comeToRest(world);
  return world;
}

/** Lets everything work from now on while hours pass. The user resumes interrupted downloads. */
async function comeToRest(world: FakeWorld): Promise<void> {
  world.takerIsThere = true;
  for (let i = 0; i < 30; i++) {
    if (world.handOffs === undefined) await world.start();
    for (let j = 0; j < 60 && (await world.proceed()); j++);
    world.now += 60_000;
    world.handOffs?.tick();
  }
  const { download } = world;
  if (download === undefined || download.cancelled || download.state === 'complete') return;
  // The download is not being handed over any more, so it must not be paused.
  expect(download).toMatchObject({ paused: false });
  world.download = { ...download, state: 'complete' };
}

const seeds = fc.integer();
const options = { numRuns: 400 };

describe.each([
  ['the browser pauses', true],
  ['the browser continues meanwhile', false],
])('a hand-off, %s', (_, pauses) => {
  test('without trouble ends at the taker, or leaves the browser’s download alone', async () => {
    for (const outcome of OUTCOMES) {
      const world = await run(seededRandom(1), pauses, outcome, NONE);
      expect([outcome, world.copies, world.over]).toEqual([
        outcome,
        1,
        [{ taken: outcome === 'proven' }],
      ]);
    }
  });

  test('leaves exactly one copy, whatever ends and whenever', async () => {
    const property = fc.asyncProperty(
      seeds,
      fc.constantFrom('proven' as const, ...OUTCOMES),
      async (seed, outcome) => {
        const world = await run(seededRandom(seed), pauses, outcome, TROUBLES);
        expect(world.copies).toBe(1);
        expect(world.saved).toEqual([]);
      },
    );
    await fc.assert(property, options);
  });

  test('leaves at most one copy if the user ends the download', async () => {
    const property = fc.asyncProperty(seeds, async (seed) => {
      const troubles = { ...TROUBLES, ...CANCELLATION };
      const world = await run(seededRandom(seed), pauses, 'proven', troubles);
      expect(world.copies).toBeLessThanOrEqual(1);
      expect(world.saved).toEqual([]);
    });
    await fc.assert(property, options);
  });
});
