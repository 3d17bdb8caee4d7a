import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { SumsWriter } from '@millrace/shared/cdn/depot/sums';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { AppendSums, RunningDigest } from './sum-thread.ts';

const random = seededRandom(testSeed('thread of sums'));
const below = (most: number) => Math.floor(random() * most);
const CONTENT = Buffer.from(Array.from({ length: 400_000 }, () => below(256)));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Copies bytes into memory of their own, or into memory that they share with others. */
function copied(bytes: Uint8Array): Uint8Array {
  if (random() < 0.5) return Uint8Array.from(bytes);
  const shared = new Uint8Array(bytes.length + 7);
  shared.set(bytes, 3);
  return shared.subarray(3, bytes.length + 3);
}

test('the records and the digest of bytes are those that one thread would make, however they come', async () => {
  const digest = new RunningDigest();
  for (let from = 0; from < CONTENT.length; ) {
    // Each append has its own records; the digest goes on.
    const sums = new AppendSums(from);
    const expected = new SumsWriter(crc32, from);
    const end = Math.min(CONTENT.length, from + 1 + below(200_000));
    while (from < end) {
      const parts: Uint8Array[] = [];
      const start = from;
      for (let left = 1 + below(4); left > 0 && from < end; left--) {
        const to = Math.min(end, from + 1 + below(80_000));
        const part = CONTENT.subarray(from, to);
        expected.add(part);
        parts.push(copied(part));
        from = to;
      }
      const added = sums.add(parts, digest, start);
      if (random() < 0.5) expect(await sums.cut()).toEqual(expected.cut());
      await added;
    }
    expect(await sums.cut()).toEqual(expected.cut());
    sums.end();
    expect(digest.end).toBe(end);
    expect(await digest.hex()).toBe(sha256(CONTENT.subarray(0, end)));
  }
});

test('a digest takes only its next bytes, and is that of nothing at first', async () => {
  const digest = new RunningDigest();
  expect(await digest.hex()).toBe(sha256(Buffer.alloc(0)));
  await digest.add(copied(CONTENT.subarray(0, 10)));
  const sums = new AppendSums(20);
  await sums.add([copied(CONTENT.subarray(20, 30))], digest, 20);
  sums.end();
  expect(digest.end).toBe(10);
  await digest.add(copied(CONTENT.subarray(10, 20)));
  expect(await digest.hex()).toBe(sha256(CONTENT.subarray(0, 20)));
});

test('bytes that were handed over take no memory any more', async () => {
  const digest = new RunningDigest();
  const bytes = Uint8Array.from(CONTENT);
  await digest.add(bytes);
  expect(bytes.length).toBe(0);
});
