import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_HEAT_CELLS, mergeTopFiles, TopFiles } from './top-files.ts';

const CHUNK = 1000;
const use = (url: string, chunk = 0, length = 10 * CHUNK) => ({
  url,
  length,
  chunk,
  chunkBytes: CHUNK,
  bytes: CHUNK,
});

describe('TopFiles', () => {
  test('counts chunks per file and place, the files asked for most first', () => {
    const files = new TopFiles(0);
    for (const chunk of [0, 3, 3, 9]) files.record(use('a', chunk), 0);
    files.record(use('b'), 0);
    expect(files.top(5)).toEqual([
      {
        url: 'a',
        length: 10_000,
        count: 4,
        error: 0,
        bytes: 4000,
        cells: [1, 0, 0, 2, 0, 0, 0, 0, 0, 1],
      },
      {
        url: 'b',
        length: 10_000,
        count: 1,
        error: 0,
        bytes: 1000,
        cells: [1, ...Array(9).fill(0)],
      },
    ]);
    expect(files.top(1)).toHaveLength(1);
  });

  test('has a bounded number of cells, however long the file is', () => {
    const files = new TopFiles(0);
    const length = 1_000_000 * CHUNK;
    for (const chunk of [0, 999_999]) files.record(use('huge', chunk, length), 0);
    const [file] = files.top(1);
    expect(file?.cells).toHaveLength(MAX_HEAT_CELLS);
    expect([file?.cells[0], file?.cells.at(-1)]).toEqual([1, 1]);
  });

  test('starts counting places again when a file has another length', () => {
    const files = new TopFiles(0);
    files.record(use('a', 9), 0);
    files.record(use('a', 1, 2 * CHUNK), 0);
    expect(files.top(1)[0]).toMatchObject({ count: 2, length: 2000, cells: [0, 1] });
  });

  test('halves what it has counted every ten minutes', () => {
    const files = new TopFiles(0);
    for (let i = 0; i < 8; i++) files.record(use('old'), 0);
    files.record(use('new'), 20 * 60_000);
    expect(files.top(2).map(({ url, count }) => [url, count])).toEqual([
      ['old', 2],
      ['new', 1],
    ]);
  });

  test('a file that is asked for often comes before one that took over counts of others', () => {
    const files = new TopFiles(0, 2);
    for (const url of ['often', 'often', 'often', 'a', 'b', 'c']) files.record(use(url), 0);
    expect(files.top(2)).toMatchObject([
      { url: 'often', count: 3, error: 0 },
      { url: 'c', count: 3, error: 2 },
    ]);
  });

  test('never misses a file with more than its share, and never counts too little', () => {
    const stream = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 300 });
    fc.assert(
      fc.property(stream, (asked) => {
        const files = new TopFiles(0, 4);
        const truth = new Map<string, number>();
        for (const id of asked) {
          files.record(use(`${id}`), 0);
          truth.set(`${id}`, (truth.get(`${id}`) ?? 0) + 1);
        }
        const top = files.top(100);
        expect(top.length).toBeLessThanOrEqual(4);
        const kept = new Map(top.map((file) => [file.url, file]));
        for (const [url, count] of truth) {
          if (count > asked.length / 4) expect(kept.has(url)).toBe(true);
        }
        for (const { url, count, error } of top) {
          const real = truth.get(url) ?? 0;
          expect(count).toBeGreaterThanOrEqual(real);
          expect(count - error).toBeLessThanOrEqual(real);
        }
      }),
    );
  });
});

describe('mergeTopFiles', () => {
  test('adds up the counts of several processes', () => {
    const counted = (...chunks: number[]) => {
      const files = new TopFiles(0);
      for (const chunk of chunks) files.record(use('a', chunk, 3 * CHUNK), 0);
      return files.top(5);
    };
    expect(mergeTopFiles([counted(0, 1), counted(1, 2, 2), []], 5)).toEqual([
      { url: 'a', length: 3000, count: 5, error: 0, bytes: 5000, cells: [1, 2, 2] },
    ]);
  });

  test('of two versions the one asked for more is shown', () => {
    const [one, two] = [new TopFiles(0), new TopFiles(0)];
    one.record(use('a', 0, CHUNK), 0);
    for (const chunk of [0, 1]) two.record(use('a', chunk, 2 * CHUNK), 0);
    expect(mergeTopFiles([one.top(5), two.top(5)], 5)[0]).toMatchObject({
      count: 3,
      length: 2000,
      cells: [1, 1],
    });
  });
});
