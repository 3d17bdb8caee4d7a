import { describe, expect, test } from '@jest/globals';
import { ByteQuotas } from './byte-quota.ts';

const HOUR = 3_600_000;

describe('quotas of bytes', () => {
  test('are used up, and full again when the next span begins', () => {
    const quotas = new ByteQuotas();
    const now = 10 * HOUR + 600_000;
    expect(quotas.waitMs('a', 1000, HOUR, now)).toBe(0);
    quotas.take('a', 999, HOUR, now);
    expect(quotas.waitMs('a', 1000, HOUR, now)).toBe(0);
    quotas.take('a', 5000, HOUR, now);
    expect(quotas.waitMs('a', 1000, HOUR, now)).toBe(3_000_000);
    expect(quotas.waitMs('b', 1000, HOUR, now)).toBe(0);
    expect(quotas.waitMs('a', 1000, HOUR, 11 * HOUR - 1)).toBe(1);
    expect(quotas.waitMs('a', 1000, HOUR, 11 * HOUR)).toBe(0);
  });

  test('of no bytes at all are always used up', () => {
    expect(new ByteQuotas().waitMs('a', 0, HOUR, HOUR / 2)).toBe(HOUR / 2);
  });

  test('start again when the rule names another span', () => {
    const quotas = new ByteQuotas();
    quotas.take('a', 1000, HOUR, 0);
    expect(quotas.waitMs('a', 1000, 2 * HOUR, 0)).toBe(0);
  });

  test('survive a restart, but not their span', () => {
    const [before, after, late] = [new ByteQuotas(), new ByteQuotas(), new ByteQuotas()];
    before.take('a', 1000, HOUR, 0);
    const saved = JSON.parse(JSON.stringify(before.save(1))) as unknown;
    after.restore(saved);
    expect(after.waitMs('a', 1000, HOUR, 1)).toBe(HOUR - 1);
    expect(before.save(HOUR)).toEqual([]);
    late.restore(saved);
    expect(late.waitMs('a', 1000, HOUR, HOUR)).toBe(0);
  });

  test.each([
    undefined,
    null,
    'x',
    {},
    [null, 1, { name: 'a' }, { name: 1, span: 0, per: 1, bytes: 2 }],
  ])('malformed state is not restored: %j', (saved) => {
    const quotas = new ByteQuotas();
    quotas.restore(saved);
    expect(quotas.save(0)).toEqual([]);
  });

  test('are remembered for the latest names only', () => {
    const quotas = new ByteQuotas();
    for (let i = 0; i < 10_005; i++) quotas.take(`host-${i}`, 1000, HOUR, 0);
    expect(quotas.save(0)).toHaveLength(10_000);
    expect(quotas.waitMs('host-0', 1000, HOUR, 0)).toBe(0);
    expect(quotas.waitMs('host-10004', 1000, HOUR, 0)).toBe(HOUR);
  });
});
