import { describe, expect, test } from '@jest/globals';
import { Forecast, RequestRate } from './forecast.ts';

/** Brings `bytes` of a request every 50 ms from `at` on, for `ms`. @returns when it ends */
function run(rate: RequestRate, bytes: number, at: number, ms: number): number {
  const end = at + ms;
  for (let now = at; now < end; now += 50) rate.add(bytes, now);
  return end;
}

describe('Forecast', () => {
  test('knows no rate before the first request, and then its time to the first byte', () => {
    const forecast = new Forecast();
    expect(forecast.bytesPerSecond).toBeUndefined();
    expect(forecast.firstByteMs).toBe(250);
    const rate = new RequestRate(forecast, 1000);
    rate.add(10, 1120);
    expect(forecast.firstByteMs).toBe(120);
    expect(forecast.bytesPerSecond).toBeUndefined();
  });

  test('has more patience after each wait in vain, and asks others first for a while', () => {
    const forecast = new Forecast();
    const waitInVain = (ms: number) => new RequestRate(forecast, 1000).end(1000 + ms);
    for (let i = 0; i < 9; i++) waitInVain(200);
    // These requests ended before an answer could be expected.
    expect([forecast.patientMs, forecast.backsOff(1201)]).toEqual([250, false]);
    // Others may have been quicker three times.
    for (let i = 0; i < 3; i++) waitInVain(500);
    expect([forecast.patientMs, forecast.backsOff(1501)]).toEqual([250, false]);
    waitInVain(6000);
    expect([forecast.patientMs, forecast.backsOff(7499)]).toEqual([500, true]);
    expect(forecast.backsOff(7500)).toBe(false);
    for (let i = 0; i < 20; i++) waitInVain(9000);
    expect([forecast.patientMs, forecast.backsOff(13_999)]).toEqual([4000, true]);
    new RequestRate(forecast, 1000).add(10, 1300);
    expect([forecast.patientMs, forecast.backsOff(13_999)]).toEqual([300, false]);
  });

  test('comes close to the rate of a steady source, and stays below an unsteady one', () => {
    const steady = new Forecast();
    run(new RequestRate(steady, 0), 500, 100, 20_000);
    expect(steady.bytesPerSecond).toBeGreaterThan(9500);
    expect(steady.bytesPerSecond).toBeLessThanOrEqual(10_500);
    const moody = new Forecast();
    const rate = new RequestRate(moody, 0);
    for (let at = 100; at < 20_000; at += 2000) {
      run(rate, 900, at, 1000);
      run(rate, 100, at + 1000, 1000);
    }
    expect(moody.bytesPerSecond).toBeLessThan(5000);
    expect(moody.bytesPerSecond).toBeGreaterThan(0);
  });

  test('gives a finite rate for a body that comes all at once', () => {
    const forecast = new Forecast();
    const rate = new RequestRate(forecast, 0);
    rate.add(1000, 20);
    rate.add(1000, 20);
    rate.end(20);
    expect(forecast.bytesPerSecond).toBe(50_000);
  });

  test('never learns a rate of 0, even if only silence followed the first bytes', () => {
    const forecast = new Forecast();
    const rate = new RequestRate(forecast, 0);
    rate.add(10_000, 20);
    rate.end(2000);
    expect(forecast.bytesPerSecond).toBeGreaterThan(0);
  });

  test('learns no rate from a request that brought nothing', () => {
    const forecast = new Forecast();
    new RequestRate(forecast, 0).end(9000);
    expect(forecast.bytesPerSecond).toBeUndefined();
  });
});

describe('RequestRate', () => {
  test('is the rate of recent bytes, and falls in silence', () => {
    const rate = new RequestRate(new Forecast(), 0);
    const now = run(rate, 500, 100, 5000);
    expect(rate.bytesPerSecond(now)).toBeGreaterThan(9000);
    expect(rate.bytesPerSecond(now)).toBeLessThan(11_000);
    expect(rate.bytesPerSecond(now + 2000)).toBeLessThan(1500);
    expect(rate.heardAt).toBe(now - 50);
  });

  test('is not known from the first bytes alone', () => {
    const rate = new RequestRate(new Forecast(), 0);
    expect(rate.bytesPerSecond(500)).toBeUndefined();
    rate.add(500, 500);
    expect(rate.bytesPerSecond(900)).toBeUndefined();
    expect(rate.average(1000)).toBe(500);
  });
});
