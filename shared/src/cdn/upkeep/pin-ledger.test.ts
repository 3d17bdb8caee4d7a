import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PinLedger } from './pin-ledger.ts';

const DAY = 86_400_000;
const request = (id: string, bytes: number, url = `https://a.example/${id}`) => ({
  id,
  url,
  bytes,
  tag: 'e.1',
  length: bytes,
  proof: '00',
});
const refused = expect.objectContaining({ code: 'pin-refused' });
const unknown = expect.objectContaining({ code: 'no-such-entry' });

const ledger = (quotaBytes = 1000, more = {}) =>
  new PinLedger({ quotaBytes, maxLeaseMs: 30 * DAY, ...more });

describe('PinLedger', () => {
  test('charges a lease to the quota from its beginning to its end', () => {
    const pins = ledger();
    pins.allocate(request('a', 600), DAY, 0);
    expect(() => pins.allocate(request('b', 500), DAY, 0)).toThrow(refused);
    expect(pins.usedBytes).toBe(600);
    expect(pins.nextEnd).toBe(DAY);
    expect(pins.expire(DAY - 1)).toEqual([]);
    expect(pins.expire(DAY)).toHaveLength(1);
    pins.allocate(request('b', 500), DAY, DAY);
    expect(pins.usedBytes).toBe(500);
  });

  test('charges each holder of a file, and a share if other nodes have the rest', () => {
    const pins = ledger(1000, { share: 1 / 4 });
    pins.allocate(request('a', 2000, 'https://a.example/f'), DAY, 0);
    pins.allocate(request('b', 2000, 'https://a.example/f'), DAY, 0);
    expect(pins.usedBytes).toBe(1000);
    expect(() => pins.allocate(request('c', 1), DAY, 0)).toThrow(refused);
  });

  test('a lease is extended from now on, or cut short; never beyond the limit', () => {
    const pins = ledger();
    pins.allocate(request('a', 1), DAY, 0);
    expect(pins.extend('a', 2 * DAY, 5).expiresAt).toBe(2 * DAY + 5);
    expect(pins.extend('a', 1, 5).expiresAt).toBe(6);
    expect(() => pins.extend('a', 31 * DAY, 5)).toThrow(refused);
    expect(() => pins.extend('b', 1, 5)).toThrow(unknown);
    expect(() => pins.allocate(request('c', 1), 31 * DAY, 0)).toThrow(refused);
    // The lease is over, though `expire` has not run yet.
    expect(() => pins.extend('a', 1, 6)).toThrow(unknown);
  });

  test('the same id again is the same pin', () => {
    const pins = ledger();
    const first = pins.allocate(request('a', 600), DAY, 0);
    expect(pins.allocate(request('a', 600), 2 * DAY, 0)).toBe(first);
    expect(pins.usedBytes).toBe(600);
  });

  test('follows a file to its next version if that fits', () => {
    const pins = ledger();
    pins.allocate(request('a', 600), DAY, 0);
    expect(pins.follow('https://a.example/a', 'e.2', 601)).toEqual([]);
    const [changed] = pins.follow('https://a.example/a', 'e.2', 600);
    expect(changed).toMatchObject({ before: { tag: 'e.1' }, after: { tag: 'e.2' } });
    expect(pins.follow('https://a.example/a', 'e.2', 600)).toEqual([]);
    expect(pins.follow('https://a.example/b', 'e.2', 1)).toEqual([]);
  });

  test('refuses too many pins, and files larger than requested', () => {
    const pins = ledger(1000, { maxPins: 1 });
    expect(() => pins.allocate({ ...request('a', 5), length: 6 }, DAY, 0)).toThrow(refused);
    pins.allocate(request('a', 5), DAY, 0);
    expect(() => pins.allocate(request('b', 5), DAY, 0)).toThrow(refused);
  });
});

const step = fc.oneof(
  fc.record({ pin: fc.integer({ min: 0, max: 9 }), bytes: fc.integer({ min: 0, max: 600 }) }),
  fc.record({ release: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ extend: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ wait: fc.integer({ min: 0, max: 2 * DAY }) }),
);

test('whatever is requested in any order, the quota holds and no pin outlives its lease', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const pins = ledger();
      let now = 0;
      for (const s of steps) {
        try {
          if ('pin' in s) pins.allocate(request(String(s.pin), s.bytes), DAY, now);
          else if ('release' in s) pins.release(String(s.release));
          else if ('extend' in s) pins.extend(String(s.extend), DAY, now);
          else now += s.wait;
        } catch (error) {
          expect(['pin-refused', 'no-such-entry']).toContain((error as { code: string }).code);
        }
        pins.expire(now);
        expect(pins.usedBytes).toBeLessThanOrEqual(1000);
        for (const { expiresAt } of pins.pins) {
          expect(expiresAt).toBeGreaterThan(now);
          expect(expiresAt).toBeLessThanOrEqual(now + 30 * DAY);
        }
      }
    }),
  );
});
