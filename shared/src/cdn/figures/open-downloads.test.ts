import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, OpenDownloads, WINDOW_MS } from './open-downloads.ts';

const NOON = 20_000 * DAY_MS + DAY_MS / 2;

/** Takes ranges of a file of 1000 bytes, and says what each caused. */
function taking(
  downloads: OpenDownloads,
  ...steps: readonly (readonly [key: string, start: number, end: number, after?: number])[]
): string[] {
  let now = NOON;
  return steps.map(([key, start, end, after = 0]) => {
    now += after;
    const ranges = [{ start, end }];
    const part = { keys: [key], length: 1000, ranges, isWhole: false } as const;
    const { begun, completed } = downloads.take(part, 'DE', now);
    return [begun ? 'begun' : '', completed ? 'completed' : ''].filter(Boolean).join(' ');
  });
}

describe('OpenDownloads', () => {
  test('ranges of one client are one download, complete with the last byte', () => {
    const steps = taking(
      new OpenDownloads(),
      ['a', 0, 400],
      ['b', 0, 1000],
      ['a', 600, 1000],
      ['a', 300, 599],
      ['a', 599, 600],
    );
    expect(steps).toEqual(['begun', 'begun completed', '', '', 'completed']);
  });

  test('bytes that come twice at the end begin nothing; half of the file does', () => {
    const steps = taking(
      new OpenDownloads(),
      ['a', 0, 1000],
      ['a', 900, 1000],
      ['a', 850, 1000],
      ['a', 0, 400],
      ['a', 0, 1000],
    );
    expect(steps).toEqual(['begun completed', '', '', 'begun', 'completed']);
  });

  test('a download goes on after midnight under the key of yesterday, and not after a day', () => {
    const downloads = new OpenDownloads();
    const take = (keys: readonly [string, ...string[]], start: number, now: number) =>
      downloads.take(
        { keys, length: 30, ranges: [{ start, end: start + 10 }], isWhole: false },
        'DE',
        now,
      );
    take(['monday'], 0, NOON);
    const next = NOON + DAY_MS / 2 + 1;
    expect(take(['tuesday', 'monday'], 10, next)).toMatchObject({ day: 20_000, begun: false });
    const late = take(['tuesday', 'monday'], 20, next + WINDOW_MS + 1);
    expect(late).toMatchObject({ day: 20_002, begun: true, completed: false });
  });

  test('a file of unknown length is complete with a whole answer', () => {
    const downloads = new OpenDownloads();
    const take = (isWhole: boolean) => {
      const ranges = [{ start: 0, end: 10 }];
      return downloads.take({ keys: ['a'], length: undefined, ranges, isWhole }, 'ZZ', NOON);
    };
    expect(take(false)).toMatchObject({ begun: true, completed: false });
    expect(take(true)).toMatchObject({ begun: false, completed: true });
    expect(take(true)).toMatchObject({ begun: true, completed: true });
  });

  test('any order and overlap of ranges completes exactly with the last missing byte', () => {
    const range = fc.tuple(fc.nat(9), fc.integer({ min: 1, max: 4 }));
    fc.assert(
      fc.property(fc.array(range, { maxLength: 30 }), (asked) => {
        const downloads = new OpenDownloads();
        const has = new Set<number>();
        for (const [start, length] of asked) {
          if (has.size === 10) return;
          const end = Math.min(10, start + length);
          for (let i = start; i < end; i++) has.add(i);
          const part = { length: 10, ranges: [{ start, end }], isWhole: false };
          const { completed } = downloads.take({ ...part, keys: ['a'] }, 'DE', NOON);
          expect(completed).toBe(has.size === 10);
        }
      }),
    );
  });

  test('whoever makes many downloads or holes has the oldest forgotten, within stated memory', () => {
    const downloads = new OpenDownloads(10, 50);
    for (let i = 0; i < 100; i++) {
      const ranges = Array.from({ length: 20 }, (_, n) => ({ start: 2 * n, end: 2 * n + 1 }));
      downloads.take({ keys: [`${i}`], length: 1000, ranges, isWhole: false }, 'DE', NOON);
    }
    expect(downloads.bytes).toBeLessThan(25_000);
    const [one] = taking(new OpenDownloads(), ['99', 0, 1]);
    expect(one).toBe('begun');
    const many = new OpenDownloads();
    const holes = Array.from({ length: 5000 }, (_, n) => ({ start: 2 * n, end: 2 * n + 1 }));
    many.take({ keys: ['a'], length: 10_000, ranges: holes, isWhole: false }, 'DE', NOON);
    expect(many.bytes).toBeLessThan(100_000);
  });
});
