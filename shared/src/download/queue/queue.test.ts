import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
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

describe('under any sequence of events', () => {
  const gid = fc.constantFrom(...'abcdefgh');
  const step = fc.oneof(
    fc.record({ do: fc.constant('add' as const), gid, priority: fc.integer({ min: -2, max: 2 }) }),
    fc.record({
      do: fc.constantFrom(
        'remove',
        'pause',
        'resume',
        'requeue',
        'retry',
        'hurry',
        'endWait',
        'plan',
      ),
      gid,
    }),
    fc.record({
      do: fc.constant('move' as const),
      gid,
      offset: fc.integer({ min: -9, max: 9 }),
      how: fc.constantFrom('set' as const, 'current' as const, 'end' as const),
    }),
  );

  function apply(queue: DownloadQueue, s: typeof step extends fc.Arbitrary<infer T> ? T : never) {
    if (s.do === 'add') {
      if (queue.get(s.gid) !== undefined) return;
      // Two hosts, so that the limit per host takes effect.
      const host = s.gid < 'e' ? 'one' : 'two';
      queue.add({
        gid: s.gid,
        host,
        state: 'queued',
        priority: (s as { priority: number }).priority,
      });
    } else if (s.do === 'move') {
      const { offset, how } = s as { offset: number; how: 'set' };
      queue.move(s.gid, offset, how);
    } else if (s.do === 'retry') queue.retry(s.gid, () => 0, 0);
    else if (s.do !== 'plan') queue[s.do as 'pause'](s.gid);
  }

  test('limits and priorities hold, and no download is lost, duplicated or idle without a reason', () => {
    const limits = { concurrent: 3, perHost: 2, closed: false };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new DownloadQueue();
        for (const s of steps) {
          apply(queue, s);
          queue.plan(limits, 1_000_000);
          const { active, line } = queue;
          expect(active.length).toBeLessThanOrEqual(3);
          for (const host of ['one', 'two']) {
            expect(active.filter((item) => item.host === host).length).toBeLessThanOrEqual(2);
          }
          expect(active.length + line.length).toBe(queue.size);
          expect(new Set([...active, ...line].map((item) => item.gid)).size).toBe(queue.size);
          line.forEach((item, i) => {
            expect(queue.position(item.gid)).toBe(i);
            const after = line[i + 1];
            if (after !== undefined) expect(item.priority).toBeGreaterThanOrEqual(after.priority);
            expect(item.state === 'paused' || item.held !== undefined).toBe(true);
          });
        }
      }),
    );
  });

  test('a queue restored from its items has the same order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new DownloadQueue();
        for (const s of steps) apply(queue, s);
        const restored = new DownloadQueue();
        for (const item of [...queue.line].reverse()) {
          restored.add({ ...item, state: item.state as 'queued' });
        }
        expect(order(restored)).toBe(order(queue));
      }),
    );
  });

  /**
   * A simulation: each download is good (done after some time), dead (fails after some time without
   * a byte) or flaky (fails after some bytes). Every good download starts within the time that the
   * downloads before it may hold their slots.
   */
  test('all good downloads start while others fail for ever, and no waiting one holds a slot', () => {
    const kind = fc.record({
      kind: fc.constantFrom('good', 'dead', 'flaky'),
      host: fc.constantFrom('one', 'two', 'three'),
      holdsMs: fc.integer({ min: 1, max: 10_000 }),
    });
    fc.assert(
      fc.property(
        fc.array(kind, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer(),
        (kinds, concurrent, seed) => {
          const random = seededRandom(seed);
          const queue = new DownloadQueue();
          kinds.forEach(({ host }, i) => {
            queue.add({ gid: `${i}`, host, state: 'queued', priority: 0 });
          });
          const startedAt = new Map<string, number>();
          const ends: { gid: string; at: number }[] = [];
          const good = kinds.flatMap(({ kind }, i) => (kind === 'good' ? [`${i}`] : []));
          let now = 0;
          while (good.some((gid) => !startedAt.has(gid))) {
            const { start, nextAt } = queue.plan({ concurrent, closed: false }, now);
            for (const gid of start) {
              if (!startedAt.has(gid)) startedAt.set(gid, now);
              ends.push({ gid, at: now + (kinds[Number(gid)]?.holdsMs ?? 0) });
            }
            expect(queue.active.length).toBe(ends.length);
            ends.sort((a, b) => a.at - b.at);
            const [next] = ends;
            now = Math.min(
              next?.at ?? Number.POSITIVE_INFINITY,
              nextAt ?? Number.POSITIVE_INFINITY,
            );
            expect(now).toBeLessThan(Number.POSITIVE_INFINITY);
            if (next === undefined || next.at > now) continue;
            ends.shift();
            const which = kinds[Number(next.gid)]?.kind;
            if (which === 'good') queue.remove(next.gid);
            else {
              if (which === 'flaky') queue.onProgress(next.gid);
              queue.retry(next.gid, random, now);
            }
          }
          // A retry that came due while no fresh download could start may hold its slot once more.
          const bound = 2 * kinds.reduce((sum, each) => sum + each.holdsMs, 0);
          for (const gid of good) expect(startedAt.get(gid)).toBeLessThanOrEqual(bound);
        },
      ),
    );
  });
});
