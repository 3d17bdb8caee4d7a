import { expect, test } from '@jest/globals';
import { takenRuns } from './taken-runs.ts';

const run = (start: number, bytes: number) => ({ start, from: 0, bytes });

test('gives up a short stretch where that costs little', () => {
  const runs = [run(0, 500_000), run(600_000, 512), run(700_000, 300_000)];
  expect(takenRuns(runs, 1_000_000)).toEqual([runs[0], runs[2]]);
});

test('keeps a short stretch that is much of what is missing', () => {
  const runs = [run(0, 500_000), run(510_000, 512), run(520_000, 480_000)];
  expect(takenRuns(runs, 1_000_000)).toEqual(runs);
});

test('counts runs that follow each other as one stretch', () => {
  const runs = [run(0, 512), run(512, 512), run(1024, 512), run(10_000, 512)];
  expect(takenRuns(runs, 20_000, 1)).toEqual(runs.slice(0, 3));
});

test('takes everything of a file that is all there', () => {
  expect(takenRuns([run(0, 100)], 100)).toEqual([run(0, 100)]);
});
