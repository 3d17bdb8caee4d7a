import { describe, expect, test } from '@jest/globals';
import { AnswerLimit, MAX_ASKING_NETWORKS } from './answer-limit.ts';

const judge = (limit: AnswerLimit, count: number, now: number, network = 'victim') =>
  Array.from({ length: count }, () => limit.judge(network, now));

describe('answers to addresses that may be forged', () => {
  test('are sent up to the rate, saved up for two seconds', () => {
    const limit = new AnswerLimit(10);
    expect(judge(limit, 20, 0)).toEqual(Array(20).fill('send'));
    expect(judge(limit, 1, 0)).toEqual(['truncate']);
    expect(judge(limit, 11, 1000)).toEqual([...Array(10).fill('send'), 'drop']);
  });

  test('above the rate are truncated in turn, so that a true resolver finds out', () => {
    const limit = new AnswerLimit(1);
    judge(limit, 2, 0);
    expect(judge(limit, 4, 0)).toEqual(['truncate', 'drop', 'truncate', 'drop']);
  });

  test('of one network do not count for another', () => {
    const limit = new AnswerLimit(1);
    judge(limit, 10, 0);
    expect(judge(limit, 2, 0, 'other')).toEqual(['send', 'send']);
  });

  test('are not limited without a rate', () => {
    const limit = new AnswerLimit(0);
    expect(new Set(judge(limit, 1000, 0))).toEqual(new Set(['send']));
    expect(limit.size).toBe(0);
  });

  test('a flood from many networks neither fills the memory nor frees a victim that is in use', () => {
    const limit = new AnswerLimit(1);
    judge(limit, 2, 0);
    for (let i = 0; i < 3 * MAX_ASKING_NETWORKS; i++) {
      limit.judge(`network ${i}`, 0);
      if (i % 1000 === 0) expect(limit.judge('victim', 0)).not.toBe('send');
    }
    expect(limit.size).toBe(MAX_ASKING_NETWORKS);
  });
});
