import { describe, expect, test } from '@jest/globals';
import { type ByteRange, RangeSet, rangeBytes } from '../../base/byte-range.ts';
import { seededRandom } from '../../base/clock.ts';
import { type Assignment, Scheduler } from './scheduler.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

function schedule(length = 100 * MiB): Scheduler {
  const options = {
    length,
    mode: 'progress' as const,
    redundantBytes: 0,
    connections: 1,
    isOpenEnded: true,
  };
  const scheduler = new Scheduler(options, 0);
  scheduler.addSource('only');
  return scheduler;
}

/** Brings `bytes` of a request, from `at` on, within half a second. @returns where they end */
function bring(scheduler: Scheduler, request: Assignment, at: number, bytes: number, now: number) {
  const end = Math.min(request.end, at + bytes);
  for (let i = 0, from = at; from < end; i++) {
    const part = { start: from, end: Math.min(end, from + Math.ceil(bytes / 10)) };
    scheduler.onBytes(request, part, now + i * 50);
    from = part.end;
  }
  return end;
}

const first = (scheduler: Scheduler) => scheduler.next('only', 0) as Assignment;

describe('a request without an end of its own', () => {
  test('asks for all the rest while one connection is enough', () => {
    const scheduler = schedule();
    scheduler.addStored({ start: 0, end: 64 * KiB });
    expect(first(scheduler).range).toEqual({ start: 64 * KiB, end: 100 * MiB });
  });

  test('goes on from where it is when others take their bytes, which come from its end', () => {
    const scheduler = schedule();
    const long = first(scheduler);
    const at = bring(scheduler, long, 0, 5 * MiB, 100);
    scheduler.setConnections(8);
    const taken: ByteRange[] = [];
    for (let i = 0; i < 7; i++) {
      const { range } = scheduler.next('only', 700) as Assignment;
      expect(range.end).toBe(taken.at(-1)?.start ?? 100 * MiB);
      expect(range.start).toBeGreaterThan(at);
      expect(long.end).toBe(range.start);
      taken.push(range);
    }
  });

  test('asks an edge, too, for all the rest once one connection is enough, and is cut for the origin', () => {
    const mode = 'progress' as const;
    const options = { length: 100 * MiB, mode, redundantBytes: 0, connections: 4 };
    const scheduler = new Scheduler(options, 0);
    scheduler.addSource('edge', { hasPeers: true });
    scheduler.addSource('origin');
    scheduler.setSharing(1);
    const early = scheduler.next('edge', 0) as Assignment;
    expect(rangeBytes(early.range)).toBeLessThan(MiB);
    scheduler.onBytes(early, early.range, 500);
    scheduler.onEnd(early, 'complete', 500);
    scheduler.setConnections(1);
    const long = scheduler.next('edge', 500) as Assignment;
    expect(long.range).toEqual({ start: early.end, end: 100 * MiB });
    // Only if the edge brings next to nothing, the origin is asked.
    const at = bring(scheduler, long, early.end, 64 * KiB, 600);
    const help = scheduler.next('origin', 3000) as Assignment;
    expect(help.range.start).toBe(long.end);
    expect(long.end).toBeGreaterThanOrEqual(at);
    expect(long.end).toBeLessThan(10 * MiB);
  });

  test('leaves 64 KiB to a request that only times its answer', () => {
    const scheduler = schedule();
    bring(scheduler, first(scheduler), 0, 5 * MiB, 100);
    scheduler.setConnections(3, true);
    for (let i = 0; i < 2; i++) {
      const { range } = scheduler.next('only', 700) as Assignment;
      expect(rangeBytes(range)).toBe(64 * KiB);
    }
  });

  test('keeps no more than 1 GiB before it on a very long file', () => {
    const scheduler = schedule(40 * GiB);
    const long = first(scheduler);
    scheduler.setConnections(8);
    expect((scheduler.next('only', 10) as Assignment).range.start).toBe(GiB);
    expect(long.end).toBe(GiB);
  });

  test.each<[string, (scheduler: Scheduler) => void]>([
    ['a reader waits for other bytes', (scheduler) => scheduler.prefer(50 * MiB)],
    ['another source is found', (scheduler) => scheduler.addSource('other')],
  ])('is cut to the size of others when %s', (_, happens) => {
    const scheduler = schedule();
    const long = first(scheduler);
    const at = bring(scheduler, long, 0, 2 * MiB, 100);
    happens(scheduler);
    scheduler.setConnections(2);
    const next = scheduler.next('only', 700) as Assignment;
    expect(next.range.start).toBeGreaterThanOrEqual(long.end);
    expect(long.end).toBeGreaterThan(at);
    expect(long.end).toBeLessThan(50 * MiB);
  });

  test('keeps its bytes at the end of the file where one connection is enough', () => {
    const scheduler = schedule(10 * MiB);
    bring(scheduler, first(scheduler), 0, 9 * MiB, 100);
    expect(scheduler.next('only', 700)).toBeUndefined();
  });

  test('that stands still is left to another connection', () => {
    const scheduler = schedule(10 * MiB);
    const long = first(scheduler);
    const at = bring(scheduler, long, 0, MiB, 100);
    expect(scheduler.next('only', 20_000)?.range).toEqual({ start: at, end: 10 * MiB });
    expect(long.end).toBe(at);
  });

  test('with connections that come and go, each byte is asked for once', () => {
    const seed = 20261125;
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    for (let game = 0; game < 50; game++) {
      const scheduler = schedule(Math.ceil(random() * 20 * MiB));
      const running = new Map<Assignment, number>();
      const brought = new RangeSet();
      let bytes = 0;
      for (let now = 0; !scheduler.done; now += 600) {
        const count = 1 + Math.floor(random() * 8);
        scheduler.setConnections(count, random() < 0.2);
        while (running.size < count) {
          const request = scheduler.next('only', now);
          if (request === undefined) break;
          running.set(request, request.range.start);
        }
        for (const [request, at] of running) {
          const end = bring(scheduler, request, at, Math.ceil(random() * MiB), now);
          if (end > at) brought.add({ start: at, end });
          bytes += Math.max(0, end - at);
          running.set(request, end);
          if (end < request.end) continue;
          running.delete(request);
          scheduler.onEnd(request, 'complete', now + 550);
        }
      }
      expect(brought.bytes).toBe(bytes);
    }
  });
});
