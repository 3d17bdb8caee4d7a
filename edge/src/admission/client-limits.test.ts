import { describe, expect, test } from '@jest/globals';
import { ClientLimits } from './client-limits.ts';

const NONE = { transfers: 0, requestsPerSecond: 0, bytesPerSecond: 0 };
const limits = (options: Partial<typeof NONE>) => new ClientLimits({ ...NONE, ...options });
const A = '192.0.2.1';
const B = '192.0.2.2';
const tooMany = (code: string, retryAfterMs: number) =>
  expect.objectContaining({ code, retryAfterMs });

describe('ClientLimits', () => {
  test('without limits every client gets everything at once', () => {
    const open = limits({});
    for (let i = 0; i < 1000; i++) {
      const admission = open.admit(A, 0);
      admission.sent(1e12, 0);
      expect(admission.waitMs(0)).toBe(0);
    }
  });

  test('transfers at once are counted per address, until they end', () => {
    const two = limits({ transfers: 2 });
    const first = two.admit(A, 0);
    two.admit(A, 0);
    expect(() => two.admit(A, 0)).toThrow(tooMany('too-many-transfers', 1000));
    expect(() => two.admit(B, 0)).not.toThrow();
    first.release(0);
    first.release(0);
    two.admit(A, 0);
    expect(() => two.admit(A, 0)).toThrow(tooMany('too-many-transfers', 1000));
  });

  test('requests come in bursts of five seconds, then at their rate', () => {
    const rated = limits({ requestsPerSecond: 2 });
    for (let i = 0; i < 10; i++) rated.admit(A, 0).release(0);
    expect(() => rated.admit(A, 0)).toThrow(tooMany('too-many-requests', 500));
    expect(() => rated.admit(A, 400)).toThrow(tooMany('too-many-requests', 100));
    expect(() => rated.admit(B, 400)).not.toThrow();
    expect(() => rated.admit(A, 500)).not.toThrow();
    expect(() => rated.admit(A, 500)).toThrow(tooMany('too-many-requests', 500));
  });

  test('bytes are shared by all transfers of an address', () => {
    const slow = limits({ bytesPerSecond: 1000 });
    const [first, second, other] = [slow.admit(A, 0), slow.admit(A, 0), slow.admit(B, 0)];
    first.sent(3000, 0);
    expect(first.waitMs(0)).toBe(2000);
    expect(second.waitMs(0)).toBe(2000);
    expect(other.waitMs(0)).toBe(0);
    expect(second.waitMs(2000)).toBe(0);
  });

  describe('bytes fetched for a client that it does not take', () => {
    const amplification = { ratio: 10, allowance: 1000, regain: 100 };
    const fetching = () => new ClientLimits({ ...NONE, amplification });
    const transfer = (all: ClientLimits, fetched: number, sent: number, now = 0) => {
      const admission = all.admit(A, now);
      admission.fetched(fetched);
      admission.sent(sent, now);
      admission.release(now);
    };

    test('are refused beyond the allowance, which grows again', () => {
      const all = fetching();
      for (let i = 0; i < 2; i++) transfer(all, 600, 1);
      expect(() => all.admit(A, 0)).toThrow(tooMany('too-much-fetched', 1800));
      expect(() => all.admit(B, 0)).not.toThrow();
      expect(() => all.admit(A, 1799)).toThrow(tooMany('too-much-fetched', 1));
      expect(() => all.admit(A, 1800)).not.toThrow();
    });

    test('count in proportion to the bytes taken, earlier ones included', () => {
      const all = fetching();
      for (let i = 0; i < 100; i++) transfer(all, 1000, 100);
      for (let i = 0; i < 10; i++) transfer(all, 500, 1000);
      transfer(all, 900, 0);
      expect(() => all.admit(A, 0)).not.toThrow();
    });

    test('count beside those of transfers, and for nobody who has asked for nothing', () => {
      const all = fetching();
      all.fetched(B, 5000, 0);
      transfer(all, 100, 10);
      all.fetched(A, 1500, 0);
      expect(() => all.admit(A, 0)).toThrow(tooMany('too-much-fetched', 5000));
      expect(all.clients).toBe(1);
      expect(() => all.admit(B, 0)).not.toThrow();
    });

    test('cannot be paid for in advance', () => {
      const all = fetching();
      transfer(all, 0, 1_000_000);
      transfer(all, 1001, 0);
      expect(() => all.admit(A, 0)).toThrow(tooMany('too-much-fetched', 10));
    });

    test('count at the end of a transfer: bytes fetched ahead may still be taken', () => {
      const all = fetching();
      const running = all.admit(A, 0);
      running.fetched(1_000_000);
      expect(() => all.admit(A, 0)).not.toThrow();
      running.release(0);
      expect(() => all.admit(A, 0)).toThrow(tooMany('too-much-fetched', 9_990_000));
    });
  });

  test('the clients remembered stay bounded even if none of them is idle', () => {
    const rated = limits({ requestsPerSecond: 1 });
    for (let i = 0; i < 250_000; i++) {
      rated.admit(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 0).release(0);
    }
    expect(rated.clients).toBeLessThanOrEqual(100_000);
  });

  test.each([
    ['the same /64', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['another /64', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['an IPv4 address in IPv6 form', '192.0.2.1', '::ffff:192.0.2.1', true],
    ['two IPv4 addresses in IPv6 form', '::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['a text that is not an address', '', 'unknown', false],
  ])('%s: %s and %s are one client is %s', (_, one, other, same) => {
    const single = limits({ transfers: 1 });
    single.admit(one, 0);
    const admit = () => single.admit(other, 0);
    if (same) expect(admit).toThrow(tooMany('too-many-transfers', 1000));
    else expect(admit).not.toThrow();
  });

  test('a client with a transfer under way is remembered, however many come after it', () => {
    const both = limits({ transfers: 1, requestsPerSecond: 1, bytesPerSecond: 1000 });
    both.admit(A, 0);
    for (let i = 0; i < 100_001; i++)
      both.admit(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 0).release(0);
    both.admit(B, 3_600_000).release(0);
    expect(() => both.admit(A, 3_600_000)).toThrow(tooMany('too-many-transfers', 1000));
  });
});
