import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Answer, play } from '../../../testing/delivery-play.ts';
import { seededRandom } from '../../base/clock.ts';
import { ERRORS, type ErrorCode, isPassing, MillraceError } from '../../base/errors.ts';
import { MAX_RETRY_AFTER_WAIT_MS } from '../../base/limits.ts';
import { DeliveryMachine } from './delivery.ts';
import { MAX_BACKOFFS, RetryTimer } from './retry-timer.ts';
import { CongestionWindow } from './window.ts';

const all = (count: number) => Array.from({ length: count }, (_, i) => i);
const reset = new MillraceError('origin-reset');
/** Times at which attempts at the first slice begin if no source ever answers. */
const UNANSWERED = all(MAX_BACKOFFS + 1).map((n) => [0, 3000][n] ?? 9000 + (n - 2) * 10_000);

describe('DeliveryMachine', () => {
  test('holds one slice at a time while memory is short, and still finishes', () => {
    const short = play({ slices: 6, source: () => ({ afterMs: 100 }), spare: () => false });
    expect(short.end).toEqual({ kind: 'done' });
    expect(all(6).map((slice) => short.times('fetch', slice))).toEqual(
      all(6).map((n) => [n * 100]),
    );
    const ample = play({ slices: 6, source: () => ({ afterMs: 100 }), spare: () => true });
    expect(ample.times('fetch', 3)).toEqual([0]);
  });

  test('sends slices in order, whatever the order in which chunks come', () => {
    const run = play({ slices: 4, source: (slice) => ({ afterMs: 400 - 100 * slice }) });
    expect(run.end).toEqual({ kind: 'done' });
    expect(run.sent).toEqual([0, 1, 2, 3]);
    expect(all(4).map((slice) => run.times('send', slice))).toEqual([[400], [400], [400], [400]]);
  });

  test('sends slices as they come if the client takes them in any order', () => {
    const source = (slice: number) => ({ afterMs: 400 - 100 * slice });
    const run = play({ slices: 4, inOrder: false, source });
    expect(run.end).toEqual({ kind: 'done' });
    expect(run.sent).toEqual([3, 2, 1, 0]);
    expect(run.times('send', 3)).toEqual([100]);
  });

  test('begins no more slices than the window allows, and the next when one is sent', () => {
    const run = play({ slices: 4, max: 2, source: () => ({ afterMs: 100 }) });
    expect(all(4).map((slice) => run.times('fetch', slice))).toEqual([[0], [0], [100], [100]]);
  });

  test('a slow client slows the fetching: no more is held for it than the window', () => {
    const source = () => ({ afterMs: 10 });
    const run = play({ slices: 9, max: 3, clientMs: () => 60_000, source });
    expect(run.sent).toEqual(all(9));
    for (const slice of [3, 4, 5, 6, 7, 8]) {
      const [begun = 0] = run.times('fetch', slice);
      expect(begun).toBe((run.times('send', slice - 3)[0] ?? 0) + 60_000);
    }
  });

  test('holds no more for a slow client than it takes while a late chunk comes, and never too little', () => {
    for (const inOrder of [true, false]) {
      // Four slices at a time, 1 s each: one in 250 ms. A chunk counts as late after 500 ms.
      const o = { slices: 120, max: 32, inOrder, clientMs: () => 1000 };
      const run = play({ ...o, source: () => ({ afterMs: 20 }) });
      expect(run.end).toEqual({ kind: 'done' });
      const fetched = all(120).map((slice) => run.times('fetch', slice)[0] as number);
      const sent = all(120).map((slice) => run.times('send', slice)[0] as number);
      const held = fetched.map(
        (at, slice) => slice - sent.filter((t) => t + 1000 <= at).length + 1,
      );
      expect(Math.max(...held.slice(0, 32))).toBe(32);
      expect(Math.max(...held.slice(60))).toBeLessThanOrEqual(4 + 5);
      // The client never waits: each slice is sent when the one four before it has been taken.
      for (let i = 4; i < 120; i++) expect(sent[i]).toBe((sent[i - 4] as number) + 1000);
    }
  });

  test('a fast chunk widens the window; a chunk in memory opens it to the size that a socket takes', () => {
    const run = play({ slices: 1, max: 9, initial: 4, source: () => ({ afterMs: 100 }) });
    expect(run.window.size).toBeCloseTo(4 + 1 / Math.log(4));
    expect(run.timer.meanMs).toBe(100);
    const local = play({
      slices: 9,
      max: 9,
      initial: 2,
      source: () => ({ afterMs: 0, local: true }),
    });
    expect(local.sent).toEqual(all(9));
    expect(local.window.size).toBe(4);
    expect(local.timer.meanMs).toBe(0);
  });

  test('a late chunk is requested again; if the second request wins, the window shrinks', () => {
    const source = (_: number, attempt: number) => (attempt === 0 ? undefined : { afterMs: 100 });
    const run = play({ slices: 1, source });
    expect(run.log).toEqual([
      { at: 0, kind: 'fetch', slice: 0, attempt: 0 },
      { at: 3000, kind: 'fetch', slice: 0, attempt: 1 },
      { at: 3100, kind: 'cancel', slice: 0, attempt: 0 },
      { at: 3100, kind: 'send', slice: 0 },
      { at: 3100, kind: 'done' },
    ]);
    expect(run.window.size).toBe(3);
  });

  test('if the first attempt succeeds after all, the second is cancelled without harm', () => {
    const source = (_: number, attempt: number) => (attempt === 0 ? { afterMs: 3500 } : undefined);
    const run = play({ slices: 1, source });
    expect(run.log).toContainEqual({ at: 3500, kind: 'cancel', slice: 0, attempt: 1 });
    expect(run.end).toEqual({ kind: 'done' });
    expect(run.window.size).toBe(4);
  });

  test('attempts that share a fetch shrink the window once if its second request wins', () => {
    const alone = play({ slices: 1, source: () => ({ afterMs: 100, overtaken: true }) });
    expect(alone.window.size).toBe(3);
    const retried = play({ slices: 1, source: () => ({ afterMs: 3500, overtaken: true }) });
    expect(retried.log).toContainEqual({ at: 3500, kind: 'cancel', slice: 0, attempt: 1 });
    expect(retried.window.size).toBe(3);
    // The first attempt has been replaced, which shrank the window already.
    const source = (_: number, attempt: number) =>
      attempt < 2 ? undefined : { afterMs: 100, overtaken: true };
    expect(play({ slices: 1, source }).window.size).toBe(3);
  });

  test('a chunk that never comes is tried eleven times, two at a time, then the response fails', () => {
    const run = play({ slices: 1, source: () => undefined });
    expect(run.times('fetch', 0)).toEqual(UNANSWERED);
    expect(run.times('cancel', 0)).toEqual(UNANSWERED.slice(2));
    expect(run.end).toMatchObject({ kind: 'fail', error: { code: 'origin-timeout' } });
    // Of the killed attempts only the first shrinks the window.
    expect(run.window.size).toBe(3);
  });

  test('an attempt that makes progress is not killed, however slow it is', () => {
    const slow = { afterMs: 120_000, bytesEveryMs: 2000 };
    const run = play({ slices: 1, source: (_, n) => (n === 0 ? slow : undefined) });
    expect(run.times('fetch', 0)).toEqual([0, 3000]);
    expect(run.times('cancel', 0)).toEqual([120_000]);
    expect(run.end).toEqual({ kind: 'done' });
    expect(run.window.size).toBe(4);
  });

  test('an attempt whose progress has stopped is replaced', () => {
    const source = (_: number, n: number): Answer => {
      if (n === 0) return { afterMs: 8000, bytesEveryMs: 1000, stalls: true };
      return n === 1 ? undefined : { afterMs: 100 };
    };
    const run = play({ slices: 1, source });
    // The last bytes came at 7 s, and the patience with the second attempt is 6 s.
    expect(run.times('fetch', 0)).toEqual([0, 3000, 13_000]);
    expect(run.times('cancel', 0)).toEqual([13_000, 13_100]);
    expect(run.times('send', 0)).toEqual([13_100]);
  });

  test('after a passing failure the chunk is tried again, each time after twice the pause', () => {
    const run = play({ slices: 1, source: () => ({ afterMs: 10, error: reset }) });
    let at = 0;
    const expected = all(MAX_BACKOFFS + 1).map((n) => {
      if (n > 0) at += 10 + Math.min(10_000, 100 * 2 ** (n - 1));
      return at;
    });
    expect(run.times('fetch', 0)).toEqual(expected);
    expect(run.end).toEqual({ kind: 'fail', error: reset });
  });

  test.each([
    [0, 50],
    [0.999, 149.9],
  ])('with random value %d the first pause is %d ms, so that clients spread', (chance, pauseMs) => {
    const source = (_: number, n: number) =>
      n === 0 ? { afterMs: 0, error: reset } : { afterMs: 1 };
    const run = play({ slices: 1, random: () => chance, source });
    expect(run.times('fetch', 0)[1]).toBeCloseTo(pauseMs);
  });

  test('an origin that asks for a pause gets it', () => {
    const busy = new MillraceError('origin-busy', '', { retryAfterMs: MAX_RETRY_AFTER_WAIT_MS });
    const source = (_: number, n: number) =>
      n === 0 ? { afterMs: 5, error: busy } : { afterMs: 5 };
    const run = play({ slices: 1, source });
    expect(run.times('fetch', 0)).toEqual([0, 5 + MAX_RETRY_AFTER_WAIT_MS]);
    expect(run.end).toEqual({ kind: 'done' });
  });

  test('a pause too long to be waited for is passed on to the client', () => {
    const retryAfterMs = MAX_RETRY_AFTER_WAIT_MS + 1;
    const busy = new MillraceError('origin-busy', '', { retryAfterMs });
    const run = play({ slices: 1, source: () => ({ afterMs: 5, error: busy }) });
    expect(run.times('fetch', 0)).toEqual([0]);
    expect(run.end).toEqual({ kind: 'fail', error: busy });
  });

  test('failures on the way are retried, failures of the file are not', () => {
    const passing = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => {
      const error = new MillraceError(code);
      const source = (_slice: number, attempt: number): Answer =>
        attempt === 0 ? { afterMs: 10, error } : { afterMs: 10 };
      return play({ slices: 1, source }).end.kind === 'done';
    });
    expect(passing).toEqual(
      expect.arrayContaining(['origin-busy', 'origin-reset', 'wrong-digest']),
    );
    expect(passing).toEqual(
      (Object.keys(ERRORS) as ErrorCode[]).filter((c) => isPassing(ERRORS[c])),
    );
  });

  test('without memory for a chunk a response waits, or fails if it must not wait', () => {
    const short = new MillraceError('out-of-memory', '', { retryAfterMs: 1000 });
    const source = (slice: number, attempt: number): Answer =>
      slice === 1 && attempt === 0 ? { afterMs: 10, error: short } : { afterMs: 10 };
    const waits = play({ slices: 3, source });
    expect(waits.end).toEqual({ kind: 'done' });
    expect(waits.times('fetch', 1)[1]).toBeGreaterThanOrEqual(1010);
    const fails = play({ slices: 3, source, waitsForMemory: () => false });
    expect(fails.end).toEqual({ kind: 'fail', error: short });
  });

  test('a client that has got nothing is told soon that a depot does not answer', () => {
    const down = new MillraceError('depot-unreachable', '', { retryAfterMs: 2000 });
    const source = (): Answer => ({ afterMs: 10, error: down });
    const waits = play({ slices: 1, source });
    expect(waits.times('fetch', 0).length).toBeGreaterThan(8);
    const told = play({ slices: 1, source, hasBegun: () => false });
    expect(told.times('fetch', 0)).toEqual([0, 2010]);
    expect([waits.end, told.end]).toEqual(Array(2).fill({ kind: 'fail', error: down }));
    // A depot that has restarted answers the second time.
    const once = (_: number, attempt: number): Answer =>
      attempt === 0 ? { afterMs: 10, error: down } : { afterMs: 10 };
    expect(play({ slices: 1, source: once, hasBegun: () => false }).end).toEqual({ kind: 'done' });
    // An origin that is busy is waited for as ever.
    const busy = new MillraceError('origin-busy', '', { retryAfterMs: 2000 });
    const patient = play({
      slices: 1,
      source: () => ({ afterMs: 10, error: busy }),
      hasBegun: () => false,
    });
    expect(patient.times('fetch', 0).length).toBeGreaterThan(8);
  });

  test('any other failure ends the response at once, and nothing happens afterwards', () => {
    const changed = new MillraceError('version-changed');
    const source = (slice: number) =>
      slice === 2 ? { afterMs: 50, error: changed } : { afterMs: slice === 0 ? 100 : 10 };
    const run = play({ slices: 9, source });
    expect(run.end).toEqual({ kind: 'fail', error: changed });
    expect(run.log.at(-1)).toEqual({ at: 50, kind: 'fail', error: changed });
  });

  test('if one of two attempts fails, the chunk is left to the other', () => {
    const source = (_: number, n: number): Answer =>
      n === 0 ? { afterMs: 4000, error: reset } : { afterMs: 2000 };
    const run = play({ slices: 1, source });
    expect(run.times('fetch', 0)).toEqual([0, 3000]);
    expect(run.times('cancel', 0)).toEqual([]);
    expect(run.end).toEqual({ kind: 'done' });
    // The first attempt failed by itself, so the window did not shrink.
    expect(run.window.size).toBe(4);
  });

  test('with the window full only the oldest chunk is requested again', () => {
    const source = (slice: number, n: number): Answer =>
      n === 0 ? undefined : { afterMs: slice === 0 ? 5000 : 100 };
    const run = play({ slices: 2, max: 2, source });
    expect(run.times('fetch', 0)).toEqual([0, 3000]);
    // Slice 1 was as late at 3 s and at 6 s; from 8 s on it is the oldest.
    const [, again = 0] = run.times('fetch', 1);
    expect(again).toBeGreaterThan(8000);
    expect(run.end).toEqual({ kind: 'done' });
  });

  test.each([1, 2, 3, 8].flatMap((max) => [true, false].map((inOrder) => [max, inOrder] as const)))(
    'all chunks stalling at once do not block the response for ever (window %d, in order: %s)',
    (max, inOrder) => {
      const source = (_: number, attempt: number) => (attempt < 2 ? undefined : { afterMs: 100 });
      const run = play({ slices: 8, max, inOrder, source });
      expect(run.end).toEqual({ kind: 'done' });
      expect([...run.sent].sort((a, b) => a - b)).toEqual(all(8));
    },
  );

  test('whatever sources and client do, every slice is sent once, or the response fails', () => {
    const codes: ErrorCode[] = ['origin-reset', 'origin-busy', 'origin-timeout', 'wrong-length'];
    const script = fc.record({
      seed: fc.integer(),
      slices: fc.integer({ min: 1, max: 30 }),
      max: fc.integer({ min: 1, max: 8 }),
      inOrder: fc.boolean(),
      failing: fc.double({ min: 0, max: 0.5, noNaN: true }),
      hanging: fc.double({ min: 0, max: 0.4, noNaN: true }),
      fatal: fc.constantFrom(0, 0, 0.02),
      slowest: fc.constantFrom(10, 1000, 30_000),
    });
    fc.assert(
      fc.property(script, ({ seed, slices, max, inOrder, failing, hanging, fatal, slowest }) => {
        const random = seededRandom(seed);
        const source = (): Answer => {
          const chance = random();
          const afterMs = random() * slowest;
          const bytesEveryMs = 1 + random() * slowest;
          if (chance < hanging) return undefined;
          if (chance < hanging + failing) {
            const code = codes[Math.floor(random() * codes.length)] as ErrorCode;
            const retryAfterMs = random() < 0.2 ? random() * 20_000 : undefined;
            return { afterMs, bytesEveryMs, error: new MillraceError(code, '', { retryAfterMs }) };
          }
          if (random() < fatal) return { afterMs, error: new MillraceError('wrong-range') };
          return { afterMs, bytesEveryMs, local: random() < 0.1, stalls: random() < 0.05 };
        };
        const clientMs = () => random() * slowest;
        const run = play({ slices, max, initial: 1, inOrder, random, source, clientMs });
        expect(new Set(run.sent).size).toBe(run.sent.length);
        if (inOrder) expect(run.sent).toEqual(all(run.sent.length));
        if (run.end?.kind === 'done') {
          expect(run.sent).toHaveLength(slices);
        } else {
          const tries = all(slices).map((slice) => run.times('fetch', slice).length);
          const code = run.end?.kind === 'fail' ? run.end.error.code : 'none';
          expect(code === 'wrong-range' || Math.max(...tries) > MAX_BACKOFFS).toBe(true);
        }
      }),
    );
  });
});

test('a deadline computed from progress lies after the moment of the check', () => {
  const random = seededRandom(7);
  for (let i = 0; i < 500; i++) {
    const progress = 3001 + 5000 * random();
    const transfer = new DeliveryMachine({
      slices: 1,
      inOrder: true,
      window: new CongestionWindow({ max: 1, initial: 1 }),
      timer: new RetryTimer(),
      random,
      progressAt: () => progress,
    });
    transfer.step(0);
    transfer.step(3000);
    // The exact end of the patience with the second attempt.
    const now = progress + 6000;
    transfer.step(now);
    expect(transfer.nextDeadline()).toBeGreaterThan(now);
  }
});
