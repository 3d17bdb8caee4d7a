/** The experiments in virtual time, at small size: the properties that their figures rest on. */

import { describe, expect, test } from '@jest/globals';
import { CongestionWindow } from '@millrace/shared/cdn/delivery/window';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { median } from '../../lab/report.ts';
import { download, playingDelay } from '../../lab/virtual/replica-download.ts';
import { respond } from '../../lab/virtual/response.ts';
import { CLIENTS, REPLICAS } from '../../lab/virtual/servers.ts';
import { type TimedChunk, timeWithoutTail } from '../../lab/virtual/tail-reduction.ts';
import { NETWORKS } from '../../lab/virtual/virtual-networks.ts';

const MiB = 1024 * 1024;
const seed = testSeed('virtual experiments', 2);

/** Builds a trace of chunks fetched two at a time and handed over at once; `durations` in ms. */
function trace(durations: readonly number[]): TimedChunk[] {
  const chunks: TimedChunk[] = [];
  for (const [i, duration] of durations.entries()) {
    const after = i < 2 ? undefined : i - 2;
    const startedAt = after === undefined ? 0 : (chunks[after]?.sentAt as number);
    const readyAt = startedAt + duration;
    chunks.push({
      after,
      startedAt,
      readyAt,
      sentAt: Math.max(readyAt, chunks[i - 1]?.sentAt ?? 0),
    });
  }
  return chunks;
}

describe('a response without its slowest chunks (WORLDS 4.1)', () => {
  test('takes as long as before if no chunk is replaced', () => {
    const chunks = trace([10, 12, 300, 11, 9, 14, 10, 13]);
    expect(timeWithoutTail(chunks, 0)).toBe(chunks.at(-1)?.sentAt);
  });

  test('brings forward the chunks that waited for a slow one, by its excess time', () => {
    // The third chunk, of 100 ms, delays the delivery of the fourth and of all after it.
    const chunks = trace([10, 10, 100, 10, 10, 10]);
    expect(chunks.at(-1)?.sentAt).toBe(120);
    expect(timeWithoutTail(chunks, 0.1)).toBe(30);
  });

  test('keeps the time that handing over takes', () => {
    const slow = trace([10, 10, 10, 10]).map((c, i) => ({ ...c, sentAt: 50 * (i + 1) }));
    expect(timeWithoutTail(slow, 0)).toBe(200);
  });
});

describe('a response of the agent over nodes that slow down', () => {
  const fixed = (chunks: number) => new CongestionWindow({ max: chunks, initial: chunks });
  const rate = (parallel: number, chunkBytes: number, of = seed) =>
    respond({ network: NETWORKS.today, chunkBytes, window: fixed(parallel), seed: of });

  test('is the same for the same seed', () => {
    expect(rate(10, MiB)).toEqual(rate(10, MiB));
  });

  test('is faster, the more it may hold (WORLDS figure 2)', () => {
    expect(rate(10, MiB / 4).megabits).toBeGreaterThan(1.5 * rate(2, MiB / 4).megabits);
    expect(rate(20, MiB).megabits).toBeGreaterThan(1.5 * rate(2, MiB).megabits);
  });

  test('never holds more than its window, and is never slower with a shorter tail', () => {
    const response = rate(10, MiB);
    expect(response.heldBytes).toBeLessThanOrEqual(10 * MiB);
    const [base = 0, ...shorter] = response.withoutTail;
    expect(base).toBeCloseTo(response.megabits, 6);
    for (const megabits of shorter) expect(megabits).toBeGreaterThanOrEqual(base * 0.999);
  });
});

describe('a file on a growing number of servers whose rates vary (LOCI figures 3 and 8)', () => {
  const servers = CLIENTS.Tennessee;
  const paper = (copies: number) =>
    ({ by: 'paper', copies, progress: 6, blockBytes: 2 * MiB }) as const;
  type Algorithm = Parameters<typeof download>[0]['algorithm'];
  const run = (replicas: number, algorithm: Algorithm, of = seed) =>
    download({
      servers: servers.slice(0, replicas),
      algorithm,
      threads: 2,
      seed: of,
      playMegabits: 15,
    });

  test("the paper's basic algorithm waits for the slowest server, its redundant one does not", () => {
    expect(run(4, paper(1)).megabits).toBeLessThan(8);
    expect(playingDelay(run(4, paper(1)).milestones, 15)).toBeGreaterThan(60);
    expect(run(4, paper(3)).megabits).toBeGreaterThan(20);
  });

  test('Millrace is faster with every further server, and playback does not wait', () => {
    const ratios: number[][] = [];
    for (let i = 0; i < 15; i++) {
      const millrace = { by: 'millrace', mode: 'progress' } as const;
      const runs = REPLICAS.map((n) => run(n, millrace, seed + i));
      for (const { milestones } of runs.slice(1)) expect(playingDelay(milestones, 15)).toBe(0);
      for (const { redundant } of runs) expect(redundant).toBeLessThanOrEqual(0.02);
      const rates = runs.map(({ megabits }) => megabits);
      ratios.push(rates.slice(1).map((rate, n) => rate / (rates[n] as number)));
    }
    // A run may meet a slow spell that the previous run did not, and a server with a hundredth of
    // the others' rate cannot make up for it. The gain from a server shows only over several runs.
    for (const [n] of REPLICAS.slice(1).entries()) {
      const ofServer = ratios.map((ratio) => ratio[n] as number);
      expect(Math.min(...ofServer)).toBeGreaterThan(0.8);
      expect(median(ofServer)).toBeGreaterThan(0.99);
    }
  });
});
