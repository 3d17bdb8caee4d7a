import { describe, expect, test } from '@jest/globals';
import { outcomeOf, readCounts, readProgress } from './push-outcome.ts';

const COUNTS = { unchanged: 1, fetched: 2, failed: 0 };

describe('hosts of a push', () => {
  test('say how far they are, and what they have done', () => {
    expect(readProgress('progress 20 100')).toEqual({ files: 20, of: 100 });
    expect(readCounts('1 unchanged, 2 fetched, 0 failed')).toEqual(COUNTS);
    for (const line of ['', 'progress 1', 'progress 1 2 3', 'fetch progress 1 2']) {
      expect([readProgress(line), readCounts(line)]).toEqual([undefined, undefined]);
    }
  });

  test('are done if the script has counted its files and none has failed', () => {
    expect(outcomeOf(0, COUNTS, ['a banner'])).toEqual({
      done: true,
      status: 0,
      counts: COUNTS,
      why: '',
    });
  });

  test.each([
    [0, undefined, [], 'its shell ended without running the script'],
    [0, { ...COUNTS, failed: 1 }, [], '1 file failed'],
    [1, { ...COUNTS, failed: 2 }, ['a: lost'], '2 files failed; a: lost'],
    [1, COUNTS, [], 'exit status 1'],
    [
      2,
      undefined,
      ['millrace: this host has no curl, and needs it'],
      'a program is missing there; millrace: this host has no curl, and needs it',
    ],
    [5, undefined, [], 'the script has a wrong digest there, and was not run'],
    [
      255,
      undefined,
      ['ssh: no route', ' '],
      'the host cannot be reached, or was lost; ssh: no route',
    ],
    [undefined, undefined, [], 'its shell was ended'],
  ])('with status %j and %j are not done', (status, counts, messages, why) => {
    expect(outcomeOf(status, counts, messages)).toEqual({ done: false, status, counts, why });
  });

  test('cannot fill the screen with messages', () => {
    const { why } = outcomeOf(1, undefined, Array(50).fill('x'.repeat(5000)));
    expect(why.length).toBeLessThan(1000);
  });
});
