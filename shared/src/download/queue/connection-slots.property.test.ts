import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { testSeed } from '../../../node/testing/test-seed.ts';
import { seededRandom } from '../../base/clock.ts';
import { ConnectionSlots, fairShares, TURN_MS } from './connection-slots.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const HOSTS = ['x', 'y', 'z'];
const SEED = testSeed('connection slots');

const limits = fc.record({
  perHost: fc.integer({ min: 1, max: 6 }),
  total: fc.integer({ min: 1, max: 12 }),
});
const event = fc.record({
  kind: fc.constantFrom('claim', 'claim', 'claim', 'end', 'leave', 'wait'),
  key: fc.constantFrom(...KEYS),
  host: fc.constantFrom(...HOSTS),
  wanted: fc.integer({ min: 0, max: 7 }),
});

/** Downloads that open every allowed connection, and end every excess connection. */
class Downloads {
  readonly slots: ConnectionSlots<string>;
  readonly wanted = new Map<string, number>();
  readonly active = new Map<string, number>();
  /** When a download last had a connection, or began to want one. */
  readonly servedAt = new Map<string, number>();
  now = 0;

  constructor(of: { perHost: number; total: number }) {
    this.slots = new ConnectionSlots(of);
  }

  play({ kind, key, host, wanted }: { kind: string; key: string; host: string; wanted: number }) {
    const pair = `${key} ${host}`;
    if (kind === 'claim') {
      this.slots.claim(key, host, wanted, this.now);
      this.wanted.set(pair, wanted);
    } else if (kind === 'end') {
      this.#end(pair, 1);
    } else if (kind === 'leave') {
      this.slots.leave(key, this.now);
      for (const other of HOSTS) {
        this.wanted.delete(`${key} ${other}`);
        this.active.delete(`${key} ${other}`);
      }
    } else this.now += TURN_MS / 3;
    this.settle();
  }

  /** Ends and opens connections. @returns the connections that were ended for other downloads */
  settle(): number {
    let ended = 0;
    for (const { key, host, count } of this.slots.excess(this.now)) {
      expect(count).toBeGreaterThan(0);
      this.#end(`${key} ${host}`, count);
      ended += count;
    }
    for (const pair of this.wanted.keys()) {
      const [key, host] = pair.split(' ') as [string, string];
      while (this.slots.take(key, host)) {
        this.active.set(pair, (this.active.get(pair) ?? 0) + 1);
      }
    }
    for (const [pair, wanted] of this.wanted) {
      const key = pair.slice(0, 1);
      const has = HOSTS.some((host) => (this.active.get(`${key} ${host}`) ?? 0) > 0);
      if (wanted === 0 || has || !this.servedAt.has(key)) this.servedAt.set(key, this.now);
    }
    return ended;
  }

  #end(pair: string, count: number): void {
    const [key, host] = pair.split(' ') as [string, string];
    const has = this.active.get(pair) ?? 0;
    for (let i = 0; i < Math.min(count, has); i++) this.slots.release(key, host, this.now);
    this.active.set(pair, Math.max(0, has - count));
  }

  at(host: string): { key: string; active: number; wanted: number }[] {
    return KEYS.map((key) => ({
      key,
      active: this.active.get(`${key} ${host}`) ?? 0,
      wanted: this.wanted.get(`${key} ${host}`) ?? 0,
    }));
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

/** Runs a check after each of many events. */
function always(check: (downloads: Downloads, of: { perHost: number; total: number }) => void) {
  fc.assert(
    fc.property(limits, fc.array(event, { maxLength: 40 }), (of, events) => {
      const downloads = new Downloads(of);
      for (const one of events) {
        downloads.play(one);
        check(downloads, of);
      }
    }),
    { seed: SEED, numRuns: 200 },
  );
}

describe('connections divided among downloads', () => {
  test('never exceed the limits for a host and for all', () => {
    always((downloads, { perHost, total }) => {
      const counts = HOSTS.map((host) => sum(downloads.at(host).map(({ active }) => active)));
      for (const count of counts) expect(count).toBeLessThanOrEqual(perHost);
      expect(sum(counts)).toBeLessThanOrEqual(total);
      expect(downloads.slots.active).toBe(sum(counts));
    });
  });

  test('are never more than a download wants', () => {
    always((downloads) => {
      for (const host of HOSTS) {
        for (const { active, wanted } of downloads.at(host)) {
          expect(active).toBeLessThanOrEqual(wanted);
        }
      }
    });
  });

  test('are all in use if they are wanted (work conservation)', () => {
    always((downloads, { perHost, total }) => {
      const full = HOSTS.map((host) =>
        Math.min(perHost, sum(downloads.at(host).map(({ wanted }) => wanted))),
      );
      expect(downloads.slots.active).toBe(Math.min(total, sum(full)));
    });
  });

  test('differ by one at most among downloads of a host that want more (max-min fairness)', () => {
    always((downloads, { perHost }) => {
      // Only cases in which the total does not matter.
      if (downloads.slots.active >= 12 || perHost * HOSTS.length > 12) return;
      const large = new Downloads({ perHost, total: 1000 });
      for (const [pair, wanted] of downloads.wanted) {
        const [key, host] = pair.split(' ') as [string, string];
        large.play({ kind: 'claim', key, host, wanted });
      }
      for (const host of HOSTS) {
        const hungry = large.at(host).filter(({ active, wanted }) => active < wanted);
        const most = Math.max(0, ...large.at(host).map(({ active }) => active));
        for (const { active } of hungry) expect(active).toBeGreaterThanOrEqual(most - 1);
      }
    });
  });

  test('do not change once every download has its share', () => {
    always((downloads) => {
      downloads.settle();
      expect(downloads.settle()).toBe(0);
    });
  });

  test('reach a new download at once if there are enough for all downloads', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 9 }), (per, wanted) => {
        const downloads = new Downloads({ perHost: per, total: 100 });
        for (const key of KEYS.slice(0, per)) {
          downloads.play({ kind: 'claim', key, host: 'x', wanted });
          const mine = downloads.at('x').find((one) => one.key === key);
          expect(mine?.active).toBeGreaterThan(0);
        }
      }),
      { seed: SEED },
    );
  });

  test('reach every download in turn if there are too few for all (no starvation)', () => {
    fc.assert(
      fc.property(limits, fc.array(event, { maxLength: 60 }), (of, events) => {
        const downloads = new Downloads(of);
        const random = seededRandom(events.length);
        for (const one of events) downloads.play(one);
        // From here on, only time passes and requests end at random.
        const had = new Set<string>();
        for (let turn = 0; turn < 400; turn++) {
          const end = KEYS[Math.floor(random() * KEYS.length)] as string;
          const kind = random() < 0.2 ? 'end' : 'wait';
          downloads.play({ kind, key: end, host: 'x', wanted: 0 });
          for (const [pair, active] of downloads.active) if (active > 0) had.add(pair.slice(0, 1));
        }
        for (const [pair, wanted] of downloads.wanted) {
          if (wanted > 0) expect([...had]).toContain(pair.slice(0, 1));
        }
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  test('reach a download whose host was kept for one that the limit for all keeps from it', () => {
    const downloads = new Downloads({ perHost: 1, total: 2 });
    const claims = ['h x', 'a z', 'a y', 'f y'].map((pair) => pair.split(' ') as [string, string]);
    for (const [key, host] of claims) downloads.play({ kind: 'claim', key, host, wanted: 1 });
    const has = () => downloads.active.get('f y') === 1;
    for (let turn = 0; turn < 9 && !has(); turn++) {
      downloads.play({ kind: 'wait', key: 'a', host: 'x', wanted: 0 });
    }
    expect(has()).toBe(true);
  });

  test('are given back by a download that leaves or wants none', () => {
    const downloads = new Downloads({ perHost: 5, total: 24 });
    downloads.play({ kind: 'claim', key: 'a', host: 'x', wanted: 6 });
    downloads.play({ kind: 'claim', key: 'b', host: 'x', wanted: 6 });
    expect(downloads.at('x').slice(0, 2)).toMatchObject([{ active: 3 }, { active: 2 }]);
    downloads.play({ kind: 'claim', key: 'a', host: 'x', wanted: 0 });
    expect(downloads.at('x').slice(0, 2)).toMatchObject([{ active: 0 }, { active: 5 }]);
    downloads.play({ kind: 'leave', key: 'b', host: 'x', wanted: 0 });
    expect(downloads.slots.active).toBe(0);
  });
});

test('equal units are divided as evenly as the demands allow', () => {
  expect(fairShares([6, 6], 5)).toEqual([3, 2]);
  expect(fairShares([6, 1, 6], 5)).toEqual([2, 1, 2]);
  expect(fairShares([1, 1, 1], 2)).toEqual([1, 1, 0]);
  expect(fairShares([0, 9], 5)).toEqual([0, 5]);
  expect(fairShares([], 5)).toEqual([]);
});
