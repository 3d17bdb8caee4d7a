import { describe, expect, test } from '@jest/globals';
import { DEFAULT_PAUSE_MS, OriginPause } from './origin-pause.ts';

const busy = (retryAfterMs: number) =>
  expect.objectContaining({ code: 'origin-busy', retryAfterMs });

describe('OriginPause', () => {
  test('an origin that never complained may be asked', () => {
    expect(() => new OriginPause().check(0)).not.toThrow();
  });

  test('an origin gets no requests for as long as it asked', () => {
    const pause = new OriginPause();
    expect(pause.onBusy(503, 5000, 1000)).toEqual(busy(5000));
    expect(() => pause.check(1000)).toThrow(busy(5000));
    expect(() => pause.check(5999)).toThrow(busy(1));
    expect(() => pause.check(6000)).not.toThrow();
  });

  test('an origin that does not say how long gets a pause of a second', () => {
    const pause = new OriginPause();
    expect(pause.onBusy(429, undefined, 0)).toMatchObject({ detail: 'it answered 429' });
    expect(() => pause.check(DEFAULT_PAUSE_MS - 1)).toThrow(busy(1));
    expect(() => pause.check(DEFAULT_PAUSE_MS)).not.toThrow();
    expect(DEFAULT_PAUSE_MS).toBe(1000);
  });

  test('an origin that asks for no pause gets none', () => {
    const pause = new OriginPause();
    expect(pause.onBusy(503, 0, 1000)).toEqual(busy(0));
    expect(() => pause.check(1000)).not.toThrow();
  });

  test('no origin can block a file for more than ten minutes', () => {
    const pause = new OriginPause();
    expect(pause.onBusy(503, 10 ** 12, 0)).toEqual(busy(600_000));
    expect(() => pause.check(599_999)).toThrow();
    expect(() => pause.check(600_000)).not.toThrow();
  });

  test('a shorter pause does not end a longer one', () => {
    const pause = new OriginPause();
    pause.onBusy(503, 10_000, 0);
    pause.onBusy(503, 1000, 100);
    expect(() => pause.check(9999)).toThrow(busy(1));
    pause.onBusy(503, 10_000, 5000);
    expect(() => pause.check(14_999)).toThrow(busy(1));
    expect(() => pause.check(15_000)).not.toThrow();
  });
});
