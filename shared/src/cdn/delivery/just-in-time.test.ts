import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { JustInTime } from './just-in-time.ts';

/** A client that takes a slice each `sliceMs`, `count` of them. */
function taking(sliceMs: number, count: number): JustInTime {
  const pace = new JustInTime();
  for (let i = 0; i < count; i++) pace.onTaken(i * sliceMs);
  return pace;
}

describe('JustInTime', () => {
  test('does not bound what is fetched for a client whose rate is unknown', () => {
    expect(new JustInTime().slicesAhead(1000, 4)).toBe(Number.POSITIVE_INFINITY);
    expect(taking(100, 4).slicesAhead(1000, 4)).toBe(Number.POSITIVE_INFINITY);
    expect(taking(0, 8).slicesAhead(1000, 4)).toBe(Number.POSITIVE_INFINITY);
  });

  test('fetches what the client takes until a late slice comes', () => {
    expect(taking(100, 8).slicesAhead(1000, 4)).toBe(4 + 10);
    expect(taking(400, 8).slicesAhead(1000, 4)).toBe(4 + 3);
    expect(taking(60_000, 8).slicesAhead(1000, 4)).toBe(4 + 1);
  });

  test('remembers slices that were slower than what counts as late, less and less', () => {
    const pace = taking(100, 8);
    pace.onCame(5000);
    expect(pace.slicesAhead(1000, 4)).toBe(4 + 50);
    for (let i = 0; i < 34; i++) pace.onCame(10);
    expect(pace.slicesAhead(1000, 4)).toBe(4 + 26);
    for (let i = 0; i < 200; i++) pace.onCame(10);
    expect(pace.slicesAhead(1000, 4)).toBe(4 + 10);
  });

  test('forgets the rate of a client that has waited: it is as fast as the network at least', () => {
    const pace = taking(100, 8);
    pace.onStarved();
    expect(pace.slicesAhead(1000, 4)).toBe(Number.POSITIVE_INFINITY);
    for (let i = 0; i < 8; i++) pace.onTaken(10_000 + i);
    expect(pace.slicesAhead(1000, 4)).toBe(4 + 1000);
  });

  test('measures the same rate whether slices are taken one by one or several at once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 1000 }), fc.constantFrom(1, 2, 4), (ms, burst) => {
        const pace = new JustInTime();
        for (let i = 0; i < 40; i++) pace.onTaken(Math.floor(i / burst) * burst * ms);
        // Two bursts at least are measured.
        expect(pace.slicesAhead(20 * ms, 4)).toBe(4 + 20);
      }),
    );
  });
});
