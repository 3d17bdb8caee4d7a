import { describe, expect, test } from '@jest/globals';
import {
  cut,
  errorsVerdict,
  extended,
  hitsVerdict,
  inOrder,
  meanWindows,
  offload,
  offloadVerdict,
  perSecond,
  placeOn,
  retriesVerdict,
  rings,
  roundUp,
  tierShares,
  total,
} from './series.js';

const steps = (first: number, series: Record<string, number[]>) => ({
  stepMs: 5000,
  first,
  series,
});

describe('extended', () => {
  test('replaces the step that was under way, and adds those after it', () => {
    const known = steps(10, { a: [1, 2, 3] });
    expect(extended(known, steps(12, { a: [5, 6] }))).toEqual(steps(10, { a: [1, 2, 5, 6] }));
  });

  test('starts over after a gap, and with another edge', () => {
    const known = steps(10, { a: [1, 2, 3] });
    const later = steps(20, { a: [4] });
    const before = steps(3, { a: [4] });
    expect([extended(known, later), extended(known, before)]).toEqual([later, before]);
  });

  test('keeps half an hour', () => {
    const known = steps(0, { a: Array.from({ length: 360 }, (_, i) => i) });
    const next = extended(known, steps(359, { a: [0, 360] }));
    expect(next.first).toBe(1);
    expect(next.series.a).toHaveLength(360);
    expect(next.series.a?.[0]).toBe(1);
  });
});

describe('derived figures', () => {
  test('leave out the step that is under way', () => {
    const some = steps(0, { toClients: [5000, 10_000, 7] });
    expect(perSecond(some, 'toClients')).toEqual([1000, 2000]);
  });

  test('are shares per tier, none without chunks', () => {
    const some = steps(0, {
      memory: [3, 0, 0],
      disk: [0, 0, 0],
      peer: [0, 0, 0],
      source: [1, 0, 9],
    });
    expect(tierShares(some)).toEqual([[0.75, 0, 0, 0.25], undefined]);
    expect(meanWindows(steps(0, { windowSum: [12, 0, 1], windowCount: [4, 0, 1] }))).toEqual([
      3,
      undefined,
    ]);
  });

  test('tell how much the origin is relieved', () => {
    expect([offload(0, 0), offload(5, 0), offload(50, 20), offload(5000, 3)]).toEqual([
      '–',
      '∞',
      '2.5×',
      '1667×',
    ]);
  });

  test('round up to readable numbers', () => {
    expect([roundUp(0, 10), roundUp(3, 10), roundUp(1000, 10), roundUp(700, 1024)]).toEqual([
      1, 5, 1000, 1000,
    ]);
    expect(roundUp(3 * 1024 * 1024, 1024)).toBe(5 * 1024 * 1024);
  });
});

describe('the map of round-trip times', () => {
  test('has a ring per power of ten around all of them', () => {
    expect(rings([0.4, 35])).toEqual([0.1, 1, 10, 100]);
    expect(rings([])).toEqual([1, 10]);
  });

  test('has the first ring at 0, the last at 1, and nothing beyond', () => {
    const all = [1, 10, 100];
    expect([1, 10, 100, 0, 9999].map((time) => placeOn(time, all))).toEqual([0, 0.5, 1, 0, 1]);
  });
});

test('edges that cannot be used come first, those that were never measured last', () => {
  const peer = (name: string, rttMs: number | null, usable = true, member = true) => ({
    name,
    rttMs,
    usable,
    member,
  });
  const peers = [
    peer('unmeasured', null),
    peer('far', 90),
    peer('spare', 1, true, false),
    peer('gone', 5, false),
    peer('near', 2),
    peer('never', null, false),
  ];
  expect(inOrder(peers).map(({ name }) => name)).toEqual([
    ...['gone', 'never', 'near', 'far', 'unmeasured', 'spare'],
  ]);
});

test('a shorter time is made of the latest steps, and counts the one under way', () => {
  const all = steps(10, { a: [1, 2, 4], b: [10, 20, 40] });
  expect(cut(all, 2)).toEqual(steps(11, { a: [2, 4], b: [20, 40] }));
  expect(cut(all, 3)).toBe(all);
  expect(total(cut(all, 2), 'a', 'b')).toBe(66);
});

test.each([
  ['much is served for little', offloadVerdict(500, 100), 'good'],
  ['nothing had to be fetched', offloadVerdict(500, 0), 'good'],
  ['all is fetched', offloadVerdict(100, 100), 'bad'],
  ['nothing is served', offloadVerdict(0, 100), 'none'],
  ['most is at hand', hitsVerdict(80, 100, 0), 'good'],
  ['half is at hand', hitsVerdict(50, 100, 0), 'warn'],
  ['little is at hand', hitsVerdict(20, 100, 10), 'bad'],
  ['other edges have what is not at hand', hitsVerdict(14, 100, 80), 'good'],
  ['nothing is asked for', hitsVerdict(0, 0, 0), 'none'],
  ['one of a thousand fails', errorsVerdict(1, 1000), 'good'],
  ['one of fifty fails', errorsVerdict(1, 50), 'warn'],
  ['all fail', errorsVerdict(3, 3), 'bad'],
  ['no chunk was late', retriesVerdict(0, 0), 'good'],
  ['one of twenty is requested again', retriesVerdict(1, 20), 'warn'],
  ['half are requested again', retriesVerdict(5, 10), 'bad'],
])('if %s, the dashboard says so', (_, { state }, expected) => {
  expect(state).toBe(expected);
});
