import { describe, expect, test } from '@jest/globals';
import { PathDownload, type PathDownloadOptions } from '../../../testing/path-download.ts';
import { seededRandom } from '../../base/clock.ts';
import { ConnectionCount } from './connection-count.ts';
import { isWorth } from './connection-rates.ts';

/** One megabit per second, in bytes. */
const MBIT = 125_000;
const SEEDS = [1, 2, 3];

type Path = Omit<PathDownloadOptions, 'random' | 'length' | 'connections'>;

const LONG: Path = { bytesPerSecond: 200 * MBIT, rttMs: 50, loss: 0, queueMs: 80 };
const HOME: Path = { bytesPerSecond: 20 * MBIT, rttMs: 40, loss: 0, queueMs: 80 };

function download(path: Path, megabytes: number, seed: number, connections = 32): PathDownload {
  return new PathDownload({
    ...path,
    length: megabytes * 1e6,
    connections,
    random: seededRandom(seed),
  });
}

/** Downloads a file with each seed. @returns the median Mbit/s */
async function megabits(path: Path, megabytes: number, connections = 32): Promise<number> {
  const all: number[] = [];
  for (const seed of SEEDS) {
    const run = download(path, megabytes, seed, connections);
    expect(await run.run(600_000)).toBe(true);
    all.push((megabytes * 8000) / run.now);
  }
  return all.sort((a, b) => a - b)[1] as number;
}

describe('over a simulated path', () => {
  test('a long line without losses is filled by one connection, and requests that probe it', async () => {
    for (const seed of SEEDS) {
      const run = download(LONG, 100, seed);
      let most = 0;
      let sum = 0;
      let ticks = 0;
      const onTick = () => {
        most = Math.max(most, run.busy);
        sum += run.busy;
        ticks++;
      };
      expect(await run.run(600_000, onTick)).toBe(true);
      expect(800_000 / run.now).toBeGreaterThan(180);
      expect(most).toBe(3);
      expect(sum / ticks).toBeLessThan(1.5);
    }
  });

  test('losses of 0.1% leave most of the line, where one connection has a tenth', async () => {
    const lossy = { ...LONG, loss: 0.001 };
    expect(await megabits(lossy, 100)).toBeGreaterThan(150);
    expect(await megabits(lossy, 60, 1)).toBeLessThan(20);
  });

  test('losses of 1% are made up for by many connections', async () => {
    const lossy = { ...LONG, loss: 0.01 };
    expect(await megabits(lossy, 100)).toBeGreaterThan(75);
    expect(await megabits(lossy, 10)).toBeGreaterThan(10 * (await megabits(lossy, 10, 1)));
  });

  test('a server that limits each connection gets more of them', async () => {
    const limited = { ...LONG, bytesPerSecond: 100 * MBIT, rttMs: 20, perConnection: 10 * MBIT };
    expect(await megabits(limited, 100)).toBeGreaterThan(88);
  });

  test('a thin line from an edge is not idle between the requests of the one connection left', async () => {
    const thin = { ...HOME, bytesPerSecond: 10 * MBIT, isEdge: true };
    expect(await megabits({ ...thin, rttMs: 50 }, 50)).toBeGreaterThan(9.8);
    expect(await megabits({ ...thin, rttMs: 100 }, 50)).toBeGreaterThan(9.55);
  });

  test('on a thin line, few connections are left after half a minute, at full speed', async () => {
    for (const seed of SEEDS) {
      const run = download({ ...HOME, bytesPerSecond: 10 * MBIT }, 1e4, seed);
      await run.run(30_000);
      const before = run.gotBytes;
      await run.run(10_000);
      expect(run.busy).toBeLessThanOrEqual(3);
      expect(run.gotBytes - before).toBeGreaterThan(0.9 * 10 * MBIT * 10);
    }
  });

  test.each([
    [40, 80],
    [40, 20],
  ])(
    'one connection of somebody else keeps %d%% of a shared line with a queue of %d ms',
    async (percent, queueMs) => {
      for (const seed of SEEDS) {
        const run = download({ ...HOME, queueMs, rivals: 1 }, 1e4, seed);
        await run.run(40_000);
        const [ours, theirs] = [run.gotBytes, run.rivalBytes];
        await run.run(40_000);
        const rival = run.rivalBytes - theirs;
        expect(rival / (rival + run.gotBytes - ours)).toBeGreaterThan(percent / 100);
      }
    },
  );

  test('never more connections than allowed', async () => {
    const run = download({ ...LONG, loss: 0.01 }, 50, 1, 5);
    let most = 0;
    await run.run(60_000, () => {
      most = Math.max(most, run.busy);
    });
    expect(most).toBe(5);
  });
});

describe('ConnectionCount', () => {
  /** Lets steps pass in which `rate(count)` comes in. */
  function pass(count: ConnectionCount, from: number, ms: number, rate: (n: number) => number) {
    for (let now = from + 50; now <= from + ms; now += 50) {
      count.onBytes(rate(count.count) * 0.05, count.count, now);
    }
  }

  test('begins with four connections, with one if it may, or with the number that is known', () => {
    expect(new ConnectionCount({ most: 32 }, 0).count).toBe(4);
    expect(new ConnectionCount({ most: 2 }, 0).count).toBe(2);
    expect(new ConnectionCount({ most: 32, beginsWithOne: true }, 0).count).toBe(1);
    expect(new ConnectionCount({ most: 32, known: 20 }, 0).count).toBe(20);
    expect(new ConnectionCount({ most: 16, known: 20 }, 0).count).toBe(16);
  });

  test('each source gets a connection, up to eight', () => {
    const count = new ConnectionCount({ most: 32 }, 0);
    count.setSources(6);
    expect(count.count).toBe(6);
    count.setSources(40);
    expect(count.count).toBe(8);
  });

  test('connections that bring nothing more are given up again', () => {
    const count = new ConnectionCount({ most: 32, beginsWithOne: true }, 0);
    pass(count, 0, 2000, () => 1e6);
    expect(count.count).toBe(16);
    pass(count, 2000, 60_000, () => 1e6);
    expect(count.confirmed).toBe(1);
  });

  test('four that bring nothing more with time stay four', () => {
    const count = new ConnectionCount({ most: 32 }, 0);
    pass(count, 0, 60_000, () => 1e6);
    expect(count.confirmed).toBe(4);
  });

  test('one connection is enough where small requests beside it are answered late', () => {
    const count = new ConnectionCount({ most: 32, beginsWithOne: true }, 0);
    count.onHead('a', 50);
    let now = 0;
    for (; !count.isProbing && now < 5000; now += 50) pass(count, now, 50, () => 1e6);
    expect(count.count).toBe(3);
    for (let i = 0; i < 2; i++) count.onHead('a', 80);
    pass(count, now, 10_000, () => 1e6);
    expect(count.count).toBe(1);
    expect(count.confirmed).toBe(1);
  });

  test('several connections are tried where small requests are answered as quickly as before', () => {
    const count = new ConnectionCount({ most: 32, beginsWithOne: true }, 0);
    count.onHead('a', 50);
    let now = 0;
    for (; !count.isProbing && now < 5000; now += 50) pass(count, now, 50, () => 1e6);
    count.onHead('a', 51);
    pass(count, now, 3000, (n) => n * 1e6);
    expect(count.count).toBe(32);
  });

  test('answers that are late at one source alone do not make the other look far away', () => {
    const count = new ConnectionCount({ most: 32 }, 0);
    for (let i = 0; i < 8; i++) {
      count.onHead('near', 10);
      count.onHead('far', 200);
    }
    pass(count, 0, 30_000, (n) => n * 1e6);
    expect(count.count).toBe(32);
  });

  test('with a queue before the line, nothing is added, and the count falls', () => {
    const count = new ConnectionCount({ most: 32 }, 0);
    count.onHead('a', 50);
    pass(count, 0, 1000, () => 1e6);
    for (let i = 0; i < 4; i++) count.onHead('a', 120);
    pass(count, 1000, 60_000, () => 1e6);
    expect(count.count).toBe(1);
  });

  test('a rate that falls after a trial was given up asks for more connections at once', () => {
    const count = new ConnectionCount({ most: 32, known: 4 }, 0);
    pass(count, 0, 1400, () => 1e6);
    expect(count.count).toBeGreaterThan(4);
    pass(count, 1400, 1600, () => 1e6);
    expect(count.count).toBe(4);
    let at = 3000;
    for (; at < 7000 && count.count === 4; at += 50) pass(count, at, 50, (n) => n * 5e4);
    expect(at).toBeLessThan(4500);
    expect(count.count).toBeGreaterThanOrEqual(6);
  });

  test('a disk that is behind for a moment leaves the trial under way, and one that always is ends it', () => {
    const count = new ConnectionCount({ most: 32, known: 4 }, 0);
    pass(count, 0, 800, () => 1e6);
    const tried = count.count;
    expect(tried).toBeGreaterThan(4);
    count.onHeld(30);
    pass(count, 800, 200, () => 1e6);
    expect(count.count).toBe(tried);
    for (let i = 0; i < tried; i++) count.onHeld(200);
    pass(count, 1000, 250, () => 1e6);
    expect(count.count).toBe(4);
  });

  test('a failed request ends the trial under way', () => {
    const count = new ConnectionCount({ most: 32, known: 4 }, 0);
    pass(count, 0, 1400, () => 1e6);
    expect(count.count).toBeGreaterThan(4);
    count.disturb(1400);
    expect(count.count).toBe(4);
  });
});

test('a larger count must bring more than it could take from one rival', () => {
  const rate = (count: number, rate: number) => ({ count, rate });
  expect(isWorth(rate(1, 50), rate(2, 67), 1)).toBe(false);
  expect(isWorth(rate(1, 50), rate(2, 95), 1)).toBe(true);
  expect(isWorth(rate(4, 100), rate(8, 104), 0)).toBe(false);
  expect(isWorth(rate(4, 100), rate(8, 110), 0)).toBe(true);
});
