import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../base/clock.ts';
import { BASIC, BlockMap, type Redundancy } from './block-map.ts';

const map = (count: number) => new BlockMap(count * 10, 10);

/** Starts the next block `times` times; an entry is undefined if there was no block. */
function startNext(blocks: BlockMap, redundancy = BASIC, times = 1): (number | undefined)[] {
  return Array.from({ length: times }, () => {
    const block = blocks.next(redundancy);
    if (block !== undefined) blocks.start(block);
    return block;
  });
}

/** Ends a request that has completed its block. */
function succeed(blocks: BlockMap, block: number): void {
  blocks.end(block);
  blocks.finish(block);
}

/** Chooses the next block by the rules of LOCI 3.2, word for word. */
function nextByTheBook(
  blocks: BlockMap,
  started: ReadonlySet<number>,
  { copies, progress }: Redundancy,
  allowed: (block: number) => boolean,
): number | undefined {
  const all = Array.from({ length: blocks.count }, (_, i) => i);
  const unfinished = all.filter((b) => !blocks.isDone(b));
  const again = unfinished.filter((b) => {
    const running = blocks.running(b);
    return started.has(b) && running < copies && (running === 0 || allowed(b));
  });
  const late = again.find((b) => all.filter((c) => c > b && blocks.isDone(c)).length > progress);
  return late ?? unfinished.find((b) => !started.has(b)) ?? again[0];
}

describe('BlockMap', () => {
  test('covers the file with blocks, the last of which may be shorter', () => {
    const blocks = new BlockMap(25, 10);
    expect(blocks.count).toBe(3);
    expect(blocks.range(0)).toEqual({ start: 0, end: 10 });
    expect(blocks.range(2)).toEqual({ start: 20, end: 25 });
    expect(new BlockMap(20, 10).count).toBe(2);
    expect(new BlockMap(1, 10).range(0)).toEqual({ start: 0, end: 1 });
  });

  test('fetches blocks in order, each once', () => {
    const blocks = map(3);
    expect(startNext(blocks, BASIC, 4)).toEqual([0, 1, 2, undefined]);
    expect([0, 1, 2].map((b) => blocks.running(b))).toEqual([1, 1, 1]);
  });

  test('a block that an earlier run has completed is not fetched', () => {
    const blocks = map(4);
    for (const block of [0, 2]) blocks.finish(block);
    expect(blocks.doneCount).toBe(2);
    expect(startNext(blocks, BASIC, 3)).toEqual([1, 3, undefined]);
  });

  test('a block whose request failed is fetched again, at once if others have overtaken it', () => {
    const blocks = map(4);
    startNext(blocks, BASIC, 3);
    blocks.end(0);
    expect(blocks.next(BASIC)).toBe(3);
    succeed(blocks, 1);
    expect(blocks.next(BASIC)).toBe(0);
  });

  test('a block whose request failed is fetched again when nothing else is left', () => {
    const blocks = map(2);
    startNext(blocks, BASIC, 2);
    blocks.end(1);
    expect(startNext(blocks, BASIC, 2)).toEqual([1, undefined]);
  });

  test('a late block gets a second request once more than P blocks have overtaken it', () => {
    const redundancy = { copies: 2, progress: 2 };
    const blocks = map(10);
    startNext(blocks, redundancy, 5);
    succeed(blocks, 1);
    succeed(blocks, 2);
    expect(blocks.next(redundancy)).toBe(5);
    succeed(blocks, 4);
    expect(startNext(blocks, redundancy, 2)).toEqual([0, 5]);
    expect(blocks.running(0)).toBe(2);
    // Only block 4 has overtaken block 3.
    expect(blocks.next(redundancy)).toBe(6);
  });

  test('at the end the first unfinished blocks get more requests, at most R each', () => {
    const redundancy = { copies: 3, progress: 9 };
    const blocks = map(2);
    expect(startNext(blocks, redundancy, 7)).toEqual([0, 1, 0, 0, 1, 1, undefined]);
  });

  test('a second request goes only to an allowed source, a first request to any', () => {
    const redundancy = { copies: 2, progress: 0 };
    const blocks = map(3);
    startNext(blocks, redundancy, 3);
    succeed(blocks, 2);
    expect(blocks.next(redundancy, (block) => block !== 0)).toBe(1);
    expect(blocks.next(redundancy, () => false)).toBeUndefined();
    blocks.end(0);
    expect(blocks.next(redundancy, () => false)).toBe(0);
  });

  test('a block that turns out to be wrong is fetched again', () => {
    const blocks = map(3);
    for (const block of [0, 1, 2]) blocks.finish(block);
    expect(blocks.allDone).toBe(true);
    blocks.reopen(1);
    blocks.reopen(1);
    expect([blocks.allDone, blocks.doneCount, blocks.isDone(1)]).toEqual([false, 2, false]);
    expect(startNext(blocks, BASIC, 2)).toEqual([1, undefined]);
    succeed(blocks, 1);
    expect(blocks.allDone).toBe(true);
  });

  test('a block that is completed twice counts once', () => {
    const blocks = map(2);
    blocks.start(0);
    blocks.start(0);
    succeed(blocks, 0);
    succeed(blocks, 0);
    expect([blocks.doneCount, blocks.running(0)]).toEqual([1, 0]);
    blocks.end(0);
    expect(blocks.running(0)).toBe(0);
  });

  test('always chooses the block that LOCI 3.2 chooses', () => {
    const redundancy = fc.record({ copies: fc.integer({ min: 1, max: 3 }), progress: fc.nat(4) });
    const earlier = fc.uniqueArray(fc.nat(19), { maxLength: 10 });
    fc.assert(
      fc.property(redundancy, earlier, fc.integer(), (rules, resumed, seed) => {
        const random = seededRandom(seed);
        const blocks = map(20);
        for (const block of resumed) blocks.finish(block);
        const started = new Set<number>();
        const running: number[] = [];
        for (let turn = 0; turn < 200; turn++) {
          const denied = Math.floor(random() * 20);
          const allowed = (block: number) => block !== denied;
          const next = blocks.next(rules, allowed);
          expect(next).toBe(nextByTheBook(blocks, started, rules, allowed));
          if (next !== undefined && (running.length < 4 || random() < 0.3)) {
            blocks.start(next);
            started.add(next);
            running.push(next);
          } else if (running.length > 0) {
            const [ended = 0] = running.splice(Math.floor(random() * running.length), 1);
            if (random() < 0.7) succeed(blocks, ended);
            else blocks.end(ended);
          }
        }
      }),
    );
  });

  test('every block is completed in the end, whatever fails, with no more copies than allowed', () => {
    const scenario = fc.record({
      seed: fc.integer(),
      count: fc.integer({ min: 1, max: 60 }),
      connections: fc.integer({ min: 1, max: 8 }),
      failing: fc.double({ min: 0, max: 0.8, noNaN: true }),
      copies: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(scenario, ({ seed, count, connections, failing, copies }) => {
        const random = seededRandom(seed);
        const blocks = map(count);
        const running: number[] = [];
        for (let turn = 0; !blocks.allDone; turn++) {
          expect(turn).toBeLessThan(100_000);
          const block = blocks.next({ copies, progress: 3 });
          // If no request is under way, there is always a block to fetch.
          if (running.length === 0) expect(block).toBeDefined();
          if (block !== undefined && running.length < connections) {
            expect(blocks.isDone(block)).toBe(false);
            blocks.start(block);
            running.push(block);
            expect(blocks.running(block)).toBeLessThanOrEqual(copies);
            continue;
          }
          const [ended = 0] = running.splice(Math.floor(random() * running.length), 1);
          if (random() < failing) blocks.end(ended);
          else succeed(blocks, ended);
          if (random() < 0.02 && blocks.isDone(ended)) blocks.reopen(ended);
        }
        expect(blocks.doneCount).toBe(count);
        expect(blocks.next(BASIC)).toBeUndefined();
      }),
    );
  });
});
