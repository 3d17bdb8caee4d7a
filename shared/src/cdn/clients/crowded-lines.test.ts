import { describe, expect, test } from '@jest/globals';
import { CrowdedLines } from './crowded-lines.ts';

/** A line with so many clients, of which some have answered late: the timeouts before each answer. */
function lineOf(clients: number, late: readonly number[] = []): CrowdedLines {
  const lines = new CrowdedLines();
  for (let i = 0; i < clients; i++) lines.enter('a');
  for (const inARow of late) lines.onLate('a', inARow, 0);
  return lines;
}

const times = (count: number, inARow: number) => Array<number>(count).fill(inARow);

describe('timeouts that live clients of a line leave unanswered', () => {
  test('are unknown without late answers, with one or two, and of other lines', () => {
    expect(lineOf(100).needed('a', 0)).toBe(0);
    expect(lineOf(100, [1, 5]).needed('a', 0)).toBe(0);
    const lines = lineOf(1000, times(500, 2));
    lines.enter('b');
    expect([lines.needed('b', 0), lines.needed('unknown', 0)]).toEqual([0, 0]);
  });

  test('are few where late answers come after one timeout, and many where these go on', () => {
    const few = lineOf(1000, times(300, 1)).needed('a', 0);
    const many = lineOf(1000, [...times(300, 1), ...times(150, 2), ...times(80, 4)]).needed('a', 0);
    expect(few).toBeLessThanOrEqual(3);
    expect(many).toBeGreaterThanOrEqual(8);
  });

  test('grow with the number of silences of each client', () => {
    const mixed = [1, 1, 2];
    const rare = lineOf(1000, Array(10).fill(mixed).flat()).needed('a', 0);
    const often = lineOf(1000, Array(1000).fill(mixed).flat()).needed('a', 0);
    expect(often).toBeGreaterThan(rare);
  });

  test('are forgotten with time, and with the last client', () => {
    const lines = lineOf(10, times(10, 3));
    expect(lines.needed('a', 0)).toBeGreaterThan(2);
    expect(lines.needed('a', 60_000)).toBe(0);
    for (let i = 0; i < 10; i++) lines.leave('a');
    lines.enter('a');
    expect(lines.needed('a', 0)).toBe(0);
  });
});

describe('a line that is cut', () => {
  test('is one on which nobody has answered for more than a second, until somebody does', () => {
    const lines = lineOf(10);
    lines.onAck('a', 1000);
    lines.onAck('a', 900);
    expect([lines.isCut('a', 2100), lines.isCut('a', 2200)]).toEqual([false, true]);
    // The last of its clients are as silent as all were.
    for (let i = 0; i < 9; i++) lines.leave('a');
    expect(lines.isCut('a', 2500)).toBe(true);
    lines.onAck('a', 2600);
    expect([lines.isCut('a', 2700), lines.isCut('a', 9000)]).toEqual([false, false]);
  });

  test('cannot be told from a few silent clients', () => {
    expect(lineOf(9).isCut('a', 60_000)).toBe(false);
    expect(lineOf(9).isCut('unknown', 60_000)).toBe(false);
  });
});
