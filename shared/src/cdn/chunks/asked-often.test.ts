import { describe, expect, test } from '@jest/globals';
import { AskedOften } from './asked-often.ts';

const MIB = 1024 * 1024;
const nameOf = (i: number) => `https://example.com/file ${i * MIB}-${(i + 1) * MIB - 1}`;

/** Asks for so many chunks of a file in turn. @returns how many were asked for often */
function read(asked: AskedOften, chunks: number, roomBytes: number): number {
  let often = 0;
  for (let i = 0; i < chunks; i++) often += Number(asked.isOften(nameOf(i), MIB, roomBytes));
  return often;
}

describe('AskedOften', () => {
  test('tells names from their third request on', () => {
    const asked = new AskedOften();
    expect([1, 2, 3, 4].map(() => read(asked, 60, 64 * MIB))).toEqual([0, 0, 60, 60]);
  });

  test('a file that is larger than the room for copies is never asked for often', () => {
    const asked = new AskedOften();
    expect([1, 2, 3, 4].map(() => read(asked, 66, 64 * MIB))).toEqual([0, 0, 0, 0]);
    expect([1, 2, 3].map(() => read(asked, 1, 0))).toEqual([0, 0, 0]);
  });

  test('a name counts anew when it was not asked for long', () => {
    const asked = new AskedOften();
    const isOften = () => asked.isOften('popular', MIB, 8 * MIB);
    expect([isOften(), isOften(), isOften()]).toEqual([false, false, true]);
    for (let i = 0; i < 9; i++) asked.isOften(nameOf(i), MIB, 8 * MIB);
    expect([isOften(), isOften(), isOften()]).toEqual([false, false, true]);
  });

  test('goes on counting when the bytes that have passed exceed its numbers', () => {
    const asked = new AskedOften();
    const isOften = () => asked.isOften('popular', MIB, 8 * MIB);
    asked.isOften('much', 2 ** 42 - 2 * MIB, 0);
    expect([isOften(), isOften(), isOften(), isOften()]).toEqual([false, false, true, true]);
  });

  test('forgets names when many others are asked for', () => {
    const asked = new AskedOften(64);
    const isOften = () => asked.isOften('a', 1, Number.MAX_SAFE_INTEGER);
    expect([isOften(), isOften()]).toEqual([false, false]);
    for (let i = 0; i < 10_000; i++) asked.isOften(`other ${i}`, 1, Number.MAX_SAFE_INTEGER);
    expect([isOften(), isOften(), isOften()]).toEqual([false, false, true]);
  });

  test('never takes a new name for an old one among many', () => {
    const asked = new AskedOften(256);
    const ask = (i: number) => asked.isOften(`name ${i}`, 1, Number.MAX_SAFE_INTEGER);
    expect(Array.from({ length: 50_000 }, (_, i) => ask(i)).filter(Boolean)).toEqual([]);
  });
});
