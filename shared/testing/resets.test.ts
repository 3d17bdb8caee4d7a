import { describe, expect, test } from '@jest/globals';
import { Scheduler } from '../src/download/scheduler/scheduler.ts';
import { SimulatedDownload } from './simulated-download.ts';
import { SimulatedLink, SimulatedSource } from './simulated-source.ts';
import { VirtualClock } from './virtual-clock.ts';

const MiB = 1024 * 1024;
const MBIT = 125_000;
/** The setting of ANYCAST 4.1: a file of 50 MB over 10 Mbit/s, with a round trip of 50 ms. */
const LENGTH = 50 * MiB;
const RTT_MS = 50;

/**
 * Measures a download whose connections are reset again and again.
 *
 * @param everyMs interval at which all established connections break at once; 0: never
 * @returns megabits per second
 */
function throughput(everyMs: number, count: number, connectionsPerSource: number) {
  const clock = new VirtualClock();
  const link = new SimulatedLink(10 * MBIT);
  const connections = connectionsPerSource * count;
  const redundantBytes = LENGTH * 0.02;
  const chooser = new Scheduler(
    { length: LENGTH, mode: 'progress', redundantBytes, connections },
    0,
  );
  const sources = Array.from({ length: count }, (_, i) => {
    chooser.addSource(`edge-${i}`);
    return new SimulatedSource(clock, { id: `edge-${i}`, links: [link], rttMs: RTT_MS });
  });
  const resetAll = () => {
    for (const source of sources) source.reset();
    clock.in(everyMs, resetAll);
  };
  if (everyMs > 0) clock.in(everyMs, resetAll);
  const download = new SimulatedDownload({ clock, chooser, sources, connectionsPerSource });
  const ms = download.run();
  expect(chooser.redundantBytesSpent).toBeLessThanOrEqual(redundantBytes);
  expect(download.stored.bytes).toBe(LENGTH);
  return LENGTH / MBIT / (ms / 1000);
}

describe('all connections are reset again and again (ANYCAST 3.1, 4.1)', () => {
  test.each([
    [30_000, 1],
    [10_000, 3],
    [2000, 8],
    [1000, 15],
  ])('every %d ms: at most %d%% of the throughput is lost', (everyMs, percent) => {
    for (const [count, connectionsPerSource] of [
      [1, 8],
      [2, 4],
    ] as const) {
      const undisturbed = throughput(0, count, connectionsPerSource);
      expect(undisturbed).toBeGreaterThan(9.5);
      const disturbed = throughput(everyMs, count, connectionsPerSource);
      expect(100 * (1 - disturbed / undisturbed)).toBeLessThanOrEqual(percent);
    }
  });

  test('a single connection loses no more than its set-up and slow start', () => {
    const undisturbed = throughput(0, 1, 1);
    expect(throughput(30_000, 1, 1)).toBeGreaterThan(undisturbed * 0.99);
    expect(throughput(10_000, 1, 1)).toBeGreaterThan(undisturbed * 0.97);
    expect(throughput(2000, 1, 1)).toBeGreaterThan(undisturbed * 0.9);
    expect(throughput(1000, 1, 1)).toBeGreaterThan(undisturbed * 0.8);
  });
});
