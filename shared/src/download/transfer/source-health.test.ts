import { describe, expect, test } from '@jest/globals';
import { ERRORS, type ErrorCode, MillraceError } from '../../base/errors.ts';
import { SourceHealth, teachesLimit } from './source-health.ts';

const reset = new MillraceError('origin-reset');
/** Makes a source whose rests are as long as planned: the random factor is 1. */
const health = () => new SourceHealth(() => 0.5);

describe('SourceHealth', () => {
  test('a new source may be asked at once', () => {
    expect(health().usableAt()).toBe(0);
    expect(health().quarantine).toBeUndefined();
    expect(health().lastFailure).toBeUndefined();
  });

  test('an unreachable source rests, twice as long each time, up to 15 s', () => {
    const source = health();
    let now = 1000;
    const rests = Array.from({ length: 8 }, () => {
      source.onFailure(reset, false, now);
      const rest = (source.usableAt() ?? 0) - now;
      now += rest;
      return rest;
    });
    expect(rests).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    expect(source.lastFailure).toBe(reset);
  });

  test.each([
    [0, 250],
    [0.999, 749.5],
  ])('with a random number of %d the first rest is %d ms, so that clients spread', (chance, ms) => {
    const source = new SourceHealth(() => chance);
    source.onFailure(reset, false, 0);
    expect(source.usableAt()).toBeCloseTo(ms);
  });

  test('requests that fail together count as one failure: the rest is not doubled for each', () => {
    const source = health();
    for (let i = 0; i < 8; i++) source.onFailure(reset, false, 1000);
    expect(source.usableAt()).toBe(1500);
    source.onFailure(reset, false, 1500);
    expect(source.usableAt()).toBe(2500);
  });

  test('damaged answers between good ones are forgiven; four in a row are not', () => {
    const source = health();
    const damaged = new MillraceError('wrong-digest');
    for (let i = 0; i < 10; i++) {
      source.onFailure(damaged, true, i);
      source.onServed();
    }
    for (let i = 0; i < 3; i++) source.onFailure(damaged, true, i);
    expect(source.quarantine).toBeUndefined();
    source.onBytes();
    source.onFailure(damaged, true, 9);
    expect(source.quarantine).toBe(damaged);
  });

  test('a refusal while other requests are served counts as too many requests at a time', () => {
    const denied = new MillraceError('origin-denied');
    const crowded = health();
    crowded.onFailure(denied, false, 0, true);
    expect(crowded.quarantine).toBeUndefined();
    expect(crowded.usableAt()).toBe(500);
    const alone = health();
    alone.onFailure(denied, false, 0, false);
    expect(alone.quarantine).toBe(denied);
  });

  test('a network that is back ends only the rests of unreachable sources', () => {
    const down = health();
    down.onFailure(new MillraceError('origin-unreachable'), false, 0);
    expect(down.isDown).toBe(true);
    down.retryNow(100);
    expect(down.usableAt()).toBe(100);
    const busy = health();
    busy.onFailure(new MillraceError('origin-busy', '', { retryAfterMs: 9000 }), false, 0);
    busy.retryNow(100);
    expect(busy.usableAt()).toBe(9000);
  });

  test('a source that broke off after sending something is asked for the rest at once', () => {
    const source = health();
    source.onFailure(reset, false, 0);
    source.onFailure(reset, true, 5000);
    expect(source.usableAt()).toBe(5000);
  });

  test('received bytes clear earlier failures', () => {
    const source = health();
    for (let i = 0; i < 5; i++) source.onFailure(reset, false, 0);
    source.onBytes();
    expect(source.lastFailure).toBeUndefined();
    source.onFailure(reset, false, 10_000);
    expect(source.usableAt()).toBe(10_500);
  });

  test('a source that asks for a pause gets it, even if it has sent bytes', () => {
    const busy = new MillraceError('origin-busy', '', { retryAfterMs: 20_000 });
    for (const gotBytes of [false, true]) {
      const source = health();
      source.onFailure(busy, gotBytes, 1000);
      expect(source.usableAt()).toBe(21_000);
    }
  });

  test('a short Retry-After does not shorten the rest', () => {
    const source = health();
    source.onFailure(new MillraceError('origin-busy', '', { retryAfterMs: 1 }), false, 0);
    expect(source.usableAt()).toBe(500);
  });

  test('only failures that can pass with time leave a source in use', () => {
    const passing = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => {
      const source = health();
      source.onFailure(new MillraceError(code), false, 0);
      expect(source.usableAt() === undefined).toBe(source.quarantine !== undefined);
      return source.quarantine === undefined;
    });
    expect(passing.sort()).toEqual([
      'depot-disk-failed',
      'depot-unreachable',
      'draining',
      'network-away',
      'origin-busy',
      'origin-error',
      'origin-refused',
      'origin-reset',
      'origin-timeout',
      'origin-unknown',
      'origin-unreachable',
      'out-of-memory',
      'proxy-failed',
      // The client's share of origins is free again in a minute.
      'too-many-origins',
      'too-many-requests',
      'too-many-transfers',
      'too-much-fetched',
      'wrong-digest',
      'wrong-length',
    ]);
    for (const code of passing) expect(ERRORS[code].retryable).toBe(true);
  });

  test('a source that breaks the contract is never asked again, even if bytes still come', () => {
    const source = health();
    const wrong = new MillraceError('wrong-range');
    source.onFailure(wrong, true, 0);
    source.onBytes();
    source.onFailure(reset, true, 1000);
    expect(source.usableAt()).toBeUndefined();
    expect(source.quarantine).toBe(wrong);
  });
});

describe('a failure as a lesson about its host:', () => {
  test('a 403, whatever it is about, teaches no limit of requests', () => {
    const forbidden = Object.entries(ERRORS).filter(([, { status }]) => status === 403);
    expect(forbidden.length).toBeGreaterThan(3);
    for (const [code] of forbidden) {
      expect(teachesLimit(new MillraceError(code as ErrorCode), true)).toBe(false);
    }
  });

  test('too many requests teach a limit, as do connections refused beside others', () => {
    expect(teachesLimit(new MillraceError('origin-busy'), false)).toBe(true);
    expect(teachesLimit(new MillraceError('origin-refused'), true)).toBe(true);
    expect(teachesLimit(new MillraceError('origin-refused'), false)).toBe(false);
    expect(teachesLimit(new MillraceError('origin-error'), true)).toBe(false);
  });
});
