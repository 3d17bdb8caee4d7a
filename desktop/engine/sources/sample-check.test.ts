import { expect, test } from '@jest/globals';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import { readSample } from './sample-check.ts';

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
