import { expect, test } from '@jest/globals';
import { WaitingLine } from './waiting-line.ts';

test('entries leave in order, also after some have given up or the line was empty', () => {
  const line = new WaitingLine<string>();
  expect(line.take()).toBeUndefined();
  for (const entry of ['a', 'b', 'c', 'd']) line.add(entry);
  expect([line.delete('b'), line.delete('b')]).toEqual([true, false]);
  expect([line.take(), line.take(), line.size]).toEqual(['a', 'c', 1]);
  line.add('a');
  expect([line.take(), line.take(), line.take()]).toEqual(['d', 'a', undefined]);
  line.add('e');
  expect([line.take(), line.take()]).toEqual(['e', undefined]);
});

test('all entries are taken in order, and the line stays usable', () => {
  const line = new WaitingLine<string>();
  for (const entry of ['a', 'b', 'c']) line.add(entry);
  expect([line.take(), line.takeAll(), line.size]).toEqual(['a', ['b', 'c'], 0]);
  line.add('d');
  expect(line.take()).toBe('d');
});

// An array, or a new iterator per entry, would take tens of billions of steps.
test('hundreds of thousands of entries that wait, give up and leave take less than quadratic time', () => {
  const count = 400_000;
  const line = new WaitingLine<number>();
  for (let i = 0; i < count; i++) line.add(i);
  for (let i = count - 1; i >= count / 2; i--) line.delete(i);
  let wrong = 0;
  for (let i = 0; i < count / 2; i++) if (line.take() !== i) wrong++;
  expect(wrong).toBe(0);
  expect(line.size).toBe(0);
});
