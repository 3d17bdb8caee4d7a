import { describe, expect, test } from '@jest/globals';
import { seededRandom } from './clock.ts';

const take = (seed: number, count: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
};

describe('seededRandom', () => {
  test.each([
    [0, [4143336393, 177185503, 380008945]],
    [1, [3739678614, 2725338478, 3923878172]],
    [42, [2887583565, 2293090523, 2716497665]],
    [-1, [2903837132, 2757460323, 2032916747]],
  ])('the numbers of seed %d are the same in every release', (seed, numbers) => {
    expect(take(seed, 3).map((n) => n * 2 ** 32)).toEqual(numbers);
  });

  test('generators of one seed agree and do not disturb each other', () => {
    const a = seededRandom(7);
    const b = seededRandom(7);
    const fromA = [a(), a(), a()];
    seededRandom(8)();
    expect([b(), b(), b()]).toEqual(fromA);
  });

  test('neighbouring seeds have nothing in common', () => {
    const seen = new Set<number>();
    for (let seed = 0; seed < 200; seed++) for (const n of take(seed, 10)) seen.add(n);
    expect(seen.size).toBeGreaterThanOrEqual(1999);
  });

  test('only the low 32 bits of the seed count', () => {
    expect(take(2 ** 32 + 42, 5)).toEqual(take(42, 5));
    expect(take(2 ** 32 - 1, 5)).toEqual(take(-1, 5));
  });

  test('numbers are spread evenly over 0 to below 1', () => {
    const cells = new Array<number>(10).fill(0);
    const numbers = take(3, 10_000);
    for (const n of numbers) cells[Math.floor(n * 10)] = (cells[Math.floor(n * 10)] ?? 0) + 1;
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    for (const count of cells) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});
