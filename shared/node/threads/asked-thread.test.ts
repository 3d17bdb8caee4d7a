import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from '@jest/globals';
import { MillraceError } from '../../src/base/errors.ts';
import { AskedThread } from './asked-thread.ts';

/** Doubles numbers; fails for those below 0, and ends at 13. */
const PROGRAM = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', ({ id, request }) => {
    if (request === 13) process.exit(0);
    parentPort.postMessage(request < 0 ? { id, error: 'too small' } : { id, answer: request * 2 });
  });
`;

let started = 0;
const thread = new AskedThread<number, number>(
  () => {
    started++;
    return new Worker(PROGRAM, { eval: true });
  },
  (why) => new MillraceError('file-not-writable', why),
);

afterEach(() => thread.close());

test('requests are answered each, also while others are open', async () => {
  const answers = await Promise.allSettled([1, -1, 20].map((n) => thread.ask(n)));
  expect(answers).toMatchObject([
    { value: 2 },
    { reason: { code: 'file-not-writable', detail: 'too small' } },
    { value: 40 },
  ]);
  expect(started).toBe(1);
});

test('requests to a thread that ends fail, and the next one starts another thread', async () => {
  const before = started;
  const lost = await Promise.allSettled([13, 5].map((n) => thread.ask(n)));
  expect(lost).toMatchObject([{ reason: { code: 'internal' } }, { reason: { code: 'internal' } }]);
  expect(await thread.ask(4)).toBe(8);
  expect(started).toBe(before + 2);
});
