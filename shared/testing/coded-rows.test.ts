import { expect, test } from '@jest/globals';
import type { Assignment } from '../src/download/scheduler/scheduler.ts';
import { CodedRows } from './coded-rows.ts';

const finish = (rows: CodedRows, unit: Assignment) => {
  const outdone = rows.onBytes(unit, unit.range);
  for (const one of [unit, ...outdone]) rows.onEnd(one);
  return outdone.map(({ source }) => source);
};

test('a row takes as many units as there are data shards, whichever come first', () => {
  const rows = new CodedRows(400, 2, 100, 9);
  const units = [...'abcd'].map((source) => rows.next(source) as Assignment);
  expect(units.map(({ range }) => range.start)).toEqual([0, 0, 100, 100]);
  // At the end, further sources are asked for further units.
  const more = rows.next('c') as Assignment;
  expect([more.range.start, more.redundant]).toEqual([0, true]);
  expect(finish(rows, units[0] as Assignment)).toEqual([]);
  expect(finish(rows, more)).toEqual(['b']);
  expect(rows.done).toBe(false);
  finish(rows, units[2] as Assignment);
  finish(rows, units[3] as Assignment);
  expect(rows.done).toBe(true);
});

test('a late row gets a unit of one more source', () => {
  const rows = new CodedRows(800, 2, 100, 1);
  rows.next('a');
  rows.next('b');
  for (let row = 1; row <= 2; row++) {
    for (const unit of [...'cd'].map((source) => rows.next(source) as Assignment)) {
      expect(unit.range.start).toBe(row * 100);
      finish(rows, unit);
    }
  }
  expect(rows.next('c')?.range.start).toBe(0);
});
