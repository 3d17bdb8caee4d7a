import { expect, test } from '@jest/globals';
import { GuessTable } from './guess-table.ts';

test('a client that guesses waits, and nobody else does', () => {
  const table = new GuessTable();
  for (let i = 0; i < 4; i++) table.onWrong('a', 0);
  expect(table.waitMs('a', 0)).toBe(1000);
  expect(table.waitMs('b', 0)).toBe(0);
  expect(table.waitMs('a', 1000)).toBe(0);
  table.onWrong('a', 1000);
  expect(table.waitMs('a', 1000)).toBe(2000);
  table.onRight('a');
  expect(table.waitMs('a', 1000)).toBe(0);
});

test('a flood of addresses takes bounded memory, and those that guess stay', () => {
  const table = new GuessTable();
  for (let i = 0; i < 4; i++) table.onWrong('a', 0);
  for (let i = 0; i < 20_000; i++) {
    table.onWrong(`flood ${i}`, 0);
    if (i % 1000 === 0) table.onWrong('a', 0);
  }
  expect(table.size).toBe(4096);
  expect(table.waitMs('a', 0)).toBeGreaterThan(0);
});
