import { describe, expect, test } from '@jest/globals';
import { DEFAULT_CHUNK_BYTES } from '@millrace/shared/base/limits';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { crowd, neighbours } from '../../sim/crowd.ts';
import { expected } from '../../sim/experiments/balance.ts';
import { flash } from '../../sim/experiments/flash.ts';
import { CASES, type Case, retryFigures } from '../../sim/experiments/retries.ts';
import { type ThinResult, thinOrigin } from '../../sim/experiments/thin.ts';
import { buildLarge } from '../../sim/large.ts';
import { membership } from '../../sim/membership.ts';
import { blindWorld, build, meet } from '../../sim/network.ts';
import { PATIENCE } from '../../sim/node.ts';
import { mean, quantile } from '../../sim/report.ts';
import { walk } from '../../sim/walk.ts';

const SEED = testSeed('models test', 2);
/** Seeds of experiments whose results vary much from draw to draw. */
const SEEDS = Array.from({ length: 5 }, (_, i) => SEED + i);
const NODES = 100;
const CHUNKS = 6;

describe('copies that the origin sends if regions have their own views', () => {
  const options = { seed: 1, nodes: NODES, chunks: CHUNKS };

  test('are many without re-forwarding, and few with one extra hop', () => {
    const world = blindWorld({ ...options, maxHops: 1, farHop: false }, 'near', 0.02);
    const none = walk(world);
    world.o = { ...world.o, maxHops: 2 };
    const one = walk(world);
    expect(none.copies).toBeGreaterThan(5);
    expect(one.copies).toBeLessThan(none.copies / 2);
    expect(one.copies).toBeGreaterThan(1);
  });

  test.each([1, SEED])(
    'are at most 1.2 if the best node of a region asks the best of all, seed %d',
    (seed) => {
      const world = blindWorld({ ...options, seed }, 'near', 0.02);
      expect(walk(world).copies).toBeLessThanOrEqual(1.2);
    },
  );

  test.each([1, SEED])('are exactly one if every node is reachable, seed %d', (seed) => {
    const world = blindWorld({ ...options, seed }, 'near', 0);
    expect(walk(world)).toMatchObject({ copies: 1, fewest: 1, most: 1 });
  });

  test('are one if all nodes are peers, even for chunks wanted at their owner', () => {
    const world = blindWorld(options, 'all', 0);
    expect(walk(world).copies).toBe(1);
  });
});

describe('a crowd in virtual time', () => {
  const run = async (seed: number, inOrder = true) => {
    const world = blindWorld({ seed, nodes: 40, chunks: CHUNKS }, 'near', 0.02);
    const clients = await crowd(world, { inOrder });
    return { world, clients };
  };

  test('is the same in every run of one seed', async () => {
    const [a, b] = [await run(SEED), await run(SEED)];
    expect(a.clients.map(({ endedAt }) => endedAt)).toEqual(
      b.clients.map(({ endedAt }) => endedAt),
    );
    expect(a.world.figures).toEqual(b.world.figures);
    expect(a.world.sim.events).toBe(b.world.sim.events);
  });

  test.each([
    [1, true],
    [1, false],
    [SEED, true],
    [SEED, false],
  ])(
    'seed %d, in order %s: every client has every byte, no link exceeds its capacity',
    async (seed, inOrder) => {
      const { world, clients } = await run(seed, inOrder);
      expect(clients.map(({ state }) => state)).toEqual(clients.map(() => 'complete'));
      for (const node of world.nodes) {
        const most = node.up.bytesPerMs * Math.max(world.sim.now, node.up.freeAt);
        expect(node.up.bytes).toBeLessThanOrEqual(most * (1 + 1e-9));
      }
      expect(Math.min(...world.figures.originFetches)).toBeGreaterThanOrEqual(1);
      expect(world.copies).toBeLessThan(4);
    },
  );
});

describe('nodes that start with a few seeds', () => {
  test.each([
    [100, 20],
    [250, 8],
  ])(
    'know nearly all of %d others in time, pay little for it, and leave dead peers alone',
    async (nodes, measured) => {
      const loss = { share: 0.05, how: 'frozen', requestsPerSecond: 0 } as const;
      const result = await membership({ seed: SEED, nodes, measured, losses: [loss] });
      const { knowingMs, mostPerSecond, bytesPerSecond } = result;
      const { afterMs, never } = result.noticed[0] ?? { afterMs: [], never: Number.NaN };
      const [median, most] = [quantile(afterMs, 0.5), Math.max(...afterMs)];
      // A round over all peers takes a minute; then two more heartbeats. A node that became a peer
      // during a round has its turn in the next one.
      const isGood =
        knowingMs <= 60_000 + nodes * 100 &&
        mostPerSecond <= 2.5 &&
        bytesPerSecond <= 12_000 &&
        afterMs.length > 0 &&
        median <= 75_000 &&
        most <= 140_000 &&
        never === 0;
      expect({ seed: SEED, ...result, isGood }).toMatchObject({ isGood: true });
    },
  );
});

test('clients that resume elsewhere survive crashed and frozen nodes', async () => {
  const world = build({ seed: SEED, nodes: 40, chunks: CHUNKS });
  meet(world, { choice: 'near' });
  world.sim.clock.in(1500, () => {
    for (const [i, node] of world.nodes.entries()) {
      if (i % 10 === 0) node.fail('gone');
      if (i % 10 === 5) node.fail('frozen');
    }
  });
  const clients = await crowd(world, { aware: true, edges: (node) => neighbours(world, node, 8) });
  const incomplete = clients.filter(({ state }) => state !== 'complete');
  expect({ seed: SEED, incomplete: incomplete.length }).toEqual({ seed: SEED, incomplete: 0 });
  expect(clients.reduce((sum, { resumes }) => sum + resumes, 0)).toBeGreaterThan(0);
});

test('a slow origin makes clients slow, and sends few extra copies', async () => {
  const world = blindWorld({ seed: SEED, nodes: 30, chunks: CHUNKS, originMbit: 8 }, 'near', 0);
  const clients = await crowd(world);
  expect(clients.filter(({ state }) => state !== 'complete')).toEqual([]);
  const leastMs = world.fileBytes / world.origin.up.bytesPerMs;
  for (const { tookMs } of clients) expect(tookMs).toBeGreaterThan(leastMs);
  expect({ seed: SEED, few: world.copies < 3 }).toEqual({ seed: SEED, few: true });
});

test('at a slow origin nodes do not race for chunks that another node is still receiving', async () => {
  const world = build({ seed: SEED, nodes: 4, chunks: 10, originMbit: 5, mbit: [25, 25] });
  meet(world, { choice: 'all' });
  // Four clients at each node.
  const nodes = Array.from({ length: 4 }, () => world.nodes).flat();
  const clients = await crowd(world, { nodes });
  expect(clients.filter(({ state }) => state !== 'complete')).toEqual([]);
  expect({ seed: SEED, few: world.copies <= 1.2 }).toEqual({ seed: SEED, few: true });
});

test.each([
  // With seed 1 the figures are those of BENCHMARKS.md. Some seeds draw hardly a slow connection:
  // then chance decides which of the two runs is a little quicker.
  { seed: 1, gain: 1.5, raced: 0.001 },
  { seed: SEED, gain: 0.7, raced: 0.02 },
])(
  'a slow connection to the origin is taken over, but not where the whole line has become slow, seed $seed',
  async ({ seed, gain, raced }) => {
    const size = { nodes: 4, chunks: 64 };
    const run = async (name: string, origin: number) => {
      const one = CASES.find((candidate) => candidate.name.startsWith(name)) as Case;
      const all = SEEDS.map((_, i) => retryFigures(one, seed + i, { ...PATIENCE, origin }, size));
      const figures = await Promise.all(all);
      return {
        mbit: mean(figures.map(({ mbit }) => mbit)),
        copies: mean(figures.map(({ copies }) => copies)),
        again: mean(figures.map(({ again }) => again[0])),
      };
    };
    const slow = await run('5% of the connections', PATIENCE.origin);
    const never = await run('5% of the connections', 1000);
    const dip = await run('an origin of 20', PATIENCE.origin);
    const isGood =
      slow.mbit >= gain * never.mbit &&
      slow.copies <= never.copies + 0.05 &&
      dip.copies <= 1.1 &&
      dip.again <= raced;
    expect({ seed, slow, never, dip, isGood }).toMatchObject({ isGood: true });
  },
);

test('with chunks of the default size a crowd at a thin origin reaches its target speed', async () => {
  const results = await Promise.all(
    SEEDS.map((seed) => thinOrigin({ seed, chunkBytes: DEFAULT_CHUNK_BYTES })),
  );
  const middle = (of: (result: ThinResult) => number) => quantile(results.map(of), 0.5);
  const [mbit, seconds, copies] = [
    middle((r) => r.mbit),
    middle((r) => r.seconds),
    middle((r) => r.copies),
  ];
  const isGood = mbit >= 14 && seconds <= 7 && copies <= 1.08;
  expect({ seed: SEED, mbit, seconds, copies, isGood }).toMatchObject({ isGood: true });
});

test('no node is used by far more nodes than average, unlike when all choose the nearest', () => {
  const most = (seed: number, passOver: boolean) => {
    const loads = expected(buildLarge({ seed, nodes: 300, passOver }));
    return Math.max(...loads) / mean(loads);
  };
  // A network of 300 may have one odd place; the rule's effect shows in the median of several.
  const open = quantile(
    SEEDS.map((seed) => most(seed, true)),
    0.5,
  );
  const nearest = quantile(
    SEEDS.map((seed) => most(seed, false)),
    0.5,
  );
  expect({ seed: SEED, open, even: open < 1.3 }).toMatchObject({ even: true });
  expect({ seed: SEED, nearest, open, worse: nearest > open + 0.2 }).toMatchObject({ worse: true });
});

test('simulating whole chunks on the wire gives the results of small pieces', async () => {
  const run = async (seed: number, coarse: boolean) => {
    const report = await flash({ seed, nodes: 60, clients: 150, chunks: 8, coarse });
    const [complete, , mbit, , , , , copies] = report.tables[0]?.rows[0] ?? [];
    expect({ seed, complete }).toEqual({ seed, complete: 150 });
    return { mbit: Number(mbit), copies: Number(copies) };
  };
  const ratios: number[] = [];
  for (const seed of SEEDS) {
    const [fine, coarse] = [await run(seed, false), await run(seed, true)];
    expect({ seed, difference: Math.abs(coarse.copies - fine.copies) < 0.5 }).toEqual({
      ...{ seed, difference: true },
    });
    ratios.push(coarse.mbit / fine.mbit);
  }
  const ratio = quantile(ratios, 0.5);
  expect({ seed: SEED, ratio: ratio > 0.85 && ratio < 1.15 }).toEqual({
    ...{ seed: SEED, ratio: true },
  });
});

test('clients with the download scheduler get every byte from several edges', async () => {
  const world = blindWorld({ seed: SEED, nodes: 20, chunks: CHUNKS }, 'near', 0);
  const clients = await crowd(world, {
    scheduled: true,
    nodes: world.nodes.slice(0, 4),
    edges: (node) => neighbours(world, node, 3),
  });
  expect({ seed: SEED, states: clients.map(({ state }) => state) }).toEqual({
    seed: SEED,
    states: clients.map(() => 'complete'),
  });
});
