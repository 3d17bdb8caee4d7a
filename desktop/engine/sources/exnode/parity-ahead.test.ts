import { expect, test } from '@jest/globals';
import type { CodedExtent } from '@millrace/shared/exnode/exnode';
import { ParityAhead } from './parity-ahead.ts';
import type { ParityBlock, ParityBlocks } from './parity-blocks.ts';

const MIB = 1024 * 1024;
const layout = { start: 0, end: 80 * MIB, data: 4, parity: 2, unit: MIB };
const extent: CodedExtent = { ...layout, parityHexes: [], shards: [] };
const lost = (number: number, count = 1) => ({ extent, number, count });

/** Parity that the test gives: what has been asked for, and how many blocks of it were there before. */
function stage() {
  const asked: { number: number; count: number; had: number; signal: AbortSignal }[] = [];
  const answers: PromiseWithResolvers<ParityBlock[]>[] = [];
  const read: ParityBlocks['read'] = (_extent, { number }, count, signal, had = []) => {
    asked.push({ number, count, had: had.length, signal });
    const answer = Promise.withResolvers<ParityBlock[]>();
    signal.addEventListener('abort', () => answer.reject(signal.reason));
    answers.push(answer);
    return answer.promise;
  };
  const ahead = new ParityAhead({ read }, MIB);
  return { ahead, asked, answers };
}

const block = (parity: number): ParityBlock => ({ parity, bytes: new Uint8Array(1) });
const turns = async () => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};
const { signal } = new AbortController();

test('two columns are read ahead at a time, and no more of them than 16 MiB', async () => {
  const { ahead, asked, answers } = stage();
  ahead.want(Array.from({ length: 20 }, (_, number) => lost(number)));
  expect(asked.map(({ number }) => number)).toEqual([0, 1]);
  for (let number = 0; number < 20; number++) {
    answers[number]?.resolve([block(0)]);
    await turns();
  }
  expect(asked.map(({ number }) => number)).toEqual(Array.from({ length: 16 }, (_, i) => i));
  expect(await ahead.take(extent, 3, signal)).toEqual([block(0)]);
  expect(asked.at(-1)?.number).toBe(16);
});

test('a column of which another block is lost gets the parity that it lacks', async () => {
  const { ahead, asked, answers } = stage();
  ahead.want([lost(0)]);
  answers[0]?.resolve([block(1)]);
  await turns();
  ahead.want([lost(0, 2)]);
  expect(asked.at(-1)).toMatchObject({ count: 2, had: 1 });
  answers[1]?.resolve([block(1), block(0)]);
  expect(await ahead.take(extent, 0, signal)).toEqual([block(1), block(0)]);
});

test('whoever solves a column does not wait for a silent depot for ever', async () => {
  const { ahead, asked } = stage();
  ahead.want([lost(0)]);
  const solving = new AbortController();
  const taken = ahead.take(extent, 0, solving.signal);
  solving.abort();
  expect(await taken).toEqual([]);
  expect(asked[0]?.signal.aborted).toBe(true);
  // The next one reads for itself.
  expect(await ahead.take(extent, 0, signal)).toEqual([]);
  ahead.want([lost(0)]);
  expect(asked.length).toBe(1);
});

test('a column whose depot has failed is asked for again when more is known', async () => {
  const { ahead, asked, answers } = stage();
  ahead.want([lost(0)]);
  answers[0]?.reject(new Error('refused'));
  await turns();
  expect(asked.length).toBe(1);
  ahead.want([lost(0)]);
  expect(asked.length).toBe(2);
  ahead.end();
  await turns();
  expect(asked[1]?.signal.aborted).toBe(true);
});
