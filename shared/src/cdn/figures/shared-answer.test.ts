import { describe, expect, test } from '@jest/globals';
import { SharedAnswer } from './shared-answer.ts';

/** An answer that counts how often it was made; `finish` completes it. */
function counting(maxAgeMs: number) {
  const state = { now: 0, made: 0, finish: (): void => {}, fail: (_error: Error): void => {} };
  const shared = new SharedAnswer(
    () => {
      const nth = ++state.made;
      return new Promise<number>((resolve, reject) => {
        state.finish = () => resolve(nth);
        state.fail = reject;
      });
    },
    maxAgeMs,
    () => state.now,
  );
  return { state, shared };
}

describe('SharedAnswer', () => {
  test('is made once for all callers within its age, and again after that', async () => {
    const { state, shared } = counting(1000);
    const asked = Array.from({ length: 100 }, () => shared.get());
    state.finish();
    expect(new Set(await Promise.all(asked))).toEqual(new Set([1]));
    state.now = 999;
    expect(await shared.get()).toBe(1);
    state.now = 1000;
    const again = shared.get();
    state.finish();
    expect(await again).toBe(2);
  });

  test('callers wait for a slow answer instead of making another', async () => {
    const { state, shared } = counting(1000);
    const first = shared.get();
    state.now = 5000;
    const second = shared.get();
    state.finish();
    expect([await first, await second, state.made]).toEqual([1, 1, 1]);
  });

  test('a failure reaches the callers that wait, and is not kept', async () => {
    const { state, shared } = counting(1000);
    const first = shared.get();
    state.fail(new Error('no'));
    await expect(first).rejects.toThrow('no');
    const second = shared.get();
    state.finish();
    expect(await second).toBe(2);
  });

  test('without an age each caller gets its own', async () => {
    const { state, shared } = counting(0);
    void shared.get();
    void shared.get();
    expect(state.made).toBe(2);
  });
});
