import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../../base/clock.ts';
import { DownloadQueue, type QueueLimits, retryDelayMs } from './queue.ts';
import { MAX_PRIORITY } from './queue-line.ts';

const open: QueueLimits = { concurrent: 2, closed: false };
const all: QueueLimits = { concurrent: 1000, closed: false };

/** Makes a queue of downloads that are named by letters and have a host each. */
function queueOf(names: string, priority: (name: string) => number = () => 0): DownloadQueue {
  const queue = new DownloadQueue();
  for (const gid of names) {
    queue.add({ gid, host: `${gid}.example`, state: 'queued', priority: priority(gid) });
  }
  return queue;
}

const order = (queue: DownloadQueue) => queue.line.map((item) => item.gid).join('');

describe('which downloads run', () => {
  test('the first downloads in line run, up to the limit, and the next starts when one ends', () => {
    const queue = queueOf('abcd');
    expect(queue.plan(open, 0).start).toEqual(['a', 'b']);
    expect(queue.plan(open, 0).start).toEqual([]);
    expect(queue.get('c')?.held).toBe('turn');
    queue.remove('a');
    expect(queue.plan(open, 0).start).toEqual(['c']);
  });

  test('higher priority runs first, whenever it was added', () => {
    const queue = queueOf('abcd', (gid) => (gid === 'c' ? 5 : 0));
    expect(order(queue)).toBe('cabd');
    queue.setPriority('d', 9);
    expect(order(queue)).toBe('dcab');
    queue.setPriority('a', 1000);
    expect(queue.get('a')?.priority).toBe(MAX_PRIORITY);
    expect(queue.plan(open, 0).start).toEqual(['a', 'd']);
  });

  test('a download with a later start waits for its time without holding up others', () => {
    const queue = queueOf('a');
    queue.add({ gid: 'b', host: 'b', state: 'queued', priority: 9, startAt: 5000 });
    expect(queue.plan(all, 0)).toEqual({ start: ['a'], nextAt: 5000 });
    expect(queue.get('b')?.held).toBe('start');
    expect(queue.plan(all, 4999).start).toEqual([]);
    expect(queue.plan(all, 5000).start).toEqual(['b']);
  });

  test('a start can be put off and brought forward', () => {
    const queue = queueOf('ab');
    queue.setStart('a', 9000);
    expect(queue.plan(all, 0).start).toEqual(['b']);
    queue.setStart('a', undefined);
    expect(queue.plan(all, 0).start).toEqual(['a']);
  });

  test('a host that is full does not hold up others', () => {
    const queue = new DownloadQueue();
    for (const gid of 'abc') queue.add({ gid, host: 'one', state: 'queued', priority: 0 });
    queue.add({ gid: 'd', host: 'two', state: 'queued', priority: 0 });
    expect(queue.plan({ ...all, perHost: 2 }, 0).start).toEqual(['a', 'b', 'd']);
    expect(queue.get('c')?.held).toBe('host');
  });

  test('no download runs while the schedule pauses', () => {
    const queue = queueOf('ab');
    expect(queue.plan({ ...all, closed: true }, 0).start).toEqual([]);
    expect(queue.get('a')?.held).toBe('schedule');
    expect(queue.plan(all, 0).start).toEqual(['a', 'b']);
    queue.requeue('a');
    expect(order(queue)).toBe('a');
  });

  test('paused downloads keep their place', () => {
    const queue = queueOf('abc');
    expect(queue.pause('b')).toBe(true);
    expect(queue.pause('b')).toBe(false);
    expect(queue.plan(all, 0).start).toEqual(['a', 'c']);
    expect(queue.position('b')).toBe(0);
    expect(queue.resume('b')).toBe(true);
    expect(queue.resume('b')).toBe(false);
    expect(queue.plan(all, 0).start).toEqual(['b']);
    expect(queue.pause('a')).toBe(true);
    expect(order(queue)).toBe('a');
  });
});

describe('another attempt', () => {
  test('comes later each time, and not before Retry-After', () => {
    const queue = queueOf('ab');
    const random = () => 0.5;
    queue.plan(all, 0);
    queue.retry('a', random, 0);
    expect(queue.get('a')).toMatchObject({ state: 'waiting', attempts: 1, retryAt: 5000 });
    expect(queue.plan(all, 0)).toEqual({ start: [], nextAt: 5000 });
    expect(queue.plan(all, 5000).start).toEqual(['a']);
    queue.retry('a', random, 5000);
    expect(queue.get('a')?.retryAt).toBe(15_000);
    queue.plan(all, 15_000);
    queue.retry('a', random, 15_000, 60_000);
    expect(queue.get('a')?.retryAt).toBe(75_000);
    queue.hurry('a');
    expect(queue.plan(all, 15_001).start).toEqual(['a']);
    queue.onProgress('a');
    queue.retry('a', random, 20_000);
    expect(queue.get('a')?.retryAt).toBe(25_000);
  });

  test('dead links that come due again do not keep a good link behind them from starting', () => {
    const queue = queueOf('abcdefgh');
    let now = 0;
    const begun: string[] = [];
    const dead = new Set('abcde');
    // Two slots; each attempt at a dead link fails before the next plan.
    for (let round = 0; round < 8; round++) {
      for (const gid of queue.plan(open, now).start) {
        begun.push(gid);
        if (dead.has(gid)) queue.retry(gid, () => 0, now);
        else queue.remove(gid);
      }
      now += 60_000;
    }
    expect(begun.slice(0, 8).join('')).toBe('abcdefgh');
    expect(begun.slice(8, 13).join('')).toBe('abcde');
  });

  test('two downloads that bring a few bytes each time do not hold up a fresh download', () => {
    const queue = queueOf('abc');
    const one = { ...open, concurrent: 1 };
    const begun: string[] = [];
    for (let now = 0; now < 60_000 && !begun.includes('c'); now += 10_000) {
      const [gid] = queue.plan(one, now).start as [string];
      begun.push(gid);
      queue.onProgress(gid);
      queue.retry(gid, () => 0.5, now + 9999);
    }
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  test('priority outweighs freshness, and hurry() outweighs both', () => {
    const queue = queueOf('abc', (gid) => (gid === 'a' ? 5 : 0));
    const one = { ...open, concurrent: 1 };
    queue.plan(one, 0);
    queue.retry('a', () => 0.5, 0);
    expect(queue.plan(one, 5000).start).toEqual(['a']);
    queue.retry('a', () => 0.5, 5000);
    queue.setPriority('a', 0);
    queue.move('a', 0, 'set');
    queue.hurry('a');
    expect(queue.plan(one, 5001).start).toEqual(['a']);
  });

  test('a download whose wait is ended is due at once, but still behind fresh downloads', () => {
    const queue = queueOf('ab');
    const one = { ...open, concurrent: 1 };
    queue.plan(one, 0);
    queue.retry('a', () => 0.5, 0);
    queue.endWait('a');
    expect(queue.plan(one, 1).start).toEqual(['b']);
    queue.remove('b');
    expect(queue.plan(one, 1).start).toEqual(['a']);
  });

  test('a postponed download has not failed', () => {
    const queue = queueOf('a');
    queue.plan(all, 0);
    queue.postpone('a', 300);
    expect(queue.get('a')).toMatchObject({ state: 'waiting', attempts: 0, retryAt: 300 });
    expect(queue.plan(all, 0)).toEqual({ start: [], nextAt: 300 });
    expect(queue.plan(all, 300).start).toEqual(['a']);
  });

  test('no download waits for ever after the clock is set back', () => {
    const queue = queueOf('a');
    const year = 365 * 24 * 3600_000;
    queue.plan(all, year);
    queue.retry('a', () => 0.5, year, year);
    expect(queue.get('a')?.retryAt).toBe(year + 24 * 3600_000);
    expect(queue.plan(all, 0).start).toEqual(['a']);
  });

  test('waits are bounded and spread out', () => {
    const random = seededRandom(7);
    const waits = Array.from({ length: 50 }, (_, i) => retryDelayMs(i + 1, random));
    expect(Math.max(...waits)).toBeLessThanOrEqual(15 * 60_000);
    expect(new Set(waits.slice(20)).size).toBeGreaterThan(20);
  });
});

describe('moving', () => {
  test.each([
    ['d', 0, 'set', 'dabc'],
    ['a', 2, 'set', 'bcad'],
    ['a', 99, 'set', 'bcda'],
    ['a', -1, 'current', 'abcd'],
    ['c', -1, 'current', 'acbd'],
    ['a', 1, 'current', 'bacd'],
    ['b', 0, 'end', 'acdb'],
    ['a', -1, 'end', 'bcad'],
    ['d', -99, 'end', 'dabc'],
  ] as const)('%s by %d (%s) gives %s', (gid, offset, how, expected) => {
    const queue = queueOf('abcd');
    const { position } = queue.move(gid, offset, how);
    expect(order(queue)).toBe(expected);
    expect(position).toBe(expected.indexOf(gid));
  });

  test('a download moved among downloads of another priority takes on that priority', () => {
    const queue = queueOf('abcd', (gid) => (gid < 'c' ? 10 : 0));
    queue.move('d', 0, 'set');
    expect(order(queue)).toBe('dabc');
    expect(queue.get('d')?.priority).toBe(10);
    queue.move('a', 0, 'end');
    expect(order(queue)).toBe('dbca');
    expect(queue.get('a')?.priority).toBe(0);
  });

  test('a download that is not in the line cannot be moved', () => {
    const queue = queueOf('ab');
    queue.plan({ ...all, concurrent: 1 }, 0);
    expect(queue.move('a', 0, 'set').position).toBe(-1);
    expect(queue.move('x', 0, 'set').position).toBe(-1);
  });

  test('the same two downloads can change places any number of times', () => {
    const queue = queueOf('abc');
    let dealt = 0;
    for (let i = 0; i < 300; i++) if (queue.move('c', 1, 'set').changed.length > 1) dealt++;
    for (let i = 0; i < 300; i++) {
      const { changed } = queue.move(queue.line[2]?.gid as string, 1, 'set');
      if (changed.length > 1) dealt++;
    }
    expect(dealt).toBeGreaterThan(0);
    expect([...order(queue)].sort().join('')).toBe('abc');
  });
});
