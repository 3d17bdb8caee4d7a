import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ByteRange, intersect, RangeSet } from '../../base/byte-range.ts';
import { type Random, seededRandom } from '../../base/clock.ts';
import { type Assignment, Scheduler, type SchedulerOptions } from './scheduler.ts';

const KiB = 1024;
const SOURCES = ['a', 'b', 'c', 'd'];
/** Bytes that a source sends at a time. */
const SPEEDS = [400 * KiB, 30 * KiB, 2 * KiB, 100 * KiB];

const speed = ({ assignment }: Reading) => SPEEDS[SOURCES.indexOf(assignment.source)] as number;

/** A request being answered, in order. */
interface Reading {
  readonly assignment: Assignment;
  at: number;
}

const unread = ({ assignment, at }: Reading): ByteRange => ({
  start: at,
  end: Math.max(at, assignment.end),
});

/** Simulates a random network for a scheduler, and keeps its own account of all bytes. */
class Game {
  readonly scheduler: Scheduler;
  readonly options: SchedulerOptions;
  readonly copies: number;
  readonly stored = new RangeSet();
  readonly random: Random;
  readings: Reading[] = [];
  sources: string[] = [];
  twice = 0;
  now = 0;

  /**
   * Parts that each source has; undefined: the whole file. At least one source has each byte.
   */
  readonly held: readonly (RangeSet | undefined)[];

  constructor(
    options: SchedulerOptions,
    seed: number,
    held: readonly (RangeSet | undefined)[] = [],
  ) {
    this.options = options;
    this.held = held;
    this.copies = options.mode === 'basic' ? 1 : (options.copies ?? 2);
    this.scheduler = new Scheduler(options, 0);
    this.random = seededRandom(seed);
    for (const id of SOURCES) this.addSource(id);
  }

  below(n: number): number {
    return Math.floor(this.random() * n);
  }

  addSource(id: string): void {
    const chunkBytes = 128 * KiB;
    const mine = SOURCES.indexOf(id);
    const owns = (position: number) => (position / chunkBytes) % 3 === mine;
    const held = this.held[mine];
    const holds = held && ((position: number) => held.ranges.find(({ end }) => end > position));
    this.scheduler.addSource(id, { ...(mine % 2 === 0 ? { owns, chunkBytes } : {}), holds });
    this.sources.push(id);
  }

  ask(id: string): boolean {
    const assignment = this.scheduler.next(id, this.now);
    if (assignment === undefined) return false;
    const { range } = assignment;
    if (range.start >= range.end) throw new Error('an empty request');
    if (this.held[SOURCES.indexOf(id)]?.covers(range) === false) {
      throw new Error('a source is asked for bytes that it does not have');
    }
    this.readings.push({ assignment, at: range.start });
    this.checkClaims();
    return true;
  }

  read(reading: Reading, bytes: number): void {
    const { start, end } = unread(reading);
    const range = { start, end: Math.min(end, start + bytes) };
    if (range.start >= range.end) return;
    reading.at = range.end;
    this.twice += this.stored.bytesWithin(range);
    this.stored.add(range);
    const outdone = this.scheduler.onBytes(reading.assignment, range, this.now);
    // The caller ends these requests later.
    for (const other of this.readings) {
      if (outdone.includes(other.assignment) && this.random() < 0.7) this.end(other, 'cancelled');
    }
    if (this.twice > this.options.redundantBytes) throw new Error('too much came in twice');
  }

  end(reading: Reading, outcome: 'complete' | 'failed' | 'cancelled'): void {
    this.readings = this.readings.filter((r) => r !== reading);
    this.scheduler.onEnd(reading.assignment, outcome, this.now);
  }

  step(): void {
    const what = this.random();
    const reading = this.readings[this.below(this.readings.length)];
    this.now += this.random() < 0.02 ? 8000 : this.below(200);
    if (what < 0.35 && this.readings.length < this.options.connections) {
      this.ask(this.sources[this.below(this.sources.length)] as string);
    } else if (what < 0.9 && reading !== undefined) {
      this.read(reading, 1 + this.below(speed(reading)));
      if (reading.at >= reading.assignment.end) this.end(reading, 'complete');
    } else if (what < 0.92 && reading !== undefined) {
      this.end(reading, 'failed');
    } else if (what < 0.93) {
      const position = this.below(this.options.length);
      this.scheduler.prefer(this.random() < 0.4 ? undefined : position, this.below(512 * KiB));
    } else if (what < 0.935) {
      const start = this.below(this.options.length);
      const range = { start, end: start + this.below(100 * KiB) };
      for (let times = 1 + this.below(2); times > 0; times--) this.scheduler.discard(range);
      this.stored.remove(range);
    } else if (what < 0.94 && this.sources.length > 1) {
      const [gone] = this.sources.splice(this.below(this.sources.length), 1);
      for (const r of this.readings) if (r.assignment.source === gone) this.end(r, 'cancelled');
    } else if (what < 0.95) {
      const missing = SOURCES.find((id) => !this.sources.includes(id));
      if (missing !== undefined) this.addSource(missing);
    }
  }

  /** Checks that no byte is requested twice from one source, nor more often than allowed. */
  checkClaims(): void {
    const claims = this.readings.map((r) => ({ ...unread(r), source: r.assignment.source }));
    for (const claim of claims) {
      const others = claims.filter((c) => intersect(c, claim) !== undefined);
      const at = (position: number) =>
        others.filter((c) => c.start <= position && position < c.end).length;
      if (others.some((c) => c !== claim && c.source === claim.source)) {
        throw new Error('asked for twice at one source');
      }
      if (others.some((c) => at(c.start) > this.copies)) throw new Error('too many copies');
    }
  }

  /** Runs the download to its end, without any more failures. */
  finish(): void {
    const away = this.held.length > 0 ? SOURCES.filter((id) => !this.sources.includes(id)) : [];
    for (const id of away) this.addSource(id);
    for (let i = 0; !this.scheduler.done; i++) {
      if (i > 100_000) throw new Error('it takes for ever');
      const id = this.sources[i % this.sources.length] as string;
      const asked = this.readings.length < this.options.connections && this.ask(id);
      const idle = !asked && this.readings.length === 0;
      // A source without the missing bytes gets nothing, nor does one that has waited in vain while
      // another wants work: that other one gets it when it asks.
      if (idle && !this.sources.some((other) => this.ask(other))) {
        throw new Error('nobody does anything');
      }
      const reading = this.readings[this.below(this.readings.length)] as Reading;
      this.now += 20;
      this.read(reading, 1 + this.below(speed(reading)));
      if (reading.at >= reading.assignment.end) this.end(reading, 'complete');
    }
  }
}

/** Distributes the parts of a file to sources, each part to at least one. */
function dealt(length: number, partBytes: number, seed: number): RangeSet[] {
  const random = seededRandom(seed);
  const held = SOURCES.map(() => new RangeSet());
  for (let start = 0; start < length; start += partBytes) {
    const part = { start, end: Math.min(length, start + partBytes) };
    const sure = Math.floor(random() * held.length);
    for (const [i, one] of held.entries()) if (i === sure || random() < 0.3) one.add(part);
  }
  return held;
}

const OPTIONS = {
  length: fc.integer({ min: 1, max: 8 * 1024 * KiB }),
  gridBytes: fc.constantFrom(undefined, 64 * KiB, 1024 * KiB),
  mode: fc.constantFrom('basic' as const, 'aggressive' as const, 'progress' as const),
  copies: fc.constantFrom(undefined, 1, 3),
  progress: fc.constantFrom(undefined, 0, 2),
  redundantBytes: fc.constantFrom(0, 10_000, 160 * KiB, 4096 * KiB),
  connections: fc.integer({ min: 1, max: 12 }),
};

describe('Scheduler', () => {
  test('under any events, every byte is stored in the end and none is requested too often', () => {
    fc.assert(
      fc.property(fc.record(OPTIONS), fc.integer(), (options, seed) => {
        const game = new Game(options, seed);
        for (let i = 0; i < 300; i++) game.step();
        game.finish();
        expect(game.stored.bytes).toBe(options.length);
        expect(game.scheduler.redundantBytesSpent).toBe(game.twice);
        for (const id of game.sources) expect(game.scheduler.next(id, game.now)).toBeUndefined();
      }),
      { numRuns: 150 },
    );
  });

  test('sources with parts of the file are asked only for those parts, and bring the whole file', () => {
    fc.assert(
      fc.property(
        fc.record(OPTIONS),
        fc.constantFrom(40_000, 128 * KiB, 1000 * KiB),
        fc.subarray([0, 1, 2, 3]),
        fc.integer(),
        (options, partBytes, whole, seed) => {
          const parts = dealt(options.length, partBytes, seed);
          const held = parts.map((part, i) => (whole.includes(i) ? undefined : part));
          const game = new Game(options, seed, held);
          for (let i = 0; i < 300; i++) game.step();
          game.finish();
          expect(game.stored.bytes).toBe(options.length);
          expect(game.scheduler.redundantBytesSpent).toBe(game.twice);
        },
      ),
      { numRuns: 80 },
    );
  });

  test('bytes stored by an earlier run are not requested', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(1000 * KiB), fc.nat(300 * KiB)), { maxLength: 8 }),
        fc.integer(),
        (parts, seed) => {
          const options = { length: 1024 * KiB, redundantBytes: 0, connections: 3 };
          const game = new Game({ ...options, mode: 'progress' }, seed);
          for (const [start, bytes] of parts) {
            const range = { start, end: Math.min(options.length, start + bytes) };
            game.scheduler.addStored(range);
            game.stored.add(range);
          }
          game.finish();
          expect(game.twice).toBe(0);
        },
      ),
    );
  });

  test('a source that drips keeps no byte from coming, though the client stands still and links break', () => {
    fc.assert(
      fc.property(
        fc.record({ ...OPTIONS, redundantBytes: fc.constantFrom(0, 4096 * KiB) }),
        fc.integer(),
        (options, seed) => {
          const dripping = new Dripping(options, seed);
          dripping.run();
          expect(dripping.scheduler.done).toBe(true);
          expect(dripping.readings).toEqual([]);
        },
      ),
      { numRuns: 150 },
    );
  });
});

/** Simulated time in which 8 MiB come from the good source, with many times that in reserve. */
const LONGEST_MS = 40_000;
const TICK_MS = 20;

/** A good source and one that drips, for a client that stands still again and again. */
class Dripping {
  readonly scheduler: Scheduler;
  readonly connections: number;
  readonly random: Random;
  readings: (Reading & { readonly since: number; sentAt: number })[] = [];
  now = 0;

  constructor(options: SchedulerOptions, seed: number) {
    this.scheduler = new Scheduler(options, 0);
    this.connections = options.connections;
    this.random = seededRandom(seed);
    for (const id of ['good', 'drip']) this.scheduler.addSource(id);
  }

  /** Runs until every request has ended, or for `LONGEST_MS`. */
  run(): void {
    while ((!this.scheduler.done || this.readings.length > 0) && this.now < LONGEST_MS) {
      // A process that stood still looks at its clock first, and reads what has come later.
      this.now += this.random() < 0.02 ? 300 + this.random() * 1200 : TICK_MS;
      while (this.readings.length < this.connections && (this.ask('drip') || this.ask('good'))) {}
      if (!this.readings.some(({ assignment }) => assignment.source === 'good')) this.ask('good');
      // All connections to a source break.
      const broken = this.random() < 0.03 ? (this.random() < 0.5 ? 'good' : 'drip') : undefined;
      for (const reading of this.readings) {
        if (reading.assignment.source === broken) this.end(reading, 'failed');
        else this.read(reading);
      }
    }
  }

  ask(source: string): boolean {
    const assignment = this.scheduler.next(source, this.now);
    if (assignment === undefined) return false;
    const { start } = assignment.range;
    this.readings.push({ assignment, at: start, since: this.now, sentAt: this.now });
    return true;
  }

  /** Brings what the reading's source has sent by now. */
  read(reading: (typeof this.readings)[number]): void {
    const { assignment, since, at } = reading;
    if (!this.readings.includes(reading) || this.now - since < 2 * TICK_MS) return;
    let bytes = 100 * KiB;
    if (assignment.source === 'drip') {
      const isFirst = at === assignment.range.start;
      if (!isFirst && this.now - reading.sentAt < 200) return;
      bytes = isFirst ? 1000 : 1;
    }
    const range = { start: at, end: Math.min(assignment.end, at + bytes) };
    if (range.start < range.end) {
      reading.at = range.end;
      reading.sentAt = this.now;
      const outdone = this.scheduler.onBytes(assignment, range, this.now);
      for (const other of this.readings) {
        if (outdone.includes(other.assignment)) this.end(other, 'cancelled');
      }
    }
    if (reading.at >= assignment.end) this.end(reading, 'complete');
  }

  end(reading: (typeof this.readings)[number], outcome: 'complete' | 'failed' | 'cancelled'): void {
    if (!this.readings.includes(reading)) return;
    this.readings = this.readings.filter((r) => r !== reading);
    this.scheduler.onEnd(reading.assignment, outcome, this.now);
  }
}
