import { describe, expect, test } from '@jest/globals';
import { SharedRate } from './shared-rate.ts';

const never = new AbortController().signal;

describe('the rate of all downloads', () => {
  test('holds nobody up where there is none', () => {
    const rate = new SharedRate(() => 0);
    expect(rate.limitFor('a').take(1e12, never)).toBeUndefined();
  });

  test('lets those that wait go when it is taken away', async () => {
    const rate = new SharedRate(() => 0);
    rate.rate = 1;
    const limit = rate.limitFor('a');
    expect(limit.take(1000, never)).toBeUndefined();
    const waiting = [limit.take(1, never), rate.limitFor('b').take(1, never)];
    expect(waiting.every((promise) => promise instanceof Promise)).toBe(true);
    rate.rate = undefined;
    await Promise.all(waiting);
  });

  test('who is interrupted does not wait, and takes no place', async () => {
    const rate = new SharedRate(() => 0);
    rate.rate = 1;
    const limit = rate.limitFor('a');
    limit.take(1000, never);
    const controller = new AbortController();
    const waiting = limit.take(1e9, controller.signal);
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    await expect(limit.take(1, controller.signal)).rejects.toThrow('stop');
    rate.rate = undefined;
    expect(limit.take(1, never)).toBeUndefined();
  });
});
