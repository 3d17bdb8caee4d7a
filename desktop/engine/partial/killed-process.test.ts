/**
 * How much a process loses that is killed at any moment: bytes in memory, and bytes without a
 * journal line.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { parseJournal } from '@millrace/shared/download/journal/journal';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { PartialFileStage } from '../../testing/partial-file-stage.ts';
import type { PartialFile } from './partial-file.ts';
import { SEGMENT_BYTES, SegmentPool } from './segment-pool.ts';
import { SegmentWriter } from './segment-writer.ts';

const KIB = 1024;
/** Most bytes in memory that a killed process loses on a line of 32 MB/s or less. */
const MOST_LOST_BYTES = 256 * KIB;
/** Longest time for which journal lines are collected, in milliseconds. */
const JOURNAL_MS = 50;
const stage = PartialFileStage.forEachTest();

let isOver = false;

/** Waits for something that happens without any time limit passing. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!isOver && !(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits until the journal has a line for every stored byte. @param step called while it has not */
const journalOf = (file: PartialFile, step = () => {}) =>
  until(async () => {
    step();
    const journal = parseJournal(await readFile(stage.journalPath, 'utf8'));
    const ends = new Set(journal?.entries.map(({ range }) => range.end));
    return file.stored.ranges.every(({ end }) => ends.has(end));
  });

describe('a killed process', () => {
  // No time limit passes, so only the bounds in bytes cause writes.
  beforeEach(() => {
    isOver = false;
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  });
  afterEach(() => {
    isOver = true;
    jest.useRealTimers();
  });

  test.each([1, 8, 32])(
    'with %d connections loses few of the bytes that it has received',
    async (connections) => {
      const seed = testSeed('killed processes');
      const random = seededRandom(seed);
      const length = SEGMENT_BYTES * Math.max(4, connections);
      const pattern = Buffer.from(Array.from({ length: 4099 }, () => random() * 256));
      const content = Buffer.alloc(length, pattern);
      const file = await stage.start({ length });
      let now = 0;
      const pool = new SegmentPool(() => now);
      const share = length / connections;
      const lines = Array.from({ length: connections }, (_, i) => {
        const start = i * share;
        return { writer: new SegmentWriter(file, pool, start), at: start, end: start + share };
      });
      let received = 0;
      // One megabyte in 31 ms, on connections in any order, up to any moment.
      const stop = length * (0.3 + 0.6 * random());
      while (received < stop) {
        const line = lines[Math.floor(random() * connections)] as (typeof lines)[0];
        const bytes = Math.min(line.end - line.at, 1 + Math.floor(random() * 16 * KIB));
        await line.writer.write(line.at, content.subarray(line.at, line.at + bytes));
        line.at += bytes;
        received += bytes;
        now += bytes / (32 * KIB);
      }
      await until(() => file.stored.bytes >= received - MOST_LOST_BYTES);
      await journalOf(file, () => jest.advanceTimersByTime(JOURNAL_MS));
      const after = await stage.start({ path: await stage.crash(), length });
      const lost = received - after.stored.bytes;
      expect({ seed, lost: Math.max(lost, MOST_LOST_BYTES) }).toEqual({
        seed,
        lost: MOST_LOST_BYTES,
      });
      for (const { writer } of lines) await writer.end();
    },
  );

  test('writes the journal lines of a quarter of a megabyte without waiting for more', async () => {
    const length = 4 * SEGMENT_BYTES;
    const file = await stage.start({ length });
    await file.store(0, Buffer.alloc(256 * KIB, 'x'));
    await journalOf(file);
    const after = await stage.start({ path: await stage.crash(), length });
    expect(stage.stored(after)).toEqual([[0, 256 * KIB]]);
  });
});

describe('a crash of the machine', () => {
  test('that loses the last write to a segment costs nothing of what was flushed before', async () => {
    const length = 2 * SEGMENT_BYTES;
    const content = Buffer.alloc(length, 'x');
    const file = await stage.start({ length });
    const half = SEGMENT_BYTES / 2;
    await file.store(0, content.subarray(0, half));
    await file.flush();
    await file.store(half, content.subarray(half, SEGMENT_BYTES));
    await file.flush();
    const path = await stage.crash();
    // The journal as it was before the second flush, except for the line of the whole segment.
    const journal = await readFile(stage.journalPath, 'utf8');
    const lines = journal.split('\n').filter((line) => !/^\["flushed",[2-9]/.test(line));
    await writeFile(`${path}.millrace-journal`, lines.join('\n'));
    const data = await readFile(`${path}.millrace-part`);
    await writeFile(`${path}.millrace-part`, data.fill(0, half, SEGMENT_BYTES));
    const after = await stage.start({ path, length });
    expect([stage.stored(after), after.damagedBytes]).toEqual([[[0, half]], 0]);
  });
});
