import { describe, expect, test } from '@jest/globals';
import {
  finish,
  KiB,
  MiB,
  type Reading,
  schedule,
  take,
  trickle,
} from '../../../testing/scheduled.ts';
import type { ByteRange } from '../../base/byte-range.ts';

describe('Scheduler', () => {
  test('fetches a file from its beginning, each byte once', () => {
    const scheduler = schedule({ length: 3 * MiB });
    const parts: ByteRange[] = [];
    let now = 0;
    while (!scheduler.done) {
      const reading = take(scheduler, 'near', now) as Reading;
      parts.push(reading.assignment.range);
      now = finish(scheduler, reading, MiB, now);
    }
    expect(parts[0]?.start).toBe(0);
    expect(parts.at(-1)?.end).toBe(3 * MiB);
    for (const [i, part] of parts.slice(1).entries()) expect(part.start).toBe(parts[i]?.end);
    expect(scheduler.next('near', now)).toBeUndefined();
    expect(scheduler.redundantBytesSpent).toBe(0);
  });

  test('an unknown source gets a small request, and a large one once it is known to be fast', () => {
    const scheduler = schedule({ length: 1024 * MiB }, ['near', 'far']);
    const first = take(scheduler) as Reading;
    expect(first.assignment.range).toEqual({ start: 0, end: 256 * KiB });
    let now = finish(scheduler, first, 10 * MiB, 0);
    for (let i = 0; i < 6; i++)
      now = finish(scheduler, take(scheduler, 'near', now) as Reading, 10 * MiB, now);
    const { range } = (take(scheduler, 'near', now) as Reading).assignment;
    expect(range.end - range.start).toBeGreaterThan(16 * MiB);
    expect(range.end % (64 * KiB)).toBe(0);
  });

  test('an only server gets a larger first request, but an edge whose peers may be found does not', () => {
    const bytesOf = (hasPeers: boolean) => {
      const scheduler = schedule({ length: 1024 * MiB }, []);
      scheduler.addSource('one', { hasPeers });
      const { range } = (take(scheduler, 'one') as Reading).assignment;
      return range.end - range.start;
    };
    expect(bytesOf(true)).toBe(256 * KiB);
    expect(bytesOf(false)).toBeGreaterThan(MiB);
  });

  test('bytes stored by an earlier run are skipped, and wrong ones are fetched again', () => {
    const scheduler = schedule({ length: 1 * MiB });
    scheduler.addStored({ start: 0, end: 300_000 });
    scheduler.addStored({ start: 400_000, end: MiB });
    let now = 0;
    while (!scheduler.done) {
      const reading = take(scheduler, 'near', now) as Reading;
      expect(reading.at).toBeGreaterThanOrEqual(300_000);
      now = finish(scheduler, reading, MiB, now);
      expect(reading.at).toBeLessThanOrEqual(400_000);
    }
    for (let i = 0; i < 2; i++) scheduler.discard({ start: 5, end: 10 });
    expect(scheduler.done).toBe(false);
    expect(scheduler.isStored({ start: 0, end: 6 })).toBe(false);
    expect(take(scheduler, 'near', now)?.assignment.range).toEqual({ start: 5, end: 10 });
  });

  test('bytes that a failed request did not bring are free for others at once', () => {
    const scheduler = schedule({}, ['near', 'far']);
    const reading = take(scheduler) as Reading;
    reading.read(scheduler, 1000, 10);
    scheduler.onEnd(reading.assignment, 'failed', 20);
    expect(take(scheduler, 'far', 20)?.assignment.range.start).toBe(1000);
  });

  test.each([0, -1, 1.5, Number.NaN])('a file of %d bytes is refused', (length) => {
    expect(() => schedule({ length })).toThrow('nothing to schedule');
  });
});

describe('a reader', () => {
  test('gets the bytes that it needs first, wherever it seeks', () => {
    const scheduler = schedule();
    for (const position of [10 * MiB, 40 * MiB, 5 * MiB]) {
      scheduler.prefer(position);
      const reading = take(scheduler) as Reading;
      expect(reading.assignment.range.start).toBe(position);
      scheduler.onEnd(reading.assignment, 'failed', 0);
    }
    scheduler.prefer(undefined);
    expect(take(scheduler)?.assignment.range.start).toBe(0);
  });

  test('gets bytes before its position once all later bytes are stored', () => {
    const scheduler = schedule();
    scheduler.addStored({ start: 8 * MiB, end: 64 * MiB });
    scheduler.prefer(8 * MiB);
    expect(take(scheduler)?.assignment.range.start).toBe(0);
  });

  test('does not wait for a slow source, which begins further on', () => {
    const scheduler = schedule({ length: 1024 * MiB }, ['fast', 'slow']);
    scheduler.prefer(0);
    const warmUp = (source: string, rate: number, from: number) =>
      finish(scheduler, take(scheduler, source, from) as Reading, rate, from);
    let now = warmUp('slow', 100 * KiB, 0);
    for (let i = 0; i < 6; i++) now = warmUp('fast', 8 * MiB, now);
    const front = take(scheduler, 'fast', now) as Reading;
    for (let i = 0; i < 5; i++) {
      now += 50;
      front.read(scheduler, 400 * KiB, now);
    }
    const ahead = take(scheduler, 'slow', now) as Reading;
    expect(ahead.assignment.range.start).toBeGreaterThan(front.assignment.range.end);
  });
});

describe('edges that own chunks', () => {
  const chunkBytes = MiB;
  const owner = (n: number) => (position: number) => (position / chunkBytes) % 2 === n;

  test('are asked for their own chunks first, then for chunks of others', () => {
    const scheduler = schedule({ length: 4 * MiB, connections: 2 }, []);
    scheduler.addSource('even', { owns: owner(0), chunkBytes });
    scheduler.addSource('odd', { owns: owner(1), chunkBytes });
    const starts = new Set<number>();
    let now = 0;
    for (let i = 0; i < 100 && !scheduler.done; i++) {
      const reading = take(scheduler, 'odd', now) as Reading;
      const { start, end } = reading.assignment.range;
      // No request goes beyond the chunk that it begins in.
      expect(Math.floor((end - 1) / chunkBytes)).toBe(Math.floor(start / chunkBytes));
      starts.add(Math.floor(start / chunkBytes));
      now = finish(scheduler, reading, 2 * MiB, now);
    }
    expect([...starts]).toEqual([1, 3, 0, 2]);
    expect(scheduler.done).toBe(true);
  });
});

describe('sources that have parts of the file', () => {
  const half = 8 * MiB;
  const first = (position: number) => (position < half ? { start: 0, end: half } : undefined);
  const second = (position: number) =>
    position < 2 * half ? { start: half, end: 2 * half } : undefined;

  test('a slow source is asked for bytes that no other has, however few are left', () => {
    const scheduler = schedule({ length: 2 * half }, []);
    scheduler.addSource('fast', { holds: first });
    scheduler.addSource('slow', { holds: second });
    const slow = take(scheduler, 'slow') as Reading;
    expect(slow.assignment.range.start).toBe(half);
    let now = finish(scheduler, slow, 20 * KiB, 0);
    now = finish(scheduler, take(scheduler, 'fast', now) as Reading, 4 * MiB, now);
    const fast = take(scheduler, 'fast', now) as Reading;
    now = trickle(scheduler, fast, 200 * KiB, now);
    const { end } = fast.assignment.range;
    // There are so few bytes that the fast source, if it had them, would bring them first.
    scheduler.addStored({ start: end, end: 2 * half - 100 * KiB });
    const rest = take(scheduler, 'slow', now)?.assignment.range;
    expect(rest?.start).toBe(2 * half - 100 * KiB);
    expect(scheduler.canBring('slow')).toBe(true);
    scheduler.addStored({ start: half, end: 2 * half });
    expect(scheduler.canBring('slow')).toBe(false);
  });

  test('a reader gets the next bytes from the source that has them, fast or slow', () => {
    const scheduler = schedule({ length: 2 * half }, []);
    scheduler.addSource('fast', { holds: first });
    scheduler.addSource('slow', { holds: second });
    let now = finish(scheduler, take(scheduler, 'slow') as Reading, 100 * KiB, 0);
    now = finish(scheduler, take(scheduler, 'fast', now) as Reading, 2 * MiB, now);
    const fast = take(scheduler, 'fast', now) as Reading;
    now = trickle(scheduler, fast, 100 * KiB, now);
    scheduler.prefer(half + MiB);
    expect(take(scheduler, 'slow', now)?.assignment.range.start).toBe(half + MiB);
  });

  /** Has a slow source read the last missing bytes, which a fast one with some parts could take over. */
  function besideSlow(holds: (position: number) => ByteRange | undefined) {
    const scheduler = schedule({ length: 2 * half, connections: 3 }, ['whole']);
    scheduler.addSource('fast', { holds });
    const then = finish(scheduler, take(scheduler, 'fast') as Reading, 4 * MiB, 0);
    scheduler.addStored({ start: 0, end: half - 2 * MiB });
    scheduler.addStored({ start: half, end: 2 * half });
    const slow = take(scheduler, 'whole', then) as Reading;
    const now = trickle(scheduler, slow, 1024, then);
    scheduler.addStored({ start: slow.assignment.end, end: half });
    return { scheduler, slow, now };
  }

  test('parts may go while it is decided which of them to ask for', () => {
    for (let answers = 0; answers < 12; answers++) {
      let left = Infinity;
      const { scheduler, now } = besideSlow((at) => (left-- > 0 ? first(at) : undefined));
      left = answers;
      const range = scheduler.next('fast', now)?.range;
      if (range !== undefined) expect(first(range.start)?.end).toBeGreaterThanOrEqual(range.end);
    }
  });

  test('the end of a request is taken over only by a source that has it', () => {
    const { scheduler, slow, now: then } = besideSlow(first);
    expect(take(scheduler, 'fast', then)?.assignment.range.end).toBe(slow.assignment.range.end);

    const other = schedule({ length: 2 * half, connections: 3 }, ['whole']);
    other.addSource('fast', { holds: first });
    let now = finish(other, take(other, 'fast') as Reading, 4 * MiB, 0);
    other.addStored({ start: 0, end: 2 * half - 200 * KiB });
    const last = take(other, 'whole', now) as Reading;
    now = trickle(other, last, 1024, now);
    expect(take(other, 'fast', now)).toBeUndefined();
  });
});
