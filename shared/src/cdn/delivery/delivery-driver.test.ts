import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { VirtualClock } from '../../../testing/virtual-clock.ts';
import { seededRandom } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { DeliveryDriver, type DeliveryShell } from './delivery-driver.ts';
import { RetryTimer } from './retry-timer.ts';
import { CongestionWindow } from './window.ts';

/** Outcome of a request: milliseconds until it ends, or `never`; 0: at once, from within. */
type Answer = { readonly ms: number | 'never'; readonly error?: MillraceError };

const LIMIT_MS = 3_600_000;

/** A driver in virtual time that logs requests and sends. */
function drive(
  slices: number,
  answer: (slice: number, attempt: number) => Answer,
  { inOrder = true, clientMs = 1, window = 4 } = {},
) {
  const clock = new VirtualClock();
  const log: string[] = [];
  const underWay = new Set<string>();
  const ends: (MillraceError | undefined)[] = [];
  const wakes = new Set<() => void>();
  let most = 0;
  const shell: DeliveryShell = {
    now: () => clock.now,
    at: (time, run) => {
      wakes.add(run);
      clock.at(time, () => {
        if (wakes.delete(run)) run();
      });
      return () => wakes.delete(run);
    },
    fetch: (slice, attempt) => {
      const key = `${slice}.${attempt}`;
      const { ms, error } = answer(slice, attempt);
      underWay.add(key);
      most = Math.max(most, underWay.size);
      log.push(`fetch ${key}`);
      const end = () => {
        if (!underWay.delete(key)) return;
        if (error === undefined) driver.fetched(slice, attempt, ms === 0);
        else driver.failed(slice, attempt, error);
      };
      if (ms === 0) end();
      else if (ms !== 'never') clock.in(ms, end);
      return () => {
        // Not twice, and not after its end.
        expect(underWay.delete(key)).toBe(true);
        log.push(`give up ${key}`);
      };
    },
    send: (slice) => {
      log.push(`send ${slice}`);
      clock.in(clientMs, () => driver.sent(slice));
    },
    ended: (error) => {
      ends.push(error);
      log.push(`ended with ${underWay.size} under way`);
    },
  };
  const driver: DeliveryDriver = new DeliveryDriver(
    {
      slices,
      inOrder,
      window: new CongestionWindow({ max: window, initial: window }),
      timer: new RetryTimer(),
      random: seededRandom(1),
      progressAt: () => undefined,
    },
    shell,
  );
  const sent = () => log.filter((line) => line.startsWith('send')).map((line) => +line.slice(5));
  const run = () => clock.run(() => driver.over, LIMIT_MS);
  return { clock, driver, ends, log, run, sent, underWay, wakes, most: () => most };
}

describe('DeliveryDriver', () => {
  test('slices that are there at once are all sent without waiting', () => {
    const d = drive(5, () => ({ ms: 0 }));
    d.driver.advance();
    expect(d.run()).toBe(true);
    expect([d.sent(), d.ends, d.clock.now]).toEqual([[0, 1, 2, 3, 4], [undefined], 2]);
  });

  test('a silent request gets a competitor, and is given up when that has won', () => {
    const d = drive(1, (_, attempt) => ({ ms: attempt === 0 ? 'never' : 50 }));
    d.driver.advance();
    expect(d.run()).toBe(true);
    expect(d.log).toEqual([
      'fetch 0.0',
      'fetch 0.1',
      'give up 0.0',
      'send 0',
      'ended with 0 under way',
    ]);
  });

  test('an end is reported before requests are given up, and nothing comes after it', () => {
    const error = new MillraceError('certificate-invalid');
    const d = drive(3, (slice) => (slice === 0 ? { ms: 5, error } : { ms: 9 }));
    d.driver.advance();
    expect([...d.driver.fetching()]).toEqual([0, 1, 2]);
    expect(d.run()).toBe(true);
    expect(d.ends).toEqual([error]);
    expect(d.log.slice(3)).toEqual(['ended with 2 under way', 'give up 1.0', 'give up 2.0']);
    d.driver.fetched(1, 0, false);
    d.driver.sent(1);
    d.driver.advance();
    expect([d.log.length, d.driver.end(), d.wakes.size]).toEqual([6, false, 0]);
  });

  test('a delivery ended from outside gives up all requests and reports nothing', () => {
    const d = drive(3, () => ({ ms: 9 }));
    d.driver.advance();
    expect([d.driver.wants(1, 0), d.driver.end(), d.driver.wants(1, 0)]).toEqual([
      true,
      true,
      false,
    ]);
    expect([d.underWay.size, d.ends, d.wakes.size]).toEqual([0, [], 0]);
  });

  test('a delivery ended from within a request gives up that request too', () => {
    const d = drive(3, (slice) => {
      if (slice === 1) d.driver.end();
      return { ms: 9 };
    });
    d.driver.advance();
    expect(d.log).toEqual(['fetch 0.0', 'give up 0.0', 'fetch 1.0', 'give up 1.0']);
    expect(d.underWay.size).toBe(0);
  });

  test('every slice is sent once or the delivery fails, and no request or timer is left', () => {
    const answers = fc.array(
      fc.record({
        ms: fc.oneof(fc.constantFrom(0, 'never' as const), fc.integer({ min: 1, max: 5000 })),
        fails: fc.boolean(),
      }),
      { minLength: 1, maxLength: 40 },
    );
    const input = fc.record({
      answers,
      slices: fc.integer({ min: 1, max: 12 }),
      inOrder: fc.boolean(),
      clientMs: fc.integer({ min: 0, max: 300 }),
    });
    fc.assert(
      fc.property(input, ({ answers, slices, ...options }) => {
        const d = drive(
          slices,
          (slice, attempt) => {
            const { ms, fails } = answers[(slice + 7 * attempt) % answers.length] as {
              ms: number | 'never';
              fails: boolean;
            };
            return fails ? { ms, error: new MillraceError('origin-reset') } : { ms };
          },
          options,
        );
        d.driver.advance();
        expect(d.run()).toBe(true);
        expect([d.ends.length, d.underWay.size, d.wakes.size]).toEqual([1, 0, 0]);
        const sent = d.sent();
        expect(new Set(sent).size).toBe(sent.length);
        if (d.ends[0] === undefined) expect(sent.length).toBe(slices);
        if (options.inOrder) expect(sent).toEqual(sent.map((_, i) => i));
      }),
      { numRuns: 300 },
    );
  });
});
