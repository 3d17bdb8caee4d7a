import { afterEach, expect, jest, test } from '@jest/globals';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import { readSample } from './sample-check.ts';

afterEach(() => {
  jest.useRealTimers();
});

test('a sample that drips ends, so that another source is asked', async () => {
  let given = false;
  const dripping = {
    discard: () => {
      given = true;
    },
    read: async (sink: Sink) => {
      while (!given) {
        sink(0, Uint8Array.of(1));
        await new Promise((resolve) => setImmediate(resolve));
      }
      throw new Error('given up');
    },
  };
  const reading = readSample(dripping, { start: 0, end: 16 }, 50);
  await expect(reading).rejects.toMatchObject({ code: 'origin-timeout' });
});

test('a sample that came while this process was blocked is taken', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  const ended = Promise.withResolvers<void>();
  let sink: Sink | undefined;
  const opened = {
    discard: () => ended.reject(new Error('given up')),
    read: (to: Sink) => {
      sink = to;
      return ended.promise;
    },
  };
  const reading = readSample(opened, { start: 0, end: 1 }, 50);
  // Timers come due before the bytes that arrived meanwhile are read.
  jest.advanceTimersByTime(5000);
  sink?.(0, Uint8Array.of(7));
  ended.resolve();
  expect(await reading).toEqual(Buffer.of(7));
});
