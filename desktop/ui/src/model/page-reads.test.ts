import { expect, test } from '@jest/globals';
import { PageReads } from './page-reads.ts';

test('reads no page twice at a time', () => {
  const reads = new PageReads();
  const done = reads.begin(1, 0, 7);
  expect(done).toBeDefined();
  expect(reads.begin(1, 0, 7)).toBeUndefined();
  expect(reads.begin(1, 100, 7)).toBeDefined();
  expect(reads.begin(1, 0, 8)).toBeDefined();
  expect(reads.begin(2, 0, 7)).toBeDefined();
  done?.();
  expect(reads.begin(1, 0, 7)).toBeDefined();
});

test('reads a page again that was asked for before the list changed', () => {
  const reads = new PageReads();
  const before = reads.begin(1, 0, 7);
  reads.outdate();
  const after = reads.begin(1, 0, 7);
  expect(after).toBeDefined();
  before?.();
  expect(reads.begin(1, 0, 7)).toBeUndefined();
});
