import { describe, expect, test } from '@jest/globals';
import { MAX_CHECKS_AT_ONCE } from '../admission/resources.ts';
import { CheckLimits } from './check-limits.ts';

const url = (host: string) => new URL(`https://${host}/f.iso`);
const refused = expect.objectContaining({ code: 'too-many-requests' });

/** Counts the checks that are let through one after the other. */
function letThrough(limits: CheckLimits, next: (i: number) => [client: string, host: string]) {
  for (let i = 0; i < 1000; i++) {
    const [client, host] = next(i);
    try {
      limits.admit(client, url(host), 0)();
    } catch (error) {
      expect(error).toEqual(refused);
      return i;
    }
  }
  return Number.POSITIVE_INFINITY;
}

describe('CheckLimits', () => {
  test('lets few run at a time, and others when those are over', () => {
    const limits = new CheckLimits();
    const running = Array.from({ length: MAX_CHECKS_AT_ONCE }, (_, i) =>
      limits.admit(`10.0.0.${i}`, url(`${i}.example`), 0),
    );
    expect(() => limits.admit('10.0.0.9', url('x.example'), 0)).toThrow(refused);
    running[0]?.();
    running[0]?.();
    limits.admit('10.0.0.9', url('x.example'), 0);
    expect(() => limits.admit('10.0.0.9', url('x.example'), 0)).toThrow(refused);
  });

  test('gives a client its share and no more, and an IPv6 client is a /64', () => {
    expect(letThrough(new CheckLimits(), (i) => ['10.0.0.1', `${i}.example`])).toBe(20);
    expect(letThrough(new CheckLimits(), (i) => [`2001:db8::${i}`, `${i}.example`])).toBe(20);
  });

  test('protects an origin from many clients', () => {
    const clients = (i: number): [string, string] => [`10.0.${i >> 8}.${i & 255}`, 'one.example'];
    expect(letThrough(new CheckLimits(), clients)).toBe(30);
  });

  test('tells when to come again, and admits the client then', () => {
    const limits = new CheckLimits();
    const ask = (now: number) => limits.admit('10.0.0.1', url('one.example'), now)();
    for (let i = 0; i < 20; i++) ask(0);
    let retryAfterMs = 0;
    try {
      ask(0);
    } catch (error) {
      ({ retryAfterMs } = error as { retryAfterMs: number });
    }
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(() => ask(retryAfterMs)).not.toThrow();
  });
});
