import { describe, expect, test } from '@jest/globals';
import { ClientLimits } from './client-limits.ts';

const NONE = { transfers: 0, requestsPerSecond: 0, bytesPerSecond: 0 };
const limits = (options: Partial<typeof NONE>) => new ClientLimits({ ...NONE, ...options });
const A = '192.0.2.1';
const B = '192.0.2.2';
const tooMany = (code: string, retryAfterMs: number) =>
  expect.objectContaining({ code, retryAfterMs });

describe('ClientLimits', () => {
  test('without limits everybody gets everything at once', () => {
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
    first.release();
    first.release();
    two.admit(A, 0);
    expect(() => two.admit(A, 0)).toThrow(tooMany('too-many-transfers', 1000));
  });

  test('requests come in bursts of five seconds, then at their rate', () => {
    const rated = limits({ requestsPerSecond: 2 });
    for (let i = 0; i < 10; i++) rated.admit(A, 0).release();
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

  test.each([
    ['the same /64', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['another /64', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['an IPv4 address in IPv6 form', '192.0.2.1', '::ffff:192.0.2.1', true],
    ['two IPv4 addresses in IPv6 form', '::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['what is no address', '', 'unknown', false],
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
      both.admit(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 0).release();
    both.admit(B, 3_600_000).release();
    expect(() => both.admit(A, 3_600_000)).toThrow(tooMany('too-many-transfers', 1000));
  });
});
