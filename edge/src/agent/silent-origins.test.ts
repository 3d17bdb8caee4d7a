import { describe, expect, jest, test } from '@jest/globals';
import { SilentOrigins } from './silent-origins.ts';

const PATIENCE = 1000;

/** A question that nobody has answered yet. */
function question() {
  const { promise, resolve, reject } = Promise.withResolvers<{ word: string }>();
  let signal: AbortSignal | undefined;
  const ask = (end: AbortSignal) => {
    signal = end;
    end.addEventListener('abort', () => reject(end.reason));
    return promise;
  };
  return { ask, isEnded: () => signal?.aborted === true, answer: resolve, fail: reject };
}

/** Lets everything happen that waits for nothing. */
const settle = async () => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};

describe('a client of a silent origin', () => {
  const { signal } = new AbortController();

  test('gets an answer that comes in time', async () => {
    const silent = new SilentOrigins();
    const { ask, answer } = question();
    const waiting = silent.wait('/file', PATIENCE, ask, signal);
    answer({ word: 'yes' });
    expect(await waiting).toEqual({ word: 'yes' });
    expect(silent.isLate('/file')).toBe(false);
  });

  test('waits no longer than its patience, and the origin is late until it answers or fails', async () => {
    jest.useFakeTimers();
    try {
      const silent = new SilentOrigins();
      for (const end of ['answer', 'fail'] as const) {
        const asked = question();
        const waiting = silent.wait('/file', PATIENCE, asked.ask, signal);
        jest.advanceTimersByTime(PATIENCE);
        expect(await waiting).toBeUndefined();
        expect([silent.isLate('/file'), asked.isEnded()]).toEqual([true, false]);
        asked[end]({ word: 'late' });
        await settle();
        expect(silent.isLate('/file')).toBe(false);
      }
    } finally {
      jest.useRealTimers();
    }
  });

  test('that leaves ends the question before its patience is over, and not after it', async () => {
    jest.useFakeTimers();
    try {
      const silent = new SilentOrigins();
      const [early, late] = [new AbortController(), new AbortController()];
      const [first, second] = [question(), question()];
      const gone = silent.wait('/first', PATIENCE, first.ask, early.signal);
      early.abort(new Error('left'));
      await expect(gone).rejects.toThrow('left');
      const waiting = silent.wait('/second', PATIENCE, second.ask, late.signal);
      jest.advanceTimersByTime(PATIENCE);
      await waiting;
      late.abort(new Error('left'));
      expect([first.isEnded(), second.isEnded()]).toEqual([true, false]);
    } finally {
      jest.useRealTimers();
    }
  });

  test('waits for the answer where too many origins are asked on', async () => {
    jest.useFakeTimers();
    try {
      const silent = new SilentOrigins();
      const asked = Array.from({ length: 65 }, () => question());
      const waiting = asked.map(({ ask }, i) => silent.wait(`/${i}`, PATIENCE, ask, signal));
      jest.advanceTimersByTime(PATIENCE);
      expect(await Promise.all(waiting.slice(0, 64))).toEqual(Array(64).fill(undefined));
      asked[64]?.answer({ word: 'in the end' });
      expect(await waiting[64]).toEqual({ word: 'in the end' });
    } finally {
      jest.useRealTimers();
    }
  });
});
