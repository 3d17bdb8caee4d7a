import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  ClientPace,
  FORECAST_FACTOR,
  MAX_AHEAD,
  MIN_AHEAD,
  MIN_LEAD_MS,
  MIN_TAKEN,
} from './client-pace.ts';

const NO_BOUND = Number.POSITIVE_INFINITY;

/** A client that always has more to take, and has taken `count` slices, each in `ms`. */
function taking(ms: number, count = MIN_TAKEN): { pace: ClientPace; now: number } {
  const pace = new ClientPace();
  let now = 0;
  pace.onHanded(now);
  for (let i = 0; i < count; i++) {
    pace.onHanded(now);
    now += ms;
    pace.onTaken(now);
  }
  return { pace, now };
}

/** The same, of which only the need for slices ahead matters. */
const ahead = (ms: number, forecastMs: number | undefined, count?: number) =>
  taking(ms, count).pace.ahead(forecastMs);

describe('ClientPace', () => {
  test('sets no bound before the client has shown its pace, nor without a forecast', () => {
    expect(ahead(1000, 10, MIN_TAKEN - 1)).toBe(NO_BOUND);
    expect(ahead(1000, 10)).toBe(MIN_AHEAD);
    expect(ahead(1000, undefined)).toBe(NO_BOUND);
    expect(new ClientPace().ahead(10)).toBe(NO_BOUND);
  });

  test('a slow client needs the slices that it takes while another one comes, and the one that it takes now', () => {
    const forecastMs = 1000;
    const leadMs = FORECAST_FACTOR * forecastMs;
    expect(ahead(leadMs, forecastMs)).toBe(2);
    expect(ahead(leadMs - 1, forecastMs)).toBe(3);
    expect(ahead(leadMs / 5, forecastMs)).toBe(6);
    expect(ahead(60_000, forecastMs)).toBe(MIN_AHEAD);
    // However fast the network is, slices are requested some time before they are needed.
    expect(ahead(MIN_LEAD_MS / 3, 1)).toBe(4);
  });

  test('a client with about the pace of the network is not held back', () => {
    const forecastMs = 1000;
    const slowest = (FORECAST_FACTOR * forecastMs) / (MAX_AHEAD - 1);
    expect(ahead(slowest, forecastMs)).toBe(MAX_AHEAD);
    expect(ahead(0.99 * slowest, forecastMs)).toBe(NO_BOUND);
    expect(ahead(1, 1, 100)).toBe(NO_BOUND);
    expect(ahead(0, 0, 100)).toBe(NO_BOUND);
  });

  test('a client that was kept waiting is not held back until it has shown its pace again', () => {
    const { pace, now } = taking(1000);
    pace.onTaken(now + 1000);
    expect(pace.ahead(10)).toBe(NO_BOUND);
    const again = now + 9000;
    for (let i = 0; i <= MIN_TAKEN; i++) pace.onHanded(again);
    for (let i = 1; i < MIN_TAKEN; i++) pace.onTaken(again + 1000 * i);
    expect(pace.ahead(10)).toBe(NO_BOUND);
    pace.onTaken(again + 1000 * MIN_TAKEN);
    // The wait is no part of the pace.
    expect(pace.ahead(750)).toBe(1 + (FORECAST_FACTOR * 750) / 1000);
  });

  test('a client that becomes faster is soon not held back any more', () => {
    const { pace, now } = taking(1000, 20);
    expect(pace.ahead(100)).toBe(MIN_AHEAD);
    for (let i = 1; i <= 30; i++) {
      pace.onHanded(now);
      pace.onTaken(now + i * 10);
    }
    expect(pace.ahead(100)).toBe(NO_BOUND);
  });

  test('whatever a client does, a slower network means no fewer slices, and bounds are kept', () => {
    const events = fc.array(fc.tuple(fc.boolean(), fc.nat(5000)), { maxLength: 60 });
    fc.assert(
      fc.property(events, fc.nat(20_000), fc.nat(20_000), (script, forecastMs, more) => {
        const pace = new ClientPace();
        let [now, handed] = [0, 0];
        for (const [hand, pause] of script) {
          now += pause;
          if (hand) {
            pace.onHanded(now);
            handed++;
          } else if (handed > 0) {
            pace.onTaken(now);
            handed--;
          }
        }
        const slices = pace.ahead(forecastMs);
        expect(slices).toBeGreaterThanOrEqual(MIN_AHEAD);
        if (slices !== NO_BOUND) expect(slices).toBeLessThanOrEqual(MAX_AHEAD);
        expect(pace.ahead(forecastMs + more)).toBeGreaterThanOrEqual(slices);
      }),
    );
  });
});
