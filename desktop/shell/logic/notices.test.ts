import { expect, test } from '@jest/globals';
import { wordsFor } from '../text/words.ts';
import {
  afterQuiet,
  type EndedDownload,
  NO_NOTICES,
  whenDoneNotice,
  withEnded,
} from './notices.ts';

const en = wordsFor(['en']);

const complete = (gid: string, finishedAt: number): EndedDownload => ({
  gid,
  name: `${gid}.iso`,
  status: 'complete',
  finishedAt,
});
const failed = (gid: string, finishedAt: number): EndedDownload => ({
  ...complete(gid, finishedAt),
  status: 'error',
  error: {
    code: 'origin-gone',
    message: 'The file is gone',
    detail: '',
    advice: '',
    retryable: false,
  },
});

test('a completed download and a failed one are announced', () => {
  const one = withEnded(NO_NOTICES, [complete('a', 100)], 0, 100, en);
  expect(one.notices).toEqual([{ title: 'Download complete', body: 'a.iso', gid: 'a' }]);
  const other = withEnded(NO_NOTICES, [failed('b', 100)], 0, 100, en);
  expect(other.notices).toEqual([{ title: 'b.iso failed', body: 'The file is gone', gid: 'b' }]);
});

test('each end is announced once; a second failure is another end', () => {
  const first = withEnded(NO_NOTICES, [failed('a', 100)], 0, 100, en);
  expect(withEnded(first.state, [failed('a', 100)], 0, 20_000, en).notices).toEqual([]);
  expect(withEnded(first.state, [failed('a', 15_000)], 0, 20_000, en).notices).toHaveLength(1);
});

test('ends before the start, and other states, are not announced', () => {
  const old = [complete('a', 99), { ...complete('b', 101), status: 'removed' as const }];
  const step = withEnded(NO_NOTICES, old, 100, 200, en);
  expect(step).toEqual({ state: { ...NO_NOTICES }, notices: [], deadline: undefined });
});

test('ends in the seconds after a notice are announced as one', () => {
  let step = withEnded(NO_NOTICES, [complete('a', 1000)], 0, 1000, en);
  step = withEnded(step.state, [complete('b', 2000)], 0, 2000, en);
  expect(step).toMatchObject({ notices: [], deadline: 6000 });
  step = withEnded(step.state, [failed('c', 3000), complete('d', 3000)], 0, 3000, en);
  expect(afterQuiet(step.state, 5999, en).notices).toEqual([]);
  step = afterQuiet(step.state, 6000, en);
  expect(step.notices).toEqual([
    {
      title: '2 downloads complete, 1 download failed',
      body: 'Click to see the list.',
      gid: undefined,
    },
  ]);
  // Nothing is announced twice.
  expect(afterQuiet(step.state, 60_000, en)).toMatchObject({ notices: [], deadline: undefined });
});

test('memory is bounded', () => {
  const many = Array.from({ length: 5000 }, (_, i) => complete(String(i), 1));
  const { state } = withEnded({ ...NO_NOTICES, quietUntil: 10 }, many, 0, 1, en);
  expect([state.known.length, state.pending.length]).toEqual([1000, 1000]);
});

test('a countdown to sleep or shutdown is told once, and so is its failure', () => {
  const waits = { what: 'shutdown' as const };
  const counts = { ...waits, at: 60_000 };
  const failed = { what: null, problem: 'Access denied' };
  const told = (before: Parameters<typeof whenDoneNotice>[0], now: typeof before) =>
    whenDoneNotice(before, now, en)?.title;
  expect(told(undefined, waits)).toBeUndefined();
  expect(told(waits, counts)).toBe('This computer is about to shut down');
  expect(told(counts, counts)).toBeUndefined();
  expect(told(counts, { ...counts, at: 90_000 })).toBe('This computer is about to shut down');
  expect(told(counts, failed)).toBe('This computer has stayed on');
  expect(whenDoneNotice(counts, failed, en)?.body).toBe('Access denied');
  expect(told(failed, failed)).toBeUndefined();
});
