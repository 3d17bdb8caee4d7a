import { describe, expect, test } from '@jest/globals';
import { SharedRate } from './shared-rate.ts';

const never = new AbortController().signal;

describe('the shared rate', () => {
  test('makes nobody wait if there is no limit', () => {
    const rate = new SharedRate(() => 0);
    expect(rate.limitFor('a').take(1e12, never)).toBeUndefined();
  });

  test('releases all waiting downloads when the limit is removed', async () => {
    const rate = new SharedRate(() => 0);
    rate.rate = 1;
    const limit = rate.limitFor('a');
    expect(limit.take(1000, never)).toBeUndefined();
    const waiting = [limit.take(1, never), rate.limitFor('b').take(1, never)];
    expect(waiting.every((promise) => promise instanceof Promise)).toBe(true);
    rate.rate = undefined;
    await Promise.all(waiting);
  });

  test('rejects an aborted wait and gives its place to nobody', async () => {
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
