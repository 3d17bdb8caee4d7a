import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ShownDownload, TakerKind } from '../contract/taker.ts';
import { LastShown } from './last-shown.ts';

const download = (id: string, createdAt: number): ShownDownload => ({
  taker: 'desktop',
  id,
  name: id,
  status: 'active',
  storedBytes: 0,
  bytesPerSecond: 0,
  createdAt,
});

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Returns takers whose answers the test gives by hand, and a storage that outlives backgrounds. */
function world() {
  const stored: Record<string, unknown> = {};
  const answers = new Map<TakerKind, (list: readonly ShownDownload[]) => void>();
  const onLate = jest.fn();
  let now = 0;
  const begin = () =>
    new LastShown({
      takers: {
        list: ([kind]) => new Promise((resolve) => void answers.set(kind as TakerKind, resolve)),
      },
      storage: {
        get: async () => ({ ...stored }),
        set: async (items: object) => void Object.assign(stored, items),
      } as never,
      onLate,
      now: () => now,
    });
  const settle = () => jest.advanceTimersByTimeAsync(0);
  const answer = async (kind: TakerKind, ...list: ShownDownload[]) => {
    await settle();
    answers.get(kind)?.(list);
    await settle();
  };
  const pass = (ms: number) => {
    now += ms;
    return jest.advanceTimersByTimeAsync(ms);
  };
  return { begin, answer, onLate, pass };
}

describe('the list shown on pages', () => {
  test('has the downloads of both takers, newest first, if both answer at once', async () => {
    const { begin, answer, onLate } = world();
    const list = begin().list(['desktop', 'browser']);
    await answer('browser', download('new', 2));
    await answer('desktop', download('newest', 3), download('old', 1));
    expect((await list).map(({ id }) => id)).toEqual(['newest', 'new', 'old']);
    expect(onLate).not.toHaveBeenCalled();
  });

  test('is the last answer until a slow taker answers, also after a restart', async () => {
    const { begin, answer, onLate, pass } = world();
    const first = begin().list(['desktop']);
    await answer('desktop', download('a', 1));
    expect(await first).toHaveLength(1);
    // The background has ended, and the host with it.
    const second = begin().list(['desktop']);
    await pass(100);
    expect(await second).toEqual([download('a', 1)]);
    expect(onLate).not.toHaveBeenCalled();
    await answer('desktop', download('b', 2), download('a', 1));
    expect(onLate).toHaveBeenCalledTimes(1);
  });

  test('is not announced again if a slow taker repeats its last answer', async () => {
    const { begin, answer, onLate, pass } = world();
    const shown = begin();
    const first = shown.list(['desktop']);
    await answer('desktop', download('a', 1));
    await first;
    const second = shown.list(['desktop']);
    await pass(100);
    await second;
    await answer('desktop', download('a', 1));
    expect(onLate).not.toHaveBeenCalled();
  });

  test('is empty after a longer wait if no earlier answer is known', async () => {
    const { begin, answer, onLate, pass } = world();
    let list: readonly ShownDownload[] | undefined;
    void begin()
      .list(['desktop'])
      .then((said) => {
        list = said;
      });
    await pass(2000);
    expect(list).toBeUndefined();
    await pass(2000);
    expect(list).toEqual([]);
    await answer('desktop', download('a', 1));
    expect(onLate).toHaveBeenCalledTimes(1);
  });
});
