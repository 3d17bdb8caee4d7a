import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { networkAddresses, networkSeemsAway, waitForNetworkChange } from './network-watch.ts';

describe('waitForNetworkChange', () => {
  let addresses: readonly string[] = [];
  let looks = 0;
  const signal = () => new AbortController().signal;
  const wait = (afterMs: number, until = signal()) =>
    waitForNetworkChange(performance.now() + afterMs, until, () => {
      looks++;
      return addresses;
    });

  beforeEach(() => {
    jest.useFakeTimers();
    addresses = ['eth0/10.0.0.1'];
    looks = 0;
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  test('ends soon after an address appears', async () => {
    const waiting = wait(Number.POSITIVE_INFINITY);
    await jest.advanceTimersByTimeAsync(3_600_000);
    addresses = [];
    await jest.advanceTimersByTimeAsync(60_000);
    addresses = ['eth0/10.0.0.1'];
    const before = performance.now();
    await jest.advanceTimersToNextTimerAsync();
    expect(await waiting).toBe('changed');
    expect(performance.now() - before).toBeLessThanOrEqual(2000);
  });

  test('ends when the machine has slept', async () => {
    const waiting = wait(3_600_000);
    await jest.advanceTimersByTimeAsync(10_000);
    jest.setSystemTime(Date.now() + 7_200_000);
    await jest.advanceTimersByTimeAsync(2000);
    expect(await waiting).toBe('woke');
  });

  test('ends at the deadline, even one further than timers reach or already past', async () => {
    const waiting = wait(5000);
    await jest.advanceTimersByTimeAsync(5000);
    expect(await waiting).toBe('deadline');
    const past = wait(-1);
    await jest.advanceTimersByTimeAsync(1);
    expect(await past).toBe('deadline');
    const endless = wait(Number.POSITIVE_INFINITY);
    await jest.advanceTimersByTimeAsync(10_000);
    addresses = ['eth0/10.0.0.2'];
    await jest.advanceTimersByTimeAsync(2000);
    expect(await endless).toBe('changed');
  });

  test('an abort ends it with its reason, and stops the polling', async () => {
    const controller = new AbortController();
    const waiting = wait(5000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(wait(5000, controller.signal)).rejects.toThrow('enough');
    const before = looks;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(looks).toBe(before);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('networkSeemsAway', () => {
  const failed = (code: string) =>
    new MillraceError('origin-unreachable', '', { cause: Object.assign(new Error(), { code }) });

  test('blames this machine for a missing route or resolver, and for other failures only without an address', () => {
    for (const code of ['ENETUNREACH', 'ENETDOWN', 'EAI_AGAIN']) {
      expect(networkSeemsAway(failed(code), 2)).toBe(true);
    }
    for (const code of ['ENOTFOUND', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']) {
      expect(networkSeemsAway(failed(code), 2)).toBe(false);
      expect(networkSeemsAway(failed(code), 0)).toBe(true);
    }
    expect(networkSeemsAway(failed('ECONNREFUSED'), 0)).toBe(false);
    expect(networkSeemsAway(new MillraceError('origin-denied'), 0)).toBe(false);
  });

  test('finds the failure inside wrapping errors', () => {
    const inner = Object.assign(new Error(), { code: 'ENETUNREACH' });
    const several = new AggregateError([inner]);
    expect(networkSeemsAway(new MillraceError('proxy-failed', '', { cause: several }), 1)).toBe(
      true,
    );
  });
});

test('loopback addresses are left out', () => {
  expect(networkAddresses().filter((each) => /\/(127\.|::1$)/.test(each))).toEqual([]);
});
