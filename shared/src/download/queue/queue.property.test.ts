import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../base/clock.ts';
import { DownloadQueue } from './queue.ts';

const order = (queue: DownloadQueue) => queue.line.map((item) => item.gid).join('');

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
