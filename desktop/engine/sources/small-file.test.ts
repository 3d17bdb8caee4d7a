import { expect, test } from '@jest/globals';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import { readSmallFile } from './small-file.ts';
import type { WholeAnswer } from './source-answer.ts';

/** A source whose answer brings one byte after the other, without end. */
const dripping = {
  openWhole: async (signal: AbortSignal): Promise<WholeAnswer> => ({
    ...({} as WholeAnswer),
    headers: {},
    read: async (sink: Sink) => {
      for (let at = 0; !signal.aborted; at++) {
        sink(at, Uint8Array.of(1));
        await new Promise((resolve) => setImmediate(resolve));
      }
      throw signal.reason;
    },
  }),
};

test('ends a file that drips without end', async () => {
  const never = new AbortController().signal;
  const reading = readSmallFile(dripping, Infinity, never, 50);
  await expect(reading).rejects.toMatchObject({ code: 'origin-timeout' });
});

test('ends with the reason of its signal', async () => {
  const ended = new AbortController();
  const reading = readSmallFile(dripping, Infinity, ended.signal, 50_000);
  ended.abort(new Error('given up'));
  await expect(reading).rejects.toThrow('given up');
});
