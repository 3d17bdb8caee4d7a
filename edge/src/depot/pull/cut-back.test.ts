import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Allocation } from '../allocation.ts';
import { append } from '../append.ts';
import { hashRest, readVerified } from '../verified-read.ts';
import { cutBack } from './cut-back.ts';
import { CONTENT, PullStage, SHA256 } from './testing/pull-stage.ts';

let stage: PullStage;

beforeEach(async () => {
  stage = await PullStage.set();
});

afterEach(() => stage.close());

/** Appends bytes of the content, each list element by an append of its own. */
async function store(allocation: Allocation, ...ends: number[]): Promise<void> {
  for (const end of ends) {
    const pieces = [Buffer.from(CONTENT.subarray(allocation.offset, end))];
    await append(allocation, {
      next: async () => pieces.shift(),
      makeRoom() {},
      onAcknowledged() {},
      now: () => 0,
    });
  }
}

async function stored(allocation: Allocation): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const range = { start: 0, end: allocation.offset };
  for await (const piece of readVerified(allocation.folder, range)) pieces.push(piece);
  return Buffer.concat(pieces);
}

test.each([
  [250_000, 250_000],
  [100_000, 100_000],
  // The beginning of a segment of which only some bytes are to stay.
  [249_999, 196_608],
  [1, 0],
  [0, 0],
])('an upload that is cut back to %d has %d bytes', async (offset, left) => {
  const allocation = await stage.reserve();
  await store(allocation, 100_000, 250_000, CONTENT.length);
  await cutBack(allocation, offset);
  expect(allocation.offset).toBe(left);
  expect((await stored(allocation)).equals(CONTENT.subarray(0, left))).toBe(true);
  expect((await stat(join(allocation.folder, 'data'))).size).toBe(left);
  await store(allocation, CONTENT.length);
  await hashRest(allocation, new AbortController().signal);
  expect(allocation.sha256).toBe(SHA256);
});

test('bytes that were cut off are gone after a restart', async () => {
  const allocation = await stage.reserve();
  await store(allocation, 100_000, 250_000);
  const sums = await readFile(join(allocation.folder, 'sums'));
  await cutBack(allocation, 100_000);
  await stage.depot.close();
  await stage.open();
  const again = stage.depot.get(allocation.head.id) as Allocation;
  expect(again.offset).toBe(100_000);
  expect((await readFile(join(again.folder, 'sums'))).equals(sums.subarray(0, 32))).toBe(true);
});
