import { describe, expect, test } from '@jest/globals';
import { AnsweredTimeouts } from './answered-timeouts.ts';

/** Experience of `answers` late answers, one every 10 ms from time 0 on. */
function after(answers: number, inARow = 1): AnsweredTimeouts {
  const experience = new AnsweredTimeouts();
  for (let i = 0; i < answers; i++) experience.onAnswered(inARow, 10 * i);
  return experience;
}

describe('AnsweredTimeouts', () => {
  test('with no late answers, or one or two, two timeouts must stay unanswered', () => {
    expect(after(0).needed(1, 0, 0)).toBe(2);
    expect(after(2).needed(1, 0, 20)).toBe(2);
  });

  test('needs two timeouts more than late clients; a few of these among many do not count', () => {
    expect([after(30).needed(1000, 0, 300), after(10).needed(1000, 0, 100)]).toEqual([3, 2]);
    expect(after(10).needed(100, 0, 100)).toBe(3);
    expect(after(10, 3).needed(100, 0, 100)).toBe(5);
    expect(after(10, 200).needed(100, 0, 100)).toBe(8);
  });

  test('long silences count as usual only if many are long', () => {
    const experience = after(40);
    for (let i = 0; i < 10; i++) experience.onAnswered(4, 400);
    expect(experience.needed(1000, 0, 500)).toBe(3);
    for (let i = 0; i < 20; i++) experience.onAnswered(4, 500);
    expect(experience.needed(1000, 0, 500)).toBe(6);
  });

  test('a client that has answered late itself may do so again, whatever others do', () => {
    expect([after(0).needed(1000, 2, 0), after(0).needed(1, 255, 0)]).toEqual([4, 8]);
    expect(after(30, 3).needed(100, 1, 300)).toBe(5);
  });

  test('experience fades', () => {
    const experience = after(40, 2);
    expect(experience.needed(1000, 0, 5000)).toBe(4);
    expect(experience.needed(1000, 0, 15_000)).toBe(2);
    expect(experience.needed(1, 0, 60_000)).toBe(2);
    for (let at = 60_000; at < 63_000; at += 100) experience.onAnswered(1, at);
    expect(experience.needed(1000, 0, 63_000)).toBe(3);
  });
});
