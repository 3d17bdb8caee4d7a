import { describe, expect, jest, test } from '@jest/globals';
import { AdjustableLimit, takeFromAll } from './rate-limit.ts';

const never = new AbortController().signal;

/** Returns a limit whose clock stands still until the test moves it. */
function limited(bytesPerSecond: number | undefined) {
  let now = 0;
  const limit = new AdjustableLimit(bytesPerSecond, () => now);
  return {
    limit,
    pass(ms: number) {
      now += ms;
    },
  };
}

describe('AdjustableLimit', () => {
  test('without a limit no reader waits', () => {
    expect(limited(undefined).limit.take(1e9, never)).toBeUndefined();
  });

  test('a reader that takes more than is available waits, and removing the limit releases all readers', async () => {
    const { limit } = limited(1000);
    expect(limit.take(250, never)).toBeUndefined();
    const order: string[] = [];
    const waits = ['a', 'b', 'c'].map((name) =>
      limit.take(1000, never)?.then(() => order.push(name)),
    );
    expect(waits.every((wait) => wait !== undefined)).toBe(true);
    limit.set(undefined);
    await Promise.all(waits);
    expect(order).toEqual(['a', 'b', 'c']);
    expect(limit.take(1e9, never)).toBeUndefined();
  });

  test('a request that ends wakes its own wait at once, while its download continues', async () => {
    const { limit } = limited(1);
    const request = new AbortController();
    const download = new AbortController();
    const signal = AbortSignal.any([request.signal, download.signal]);
    const waiting = takeFromAll([limit], 1_000_000, signal);
    expect(waiting).toBeDefined();
    request.abort();
    await waiting;
    expect(download.signal.aborted).toBe(false);
  });

  test('no timer is left after all waiting readers have given up', async () => {
    jest.useFakeTimers();
    try {
      const { limit } = limited(1);
      const [one, other] = [new AbortController(), new AbortController()];
      const waits = [one, other].map(({ signal }) => limit.take(1_000_000, signal));
      one.abort();
      expect(jest.getTimerCount()).toBe(1);
      other.abort();
      await Promise.all(waits);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  test('a reader that gives up waits no longer, and the others keep their turn', async () => {
    const { limit } = limited(1000);
    limit.take(5000, never);
    const abort = new AbortController();
    const first = limit.take(1000, abort.signal);
    const second = limit.take(1000, never);
    abort.abort();
    await first;
    limit.set(undefined);
    await second;
    expect(limit.take(1, never)).toBeUndefined();
  });
});

describe('several limits', () => {
  test('bytes count against each of them, and a reader waits for all of them', async () => {
    const [own, all] = [limited(1000).limit, limited(1000).limit];
    expect(takeFromAll([own, all], 250, never)).toBeUndefined();
    const wait = takeFromAll([own, all], 1000, never);
    let over = false;
    const waited = wait?.then(() => {
      over = true;
    });
    own.set(undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(over).toBe(false);
    all.set(undefined);
    await waited;
    expect(over).toBe(true);
  });

  test('a limit that is used up holds readers back, whatever the others have left', () => {
    const [spent, free] = [limited(1000).limit, limited(undefined).limit];
    void spent.take(5000, never);
    expect(takeFromAll([free, spent], 1, never)).toBeDefined();
    expect(takeFromAll([free], 1, never)).toBeUndefined();
    spent.set(undefined);
  });
});
