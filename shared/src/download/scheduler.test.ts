import { describe, expect, test } from '@jest/globals';
import type { ByteRange } from '../base/byte-range.ts';
import { type Assignment, Scheduler, type SchedulerOptions } from './scheduler.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

const schedule = (options: Partial<SchedulerOptions> = {}, sources = ['near']) => {
  const scheduler = new Scheduler(
    { length: 64 * MiB, mode: 'progress', redundantBytes: 0, connections: 4, ...options },
    0,
  );
  for (const source of sources) scheduler.addSource(source);
  return scheduler;
};

/** A request that has been given out, read in order as a body is. */
class Reading {
  at: number;
  readonly assignment: Assignment;
  constructor(assignment: Assignment) {
    this.assignment = assignment;
    this.at = assignment.range.start;
  }
  get unread(): ByteRange {
    return { start: this.at, end: Math.max(this.at, this.assignment.end) };
  }
  /** Reads up to so many bytes; the requests that it has made superfluous. */
  read(scheduler: Scheduler, bytes: number, now: number): readonly Assignment[] {
    const end = Math.min(this.assignment.end, this.at + bytes);
    if (end <= this.at) return [];
    const range = { start: this.at, end };
    this.at = end;
    return scheduler.onBytes(this.assignment, range, now);
  }
}

const take = (scheduler: Scheduler, source = 'near', now = 0) => {
  const assignment = scheduler.next(source, now);
  return assignment === undefined ? undefined : new Reading(assignment);
};

/** The request is answered at `bytesPerSecond` until it is complete. */
function finish(scheduler: Scheduler, reading: Reading, bytesPerSecond: number, from: number) {
  let now = from;
  while (reading.at < reading.assignment.end) {
    now += 50;
    reading.read(scheduler, Math.ceil(bytesPerSecond / 20), now);
  }
  scheduler.onEnd(reading.assignment, 'complete', now);
  return now;
}

describe('Scheduler', () => {
  test('a file is fetched from its beginning, each byte once', () => {
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

  test('a source nothing is known of gets a small request, a fast one then a large one', () => {
    const scheduler = schedule({ length: 1024 * MiB });
    const first = take(scheduler) as Reading;
    expect(first.assignment.range).toEqual({ start: 0, end: 256 * KiB });
    let now = finish(scheduler, first, 10 * MiB, 0);
    for (let i = 0; i < 6; i++)
      now = finish(scheduler, take(scheduler, 'near', now) as Reading, 10 * MiB, now);
    const { range } = (take(scheduler, 'near', now) as Reading).assignment;
    expect(range.end - range.start).toBeGreaterThan(16 * MiB);
    expect(range.end % (64 * KiB)).toBe(0);
  });
});
