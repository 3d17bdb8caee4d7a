/** Requests of a scheduler, answered by hand; for tests only. */

import type { ByteRange } from '../src/base/byte-range.ts';
import {
  type Assignment,
  Scheduler,
  type SchedulerOptions,
} from '../src/download/scheduler/scheduler.ts';

export const KiB = 1024;
export const MiB = 1024 * KiB;

/** Makes a scheduler of a file of 64 MiB that knows these sources. */
export const schedule = (options: Partial<SchedulerOptions> = {}, sources = ['near']) => {
  const scheduler = new Scheduler(
    { length: 64 * MiB, mode: 'progress', redundantBytes: 0, connections: 4, ...options },
    0,
  );
  for (const source of sources) scheduler.addSource(source);
  return scheduler;
};

/** An assigned request, read in order as a body is. */
export class Reading {
  at: number;
  readonly assignment: Assignment;
  constructor(assignment: Assignment) {
    this.assignment = assignment;
    this.at = assignment.range.start;
  }
  get unread(): ByteRange {
    return { start: this.at, end: Math.max(this.at, this.assignment.end) };
  }
  /** Reads up to `bytes`. @returns the requests that this has made superfluous */
  read(scheduler: Scheduler, bytes: number, now: number): readonly Assignment[] {
    const end = Math.min(this.assignment.end, this.at + bytes);
    if (end <= this.at) return [];
    const range = { start: this.at, end };
    this.at = end;
    return scheduler.onBytes(this.assignment, range, now);
  }
}

/** Takes the next request of a source; undefined if there is none. */
export const take = (scheduler: Scheduler, source = 'near', now = 0) => {
  const assignment = scheduler.next(source, now);
  return assignment === undefined ? undefined : new Reading(assignment);
};

/** Answers a request at `bytesPerSecond` until it is complete. @returns when it ends */
export function finish(
  scheduler: Scheduler,
  reading: Reading,
  bytesPerSecond: number,
  from: number,
) {
  let now = from;
  while (reading.at < reading.assignment.end) {
    now += 50;
    reading.read(scheduler, Math.ceil(bytesPerSecond / 20), now);
  }
  scheduler.onEnd(reading.assignment, 'complete', now);
  return now;
}

/** Answers a request for half a second, `bytes` at a time. @returns when it ends */
export function trickle(scheduler: Scheduler, reading: Reading, bytes: number, from: number) {
  for (let now = from + 50; now <= from + 500; now += 50) reading.read(scheduler, bytes, now);
  return from + 500;
}
