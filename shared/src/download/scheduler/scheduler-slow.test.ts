import { describe, expect, test } from '@jest/globals';
import { finish, KiB, MiB, type Reading, schedule, take } from '../../../testing/scheduled.ts';
import type { ByteRange } from '../../base/byte-range.ts';
import type { Assignment, SchedulerOptions } from './scheduler.ts';

describe('the last requests', () => {
  /** A slow request has brought 10 KiB in 2.5 s; a fast source has brought all the rest. */
  function tail(options: Partial<SchedulerOptions> = {}) {
    const scheduler = schedule({ length: 9 * MiB, ...options }, ['slow', 'fast']);
    const slow = take(scheduler, 'slow') as Reading;
    const fast = take(scheduler, 'fast') as Reading;
    finish(scheduler, fast, 10 * MiB, 0);
    scheduler.addStored({ start: fast.at, end: 9 * MiB });
    let now = 0;
    for (; slow.at < 10 * KiB; now += 250) slow.read(scheduler, KiB, now + 250);
    return { scheduler, slow, now };
  }

  test('a free connection takes over the end of a slow request, and nothing is fetched twice', () => {
    const { scheduler, slow, now } = tail();
    const { end } = slow.assignment;
    const fast = take(scheduler, 'fast', now) as Reading;
    expect(fast.assignment.redundant).toBe(false);
    expect(fast.assignment.range.start).toBeLessThan(50 * KiB);
    expect(fast.assignment.range.end).toBe(end);
    // The rest is too small to leave to the slow request, which ends with the first bytes.
    expect(slow.assignment.end).toBeLessThanOrEqual(fast.assignment.range.start);
    expect(fast.read(scheduler, 1000, now + 50)).toEqual([slow.assignment]);
    expect(fast.read(scheduler, 1000, now + 60)).toEqual([]);
    scheduler.onEnd(slow.assignment, 'cancelled', now + 60);
    finish(scheduler, fast, 10 * MiB, now + 60);
    expect(scheduler.done).toBe(true);
    expect(scheduler.redundantBytesSpent).toBe(0);
  });

  test('no source counts as slow while the client holds its sources back', () => {
    const { scheduler, now } = tail();
    scheduler.throttle(true);
    expect(scheduler.next('fast', now)).toBeUndefined();
    scheduler.throttle(false);
    expect(scheduler.next('fast', now)).toBeDefined();
  });

  test('a slow source does not take over from a fast one', () => {
    const { scheduler, slow, now } = tail();
    const fast = take(scheduler, 'fast', now) as Reading;
    fast.read(scheduler, 16 * KiB, now + 50);
    scheduler.onEnd(slow.assignment, 'cancelled', now + 50);
    expect(scheduler.next('slow', now + 60)).toBeUndefined();
  });

  test('a source that has fallen silent loses its requests, and gets no new ones', () => {
    const scheduler = schedule({ length: 64 * MiB, connections: 2 }, ['a', 'b']);
    const [a, b] = [take(scheduler, 'a') as Reading, take(scheduler, 'b') as Reading];
    let now = 0;
    for (; now < 200; now += 20) for (const r of [a, b]) r.read(scheduler, 8 * KiB, now + 20);
    scheduler.addStored({ start: b.assignment.end, end: 64 * MiB });
    now = finish(scheduler, b, MiB, now) + 3000;
    expect(scheduler.forecast('a', now)).toBe(0);
    expect(scheduler.next('a', now)).toBeUndefined();
    const rest = take(scheduler, 'b', now) as Reading;
    expect(rest.assignment.range).toEqual({ start: a.at, end: a.assignment.range.end });
    expect(a.assignment.end).toBe(a.at);
    // The silent source is tried again, and trusted again once it sends bytes.
    scheduler.onEnd(a.assignment, 'cancelled', now);
    scheduler.onEnd(rest.assignment, 'failed', now);
    const probe = take(scheduler, 'a', now) as Reading;
    probe.read(scheduler, 10, now + 20);
    expect(scheduler.forecast('a', now + 20)).toBeGreaterThan(0);
  });
});

describe('a source that drips', () => {
  /** A source has brought 10 KiB in 2.5 s; another one has brought what follows its request. */
  function dripping() {
    const scheduler = schedule({ length: 9 * MiB }, ['drip', 'good']);
    const drip = take(scheduler, 'drip') as Reading;
    const good = take(scheduler, 'good') as Reading;
    finish(scheduler, good, 10 * MiB, 0);
    scheduler.addStored({ start: drip.assignment.end, end: 9 * MiB });
    let now = 0;
    for (; drip.at < 10 * KiB; now += 250) drip.read(scheduler, KiB, now + 250);
    return { scheduler, drip, now };
  }

  test('loses its bytes to a source whose last request ended while it was silent', () => {
    const { scheduler, drip, now } = dripping();
    const { end } = drip.assignment;
    const lost = take(scheduler, 'good', now) as Reading;
    // The request stands still: the slow source takes its bytes back.
    scheduler.onEnd(drip.assignment, 'cancelled', now);
    const slow = take(scheduler, 'drip', now + 2000) as Reading;
    expect(slow.read(scheduler, 1, now + 2010)).toEqual([lost.assignment]);
    scheduler.onEnd(lost.assignment, 'cancelled', now + 2020);
    expect(scheduler.forecast('good', now + 2020)).toBe(0);
    const again = take(scheduler, 'good', now + 2030) as Reading;
    expect(again.assignment.end).toBe(end);
    // Its answer has time to come before the slow source may have the bytes back.
    expect(scheduler.next('drip', now + 2100)).toBeUndefined();
    finish(scheduler, again, MiB, now + 2110);
    expect(scheduler.forecast('good', now + 2120)).toBeGreaterThan(0);
  });

  test('loses its bytes to a source that nothing is known of, however slow that may be', () => {
    const scheduler = schedule({ length: 20 * KiB }, ['drip', 'unknown']);
    const drip = take(scheduler, 'drip') as Reading;
    let now = 0;
    for (; now < 3000; now += 250) drip.read(scheduler, 100, now);
    const trial = take(scheduler, 'unknown', now) as Reading;
    expect(trial.assignment.range).toEqual({ start: drip.at, end: 20 * KiB });
  });

  test('loses its bytes once, not to one unknown source after the other', () => {
    const scheduler = schedule({ length: 20 * KiB }, ['drip', 'one', 'two']);
    const drip = take(scheduler, 'drip') as Reading;
    let now = 0;
    for (; now < 3000; now += 250) drip.read(scheduler, 100, now);
    const trial = take(scheduler, 'one', now) as Reading;
    expect(trial.assignment.range.start).toBe(drip.at);
    scheduler.onEnd(drip.assignment, 'cancelled', now);
    for (; now < 3500; now += 50) {
      expect(scheduler.next('two', now)).toBeUndefined();
      expect(scheduler.next('drip', now)).toBeUndefined();
    }
  });

  test('does not take its bytes back from an unknown source that was silent, and is asked again', () => {
    const scheduler = schedule({ length: 20 * KiB }, ['drip', 'silent']);
    const silent = take(scheduler, 'silent') as Reading;
    // The client stood still: nothing had been read when others were asked.
    const drip = take(scheduler, 'drip', 3000) as Reading;
    expect(drip.assignment.range).toEqual({ start: 0, end: 20 * KiB });
    scheduler.onEnd(silent.assignment, 'cancelled', 3000);
    let now = 3000;
    for (; now < 6000; now += 200) drip.read(scheduler, 100, now);
    const again = take(scheduler, 'silent', now) as Reading;
    expect(again.assignment.range.end).toBe(20 * KiB);
    scheduler.next('drip', now + 20);
    expect(again.assignment.end).toBe(20 * KiB);
  });

  test('takes a source for alive whose bytes others have brought by now', () => {
    const scheduler = schedule({ length: 20 * KiB }, ['one']);
    const one = take(scheduler, 'one') as Reading;
    expect(scheduler.forecast('one', 3000)).toBe(0);
    scheduler.onSurplus('one', 3000);
    scheduler.onEnd(one.assignment, 'cancelled', 3000);
    expect(scheduler.forecast('one', 3100)).toBeUndefined();
  });

  test('ends when others have stored the rest, although it was cut to that rest afterwards', () => {
    const { scheduler, drip, now } = dripping();
    const { end } = drip.assignment;
    // An earlier request has stored all but the last 100 KiB of what the slow one has to bring.
    scheduler.addStored({ start: drip.at, end: end - 100 * KiB });
    const last = take(scheduler, 'good', now) as Reading;
    expect(last.assignment.range).toEqual({ start: end - 100 * KiB, end });
    expect(last.read(scheduler, 1, now + 10)).toEqual([drip.assignment]);
  });

  test('ends with its own byte if others have stored all that follows it', () => {
    const { scheduler, drip, now } = dripping();
    scheduler.addStored({ start: drip.at + 1, end: drip.assignment.end });
    expect(drip.read(scheduler, 1, now + 10)).toEqual([drip.assignment]);
    expect(scheduler.done).toBe(true);
  });
});

describe('one source only', () => {
  const both = () => {
    const scheduler = schedule({ length: 512 * KiB, connections: 2 });
    const [stuck, other] = [take(scheduler) as Reading, take(scheduler) as Reading];
    stuck.read(scheduler, 10 * KiB, 20);
    scheduler.addStored({ start: other.assignment.end, end: 512 * KiB });
    return { scheduler, stuck, other };
  };

  test('a connection that has died is replaced as soon as another one is free', () => {
    const { scheduler, stuck, other } = both();
    const now = finish(scheduler, other, 64 * KiB, 0);
    expect(take(scheduler, 'near', now)?.assignment.range).toEqual({
      start: 10 * KiB,
      end: stuck.assignment.range.end,
    });
  });

  test('if all connections have died, requests are repeated at intervals', () => {
    const { scheduler, stuck, other } = both();
    scheduler.onEnd(other.assignment, 'failed', 30);
    const hung = [stuck, take(scheduler, 'near', 30) as Reading];
    scheduler.addStored({ start: (hung[1] as Reading).assignment.end, end: 512 * KiB });
    for (let now = 30; now < 5000; now += 200) {
      expect(scheduler.next('near', now)).toBeUndefined();
    }
    for (const request of hung) {
      expect(take(scheduler, 'near', 5400)?.assignment.range.start).toBe(request.at);
      expect(request.assignment.end).toBe(request.at);
    }
    expect(scheduler.next('near', 5600)).toBeUndefined();
  });
});

describe('redundancy', () => {
  /** One source is late with the first block while another brings block after block. */
  function overtake(options: Partial<SchedulerOptions>) {
    const scheduler = schedule({ length: 256 * MiB, ...options }, ['late', 'other']);
    const late = take(scheduler, 'late') as Reading;
    late.read(scheduler, 1000, 100);
    let now = 0;
    const redundant: Assignment[] = [];
    for (let i = 0; i < 12; i++) {
      const reading = take(scheduler, 'other', now) as Reading;
      if (reading.assignment.redundant) redundant.push(reading.assignment);
      now = finish(scheduler, reading, 4 * MiB, now);
    }
    return { scheduler, late, redundant };
  }

  test('a request that more than P have overtaken is repeated at another source', () => {
    const { late, redundant } = overtake({ redundantBytes: 8 * MiB });
    expect(redundant.map((a) => [a.source, a.range])).toEqual([
      ['other', { start: 1000, end: late.assignment.end }],
    ]);
  });

  test.each([
    ['in basic mode', { mode: 'basic', redundantBytes: 8 * MiB }],
    ['where no byte may come in twice', { redundantBytes: 0 }],
    ['where R is 1', { copies: 1, redundantBytes: 8 * MiB }],
    ['while no more than P have overtaken it', { progress: 99, redundantBytes: 8 * MiB }],
  ] as const)('no request is repeated %s', (_name, options) => {
    expect(overtake(options).redundant).toEqual([]);
  });

  test('a repeated request is cut to the bytes that are allowed', () => {
    const { redundant } = overtake({ redundantBytes: 200 * KiB });
    // Half of the allowed bytes are kept for the end.
    expect(redundant.map((a) => a.range)).toEqual([{ start: 1000, end: 1000 + 100 * KiB }]);
  });
});

test.each([
  ['end', { start: 192 * KiB, end: 256 * KiB }],
  ['middle', { start: 64 * KiB, end: 128 * KiB }],
])(
  'a request that stands still, after an answer out of order brought its %s, is taken over without these bytes',
  (_, part) => {
    const scheduler = schedule({ length: 1024 * MiB }, ['near', 'far']);
    const first = take(scheduler) as Reading;
    expect(first.assignment.range).toEqual({ start: 0, end: 256 * KiB });
    scheduler.addStored({ start: 256 * KiB, end: 1024 * MiB });
    scheduler.onBytes(first.assignment, part, 10);
    const asked: ByteRange[] = [];
    for (let now = 1000; now < 60_000 && asked.length < 8; now += 200) {
      const next = scheduler.next('near', now);
      if (next === undefined) continue;
      asked.push(next.range);
      scheduler.onEnd(next, 'failed', now + 100);
    }
    expect(asked.length).toBeGreaterThan(0);
    for (const range of asked) {
      expect(scheduler.missing(range)).toEqual([range]);
    }
  },
);
