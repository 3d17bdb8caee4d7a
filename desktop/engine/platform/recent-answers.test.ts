import { expect, test } from '@jest/globals';
import { RecentAnswers } from './recent-answers.ts';

const forEver = new AbortController().signal;

function stage() {
  const time = { now: 0 };
  const answers = new RecentAnswers<string>({ keptMs: 100, most: 2, clock: () => time.now });
  const asked: string[] = [];
  const ask = (key: string) =>
    answers.ask(key, forEver, async () => {
      asked.push(key);
      return `${key}${asked.length}`;
    });
  return { time, answers, asked, ask };
}

test('callers share a question that is under way, and its answer for a time', async () => {
  const { time, asked, ask } = stage();
  expect(await Promise.all([ask('a'), ask('a')])).toEqual(['a1', 'a1']);
  time.now = 99;
  expect(await ask('a')).toBe('a1');
  time.now = 100;
  expect(await ask('a')).toBe('a2');
  expect(asked).toEqual(['a', 'a']);
});

test('the oldest answer goes when there are too many', async () => {
  const { asked, ask } = stage();
  for (const key of ['a', 'b', 'c', 'b', 'a']) await ask(key);
  expect(asked).toEqual(['a', 'b', 'c', 'a']);
});

test('a failure is not kept, and a question that everybody has left ends', async () => {
  const { answers, ask } = stage();
  const failing = () => Promise.reject(new Error('down'));
  await expect(answers.ask('a', forEver, failing)).rejects.toThrow('down');
  expect(await ask('a')).toBe('a1');
  const leaving = new AbortController();
  let ended: AbortSignal | undefined;
  const left = answers.ask('b', leaving.signal, (signal) => {
    ended = signal;
    return new Promise(() => {});
  });
  await Promise.resolve();
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  expect(ended?.aborted).toBe(true);
});
