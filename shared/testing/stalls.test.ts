import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../src/base/clock.ts';
import { Scheduler } from '../src/download/scheduler/scheduler.ts';
import { SimulatedDownload } from './simulated-download.ts';
import { SimulatedLink, SimulatedSource } from './simulated-source.ts';
import { VirtualClock } from './virtual-clock.ts';

const MiB = 1024 * 1024;
const MBIT = 125_000;

interface Server {
  readonly id: string;
  /** Megabits per second. */
  readonly rate: number;
  readonly rttMs: number;
}

function prepare(length: number, servers: readonly Server[], redundantBytes: number) {
  const clock = new VirtualClock();
  const connectionsPerSource = 4;
  const connections = connectionsPerSource * servers.length;
  const chooser = new Scheduler({ length, mode: 'progress', redundantBytes, connections }, 0);
  const sources = servers.map(({ id, rate, rttMs }) => {
    chooser.addSource(id);
    return new SimulatedSource(clock, { id, links: [new SimulatedLink(rate * MBIT)], rttMs });
  });
  const download = new SimulatedDownload({ clock, chooser, sources, connectionsPerSource });
  return { clock, chooser, sources, download };
}

const SERVERS: readonly Server[] = [
  { id: 'a', rate: 20, rttMs: 20 },
  { id: 'b', rate: 20, rttMs: 40 },
  { id: 'c', rate: 40, rttMs: 80 },
];

describe('a source stops sending without a word', () => {
  const length = 20 * MiB;

  test.each([
    ['a', 0],
    ['b', 0],
    ['c', 0],
    ['a', 0.02],
    ['c', 0.02],
  ])('%s at any moment: the others need at most a second more, %d redundant', (id, share) => {
    const undisturbed = prepare(length, SERVERS, length * share).download.run();
    const others = SERVERS.filter((s) => s.id !== id).reduce((sum, s) => sum + s.rate, 0) * MBIT;
    const seed = 20_030_901;
    const random = seededRandom(seed);
    for (let i = 0; i < 12; i++) {
      // Half of the stalls are in the last tenth, with little time left to make up for them.
      const at = undisturbed * (i % 2 === 0 ? random() : 0.9 + 0.1 * random());
      const { clock, chooser, sources, download } = prepare(length, SERVERS, length * share);
      let left = 0;
      clock.at(at, () => {
        left = length - chooser.storedBytes;
        sources.find((s) => s.id === id)?.stall(true);
      });
      const ms = download.run();
      const best = Math.max(undisturbed, at + (left / others) * 1000);
      expect({ seed, at, late: ms - best > 1000 }).toEqual({ seed, at, late: false });
      expect(chooser.redundantBytesSpent).toBeLessThanOrEqual(length * share);
    }
  });

  test('if all sources stop and continue later, so does the download', () => {
    const { clock, sources, download } = prepare(length, SERVERS, 0);
    clock.at(2000, () => sources.map((s) => s.stall(true)));
    clock.at(70_000, () => sources.map((s) => s.stall(false)));
    expect(download.run()).toBeLessThan(95_000);
  });
});

describe('a source far slower than the other', () => {
  test.each([10, 100, 1000].flatMap((times) => [1, 5, 20].map((size) => [times, size])))(
    '%d times slower, %d MiB: costs half a second at most',
    (times, size) => {
      const length = size * MiB;
      const fast = { id: 'fast', rate: 80, rttMs: 20 };
      const slow = { id: 'slow', rate: 80 / times, rttMs: 200 };
      const alone = prepare(length, [fast], length * 0.02).download.run();
      for (const redundantBytes of [0, length * 0.02]) {
        const both = prepare(length, [slow, fast], redundantBytes).download.run();
        expect(both).toBeLessThan(alone * 1.02 + 550);
      }
    },
  );
});
