import { describe, expect, test } from '@jest/globals';
import { Turns } from './turns.ts';

const never = new AbortController().signal;

describe('Turns', () => {
  test('each key has a bounded number of turns at a time, taken in order', async () => {
    const turns = new Turns(2);
    const order: string[] = [];
    const ends = [await turns.take('a', never), await turns.take('a', never)];
    const third = turns.take('a', never).then((end) => {
      order.push('third');
      return end;
    });
    const fourth = turns.take('a', never).then((end) => {
      order.push('fourth');
      return end;
    });
    (await turns.take('b', never))();
    expect(order).toEqual([]);
    ends[0]?.();
    ends[0]?.();
    const end = await third;
    expect(order).toEqual(['third']);
    end();
    (await fourth)();
    ends[1]?.();
    expect(turns.size).toBe(0);
  });

  test('a caller that gives up waiting takes no turn', async () => {
    const turns = new Turns(1);
    const end = await turns.take('a', never);
    const controller = new AbortController();
    const waiting = turns.take('a', controller.signal);
    controller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    end();
    expect(turns.size).toBe(0);
  });
});
