import { describe, expect, test } from '@jest/globals';
import { aloneUntil, MAX_STREAM_CHUNKS, mayRunTo, StreamDigests } from './stream-plan.ts';

const MiB = 1024 * 1024;
const digest = (byte: number) => new Uint8Array(32).fill(byte);

test('an abandoned stream brings a small file to its end, and little of a large one', () => {
  expect(aloneUntil(0, undefined)).toBe(4 * MiB);
  expect(aloneUntil(10 * MiB, 13 * MiB)).toBeGreaterThanOrEqual(13 * MiB);
  expect(aloneUntil(10 * MiB, 100 * MiB)).toBe(10 * MiB);
  expect(aloneUntil(10 * MiB, undefined)).toBe(14 * MiB);
});

test('the fastest client leads; of a file that is not kept, the slowest', () => {
  expect(mayRunTo([5, 100, 7], 10, true)).toBe(110);
  expect(mayRunTo([5, 100, 7], 10, false)).toBe(15);
});

describe('StreamDigests', () => {
  test('take the same chunks again, and further ones after those, and no others', () => {
    const first = new StreamDigests();
    expect([first.accept(0, digest(1)), first.accept(1, digest(2))]).toEqual([true, true]);
    const again = new StreamDigests(first.text);
    expect(again.count).toBe(2);
    expect(again.accept(0, digest(1))).toBe(true);
    expect(again.accept(1, digest(3))).toBe(false);
    expect(again.accept(3, digest(4))).toBe(false);
    expect(again.accept(2, digest(4))).toBe(true);
    expect(again.count).toBe(3);
  });

  test('of a very long file are not kept', () => {
    const digests = new StreamDigests();
    for (let i = 0; i <= MAX_STREAM_CHUNKS; i++) digests.accept(i, digest(i % 256));
    expect(digests.text).toBeUndefined();
  });
});
