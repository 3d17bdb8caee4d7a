import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { rangeBytes } from '../../base/byte-range.ts';
import { seededRandom } from '../../base/clock.ts';
import { type Placed, Placement, type Way } from './placement.ts';
import { planSpread } from './spread.ts';

const MiB = 2 ** 20;
const WAYS: readonly Way[] = ['send', 'pull'];

describe('Placement', () => {
  test('moves the extents of a depot that refuses to those that store the least', () => {
    const placement = new Placement(planSpread(4 * MiB, 4, 1), 4);
    const first = placement.next(0, 'send', 0) as Placed;
    expect(placement.onLost(1)).toBe(true);
    expect(placement.next(1, 'send', 0)).toBeUndefined();
    placement.onStored(first, 0);
    const counts = [0, 1, 2, 3].map(
      (depot) => placement.tasks.filter((task) => task.depot === depot).length,
    );
    expect(counts).toEqual([2, 0, 1, 1]);
    expect(placement.onLost(0)).toBe(true);
    // The extent that it has stored counts.
    expect(placement.tasks.filter(({ depot }) => depot === 0)).toEqual([first]);
  });

  test('says when too few depots are left for as many copies', () => {
    const placement = new Placement(planSpread(MiB, 2, 2), 2);
    expect(placement.onLost(1)).toBe(false);
  });

  test('whatever depots fail, each extent is stored as often as planned, or that is said', () => {
    const sizes = fc.integer({ min: 0, max: 40 * MiB });
    const counts = fc.integer({ min: 1, max: 6 });
    fc.assert(
      fc.property(sizes, counts, counts, fc.integer(), (size, depots, some, seed) => {
        const copies = Math.min(some, depots);
        const random = seededRandom(seed);
        const plan = planSpread(size, depots, copies);
        const placement = new Placement(plan, depots);
        const underWay = new Map<string, Placed>();
        const [asked, told] = [new Set<string>(), new Set<string>()];
        const ask = (task: Placed) => {
          for (const one of placement.questions(task)) {
            const pair = `${one} from ${task.depot}`;
            expect([pair, asked.has(pair)]).toEqual([pair, false]);
            asked.add(pair);
            // About half of all pairs may not; some answers never come.
            if (random() < 0.6) continue;
            told.add(pair);
            placement.onClosed(one, task.depot);
          }
        };
        let now = 0;
        while (!placement.isDone) {
          now += random() * 3000;
          const depot = Math.floor(random() * depots);
          const way = WAYS[Math.floor(random() * 2)] as Way;
          const lane = `${depot} ${way}`;
          const task = underWay.get(lane);
          underWay.delete(lane);
          if (task === undefined) {
            const next = placement.next(depot, way, now);
            if (next === undefined) continue;
            const sources = placement.sourcesOf(next).map((one) => `${depot} from ${one.depot}`);
            expect(sources.filter((pair) => told.has(pair))).toEqual([]);
            if (way === 'pull') expect(sources).not.toEqual([]);
            underWay.set(lane, next);
            ask(next);
          } else if (random() < 0.1) {
            if (!placement.onLost(depot)) return;
          } else if (way === 'pull' && random() < 0.3) {
            placement.onPullFailed(task, random() < 0.3, now);
          } else if (random() < 0.4) {
            underWay.set(lane, task);
            placement.onBytes(task, Math.floor(random() * rangeBytes(task.extent)), now);
          } else placement.onStored(task, now);
        }
        expect(placement.wholeCopies).toBe(plan.length === 0 ? 0 : copies);
        for (const extent of plan) {
          const its = placement.tasks.filter((task) => task.extent === extent);
          expect(new Set(its.map(({ depot }) => depot)).size).toBe(copies);
        }
        const stored = placement.tasks.reduce((sum, one) => sum + rangeBytes(one.extent), 0);
        expect(stored).toBe(size * copies);
      }),
    );
  });
});

/** Uploads to simulated depots. @returns milliseconds, bytes by depot, bytes sent in vain, and others sent */
function simulate(options: {
  readonly size: number;
  readonly copies: number;
  /** Bytes per millisecond of each depot at a time. */
  readonly rates: readonly ((now: number) => number)[];
}) {
  const { size, copies, rates } = options;
  const placement = new Placement(planSpread(size, rates.length, copies), rates.length);
  const lanes = rates.flatMap((rate, depot) => WAYS.map((way) => ({ depot, way, rate })));
  const underWay = new Map<object, { task: Placed; stored: number }>();
  let [inVain, sent, now] = [0, 0, 0];
  for (; !placement.isDone && now < 10_000_000; now += STEP_MS) {
    for (const lane of lanes) {
      const one = underWay.get(lane);
      if (one === undefined) {
        const task = placement.next(lane.depot, lane.way, now);
        if (task !== undefined) underWay.set(lane, { task, stored: 0 });
        continue;
      }
      one.stored += lane.rate(now - STEP_MS) * STEP_MS;
      const isStored = one.stored >= rangeBytes(one.task.extent);
      const ended = isStored
        ? placement.onStored(one.task, now)
        : placement.onBytes(one.task, Math.floor(one.stored), now);
      if (isStored) underWay.delete(lane);
      if (isStored && lane.way === 'send') sent += rangeBytes(one.task.extent);
      if (ended === undefined) continue;
      expect(placement.has(ended)).toBe(false);
      const itsLane = lanes.find((its) => underWay.get(its)?.task === ended);
      if (itsLane === undefined) continue;
      inVain += underWay.get(itsLane)?.stored ?? 0;
      underWay.delete(itsLane);
    }
  }
  const stored = rates.map((_, depot) =>
    placement.tasks
      .filter((task) => task.depot === depot)
      .reduce((sum, { extent }) => sum + rangeBytes(extent), 0),
  );
  for (const extent of new Set(placement.tasks.map((task) => task.extent))) {
    const its = placement.tasks.filter((task) => task.extent === extent);
    expect(new Set(its.map(({ depot }) => depot)).size).toBe(copies);
  }
  expect(stored.reduce((sum, bytes) => sum + bytes, 0)).toBe(size * copies);
  return { ms: now, stored, inVain, sent };
}

const STEP_MS = 500;
/** Bytes per millisecond of a depot that takes 1 MiB/s. */
const MIB_S = MiB / 1000;

describe('speed', () => {
  test('fast depots store more, and the upload ends about as early as their speeds allow', () => {
    const speeds = fc.array(fc.double({ min: 1, max: 40, noNaN: true }), {
      minLength: 2,
      maxLength: 6,
    });
    fc.assert(
      fc.property(speeds, fc.integer({ min: 1, max: 16 }), (found, gib) => {
        const size = gib * 1024 * MiB;
        const rates = found.map((speed) => () => speed * MIB_S);
        const { ms, stored } = simulate({ size, copies: 1, rates });
        const best = size / (found.reduce((sum, speed) => sum + speed, 0) * MIB_S);
        // The last extent of each depot may begin when the others are nearly done.
        const extent = Math.max(...planSpread(size, rates.length, 1).map(rangeBytes));
        const last = (2 * extent) / (Math.max(...found) * MIB_S);
        expect(ms).toBeLessThan(1.2 * best + 1.5 * last + 10_000);
        const order = found.map((_, i) => i).sort((a, b) => (found[a] ?? 0) - (found[b] ?? 0));
        const [slowest, fastest] = [order[0] ?? 0, order.at(-1) ?? 0];
        // Depots of equal speeds differ by an extent if there are not enough for all.
        expect(stored[fastest]).toBeGreaterThanOrEqual((stored[slowest] ?? 0) - extent);
      }),
      { numRuns: 60 },
    );
  });

  test('an extent of a depot that stops, or becomes slow, goes to another one', () => {
    const speeds = fc.array(fc.double({ min: 5, max: 40, noNaN: true }), {
      minLength: 2,
      maxLength: 5,
    });
    const times = fc.integer({ min: 0, max: 200_000 });
    fc.assert(
      fc.property(speeds, times, fc.constantFrom(0, 0.01), (found, at, left) => {
        const size = 2048 * MiB;
        const rates = found.map((speed, i) => (now: number) => {
          return speed * MIB_S * (i === 0 && now >= at ? left : 1);
        });
        const { ms } = simulate({ size, copies: 1, rates });
        const others = found.slice(1).reduce((sum, speed) => sum + speed, 0);
        // All of it by the others, begun when it stopped, and the time in which that shows.
        const extent = Math.max(...planSpread(size, rates.length, 1).map(rangeBytes));
        const last = extent / (Math.min(...found) * MIB_S);
        expect(ms).toBeLessThan(size / (others * MIB_S) + 3 * last + 60_000);
      }),
      { numRuns: 60 },
    );
  });

  test('a depot that was too slow for an extent gets it back once the one in its place stops', () => {
    const rates = [(now: number) => (now < 69_001 ? 22.26 * MIB_S : 0), () => 5 * MIB_S];
    const { ms } = simulate({ size: 2048 * MiB, copies: 1, rates });
    expect(ms).toBeLessThan(623_200);
  });

  test('nothing is sent twice while depots keep about the same speed', () => {
    const rates = [10, 12, 14, 15].map((speed) => () => speed * MIB_S);
    for (const copies of [1, 2, 3, 4]) {
      const size = 4096 * MiB;
      expect(simulate({ size, copies, rates })).toMatchObject({ inVain: 0, sent: size });
    }
  });

  test('a copy of what a slow depot is being sent is sent as well to one that is known to be fast', () => {
    const plan = [MiB, 2 * MiB].map((end) => ({ start: end - MiB, end, depots: [0, 1] }));
    const placement = new Placement(plan, 2);
    const [first, second] = [placement.next(0, 'send', 0), placement.next(1, 'send', 0)];
    expect([first?.extent, second?.extent]).toEqual(plan);
    placement.onBytes(first as Placed, 1000, 1000);
    expect(placement.next(1, 'pull', 1000)).toBeUndefined();
    placement.onStored(second as Placed, 1000);
    expect(placement.next(1, 'send', 1000)).toEqual({ extent: plan[0], depot: 1 });
    // The slow one pulls what the fast one has.
    expect(placement.next(0, 'pull', 1000)).toEqual({ extent: plan[1], depot: 0 });
  });

  test('a depot whose pull has failed is sent the extent, and pulls others unless it cannot', () => {
    for (const isDepot of [false, true]) {
      const plan = [MiB, 2 * MiB].map((end) => ({ start: end - MiB, end, depots: [0, 1] }));
      const placement = new Placement(plan, 2);
      for (const _ of plan) placement.onStored(placement.next(0, 'send', 0) as Placed, 1);
      const pulled = placement.next(1, 'pull', 1) as Placed;
      expect(placement.next(1, 'send', 1)).toBeUndefined();
      placement.onPullFailed(pulled, isDepot, 2);
      expect(placement.next(1, 'pull', 2)?.extent).toBe(isDepot ? undefined : plan[1]);
      expect(placement.next(1, 'send', 2)).toBe(pulled);
      expect(placement.wholeCopies).toBe(1);
    }
  });

  test('a copy that may not be pulled is sent beside the first one as soon as that is known', () => {
    const placement = new Placement(planSpread(MiB, 3, 3), 3);
    const first = placement.next(0, 'send', 0) as Placed;
    expect([1, 2].map((depot) => placement.next(depot, 'send', 0))).toEqual([undefined, undefined]);
    expect(placement.questions(first)).toEqual([1, 2]);
    expect(placement.questions(first)).toEqual([]);
    placement.onClosed(1, 0);
    const second = placement.next(1, 'send', 1) as Placed;
    expect([second.depot, placement.isFurther(second)]).toEqual([1, true]);
    // The last one may pull from the second one, although not from the first.
    placement.onClosed(2, 0);
    expect(placement.questions(second)).toEqual([2]);
    placement.onStored(first, 2);
    for (const way of WAYS) expect(placement.next(2, way, 2)).toBeUndefined();
    placement.onStored(second, 3);
    const third = placement.next(2, 'pull', 3) as Placed;
    expect(placement.sourcesOf(third)).toEqual([second]);
  });

  test('an answer that it may pull changes nothing, nor does none', () => {
    const placement = new Placement(planSpread(MiB, 2, 2), 2);
    const first = placement.next(0, 'send', 0) as Placed;
    expect(placement.questions(first)).toEqual([1]);
    expect(placement.next(1, 'send', 1000)).toBeUndefined();
    placement.onStored(first, 2000);
    expect(placement.next(1, 'pull', 2000)?.depot).toBe(1);
  });

  test('a slow upload goes on while the one in its place brings nothing', () => {
    const placement = new Placement(planSpread(8 * MiB, 2, 1), 2);
    const [own, slow] = [
      placement.next(0, 'send', 0) as Placed,
      placement.next(1, 'send', 0) as Placed,
    ];
    expect(placement.onStored(own, 1000)).toBeUndefined();
    expect(placement.next(0, 'send', 1500)).toBeUndefined();
    // Nothing has come within three seconds.
    const again = placement.next(0, 'send', 4000) as Placed;
    expect([again.extent, again.depot]).toEqual([slow.extent, 0]);
    expect(placement.has(slow)).toBe(true);
    // The line was broken: the older one goes on first.
    expect(placement.onBytes(slow, MiB, 9000)).toBeUndefined();
    expect(placement.onStored(slow, 9500)).toBe(again);
    expect([placement.isDone, placement.has(again)]).toEqual([true, false]);
  });
});
