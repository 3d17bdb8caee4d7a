import { describe, expect, test } from '@jest/globals';
import type { LociRules } from '../request/request.ts';
import { type Assignment, Scheduler, type SourceOptions } from './scheduler.ts';

const BLOCK = 64 * 1024;
const RULES: LociRules = { copies: 3, progress: 2, blockBytes: BLOCK };

/** A scheduler with the paper's rules, no bytes to fetch twice by ours, and sources by their ids. */
function make(blocks: number, rules: Partial<LociRules>, ids = 'abcd', options?: SourceOptions) {
  const scheduler = new Scheduler(
    {
      length: blocks * BLOCK,
      mode: 'progress',
      loci: { ...RULES, ...rules },
      redundantBytes: 0,
      connections: ids.length,
    },
    0,
  );
  for (const id of ids) scheduler.addSource(id, options);
  return scheduler;
}

/** Starts a request of each source; returns the blocks that they ask for. */
const blocksOf = (scheduler: Scheduler, ids: string) =>
  [...ids].map((id) => blockOf(scheduler.next(id, 0)));

const blockOf = (request: Assignment | undefined) =>
  request === undefined ? undefined : request.range.start / BLOCK;

/** Brings all bytes of a request, and ends those that have nothing left to bring. */
function finish(scheduler: Scheduler, request: Assignment): readonly Assignment[] {
  const outdone = scheduler.onBytes(request, request.range, 0);
  scheduler.onEnd(request, 'complete', 0);
  for (const other of outdone) scheduler.onEnd(other, 'cancelled', 0);
  return outdone;
}

describe("the paper's algorithms as an option", () => {
  test('basic: each block once, in order, and a failed one is free again', () => {
    const scheduler = make(3, { copies: 1, progress: 0 });
    const first = scheduler.next('a', 0) as Assignment;
    expect(blocksOf(scheduler, 'bcd')).toEqual([1, 2, undefined]);
    scheduler.onEnd(first, 'failed', 0);
    expect(blocksOf(scheduler, 'd')).toEqual([0]);
  });

  test('aggressive: up to R sources for a block, whatever it costs, and the first one ends the others', () => {
    const scheduler = make(2, { copies: 3, progress: 0 });
    expect(blocksOf(scheduler, 'ab')).toEqual([0, 1]);
    expect(blocksOf(scheduler, 'cd')).toEqual([0, 0]);
    expect(blocksOf(scheduler, 'c')).toEqual([1]);
    const [, , winner] = scheduler.running as [Assignment, Assignment, Assignment];
    expect(finish(scheduler, winner).map(({ source }) => source)).toEqual(['a', 'd']);
    expect(scheduler.running.map(blockOf)).toEqual([1, 1]);
  });

  test('progress-driven: a block is fetched again once more than P later ones are complete', () => {
    const scheduler = make(9, { copies: 2, progress: 2 });
    scheduler.next('a', 0);
    for (const block of [1, 2, 3]) {
      const request = scheduler.next('b', 0) as Assignment;
      expect(blockOf(request)).toBe(block);
      finish(scheduler, request);
    }
    expect(blocksOf(scheduler, 'bc')).toEqual([0, 4]);
  });

  test('no source is asked again for a block that it is sending', () => {
    const scheduler = make(1, { copies: 3, progress: 0 }, 'ab');
    expect(blocksOf(scheduler, 'aab')).toEqual([0, undefined, 0]);
  });

  test('stored bytes are not asked for, and wrong ones are asked for again', () => {
    const scheduler = make(3, { copies: 1 });
    scheduler.addStored({ start: 0, end: BLOCK + 100 });
    expect(scheduler.next('a', 0)?.range).toEqual({ start: BLOCK + 100, end: 2 * BLOCK });
    scheduler.discard({ start: 10, end: 20 });
    expect(blocksOf(scheduler, 'b')).toEqual([2]);
    expect(scheduler.next('c', 0)?.range).toEqual({ start: 10, end: 20 });
  });

  test('a source is only asked for what it holds', () => {
    const holds = (from: number) =>
      from < 2 * BLOCK ? { start: Math.max(from, BLOCK), end: 2 * BLOCK } : undefined;
    const scheduler = make(3, { copies: 3, progress: 0 }, 'ab', { holds });
    expect(blocksOf(scheduler, 'ab')).toEqual([1, 1]);
  });

  test('no block is fetched beyond the look-ahead buffer', () => {
    const scheduler = make(9, { copies: 1, lookAheadBytes: 2 * BLOCK });
    const first = scheduler.next('a', 0) as Assignment;
    expect(blocksOf(scheduler, 'bcd')).toEqual([1, undefined, undefined]);
    finish(scheduler, first);
    expect(blocksOf(scheduler, 'cd')).toEqual([2, undefined]);
  });

  test('a player has its buffer filled first, and then the rest', () => {
    const scheduler = make(6, { copies: 1, lookAheadBytes: 2 * BLOCK });
    scheduler.prefer(4 * BLOCK);
    expect(blocksOf(scheduler, 'abcd')).toEqual([4, 5, 0, 1]);
  });

  test('while the client holds its sources back, nothing is fetched twice', () => {
    const scheduler = make(1, { copies: 3, progress: 0 });
    scheduler.throttle(true);
    expect(blocksOf(scheduler, 'ab')).toEqual([0, undefined]);
    scheduler.throttle(false);
    expect(blocksOf(scheduler, 'b')).toEqual([0]);
  });
});
