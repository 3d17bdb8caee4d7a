/** The first half minute of the soak (`npm run bench -- soak`), and the decisions that it rests on. */

import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { startSoak } from '../../bench/soak.ts';
import { causeOf, type Failure, judgeFile } from '../../soak/account/causes.ts';
import { type FaultKind, planFaults } from '../../soak/account/fault-plan.ts';
import { longestLives } from '../../soak/account/slopes.ts';

const seed = testSeed('soak test');

const TARGETS = { edges: 4, files: 8, disks: 3, commands: 3, daemons: 1, browsers: 1 };

test('half a minute of kills, full disks and changing files brings no wrong byte and no hang', async () => {
  const options = ['--minutes', '0.4', '--seed', String(seed), '--in-order', '--entries', '1000'];
  const soak = startSoak([...options, '--without', 'browsers'], 'pipe');
  const [page, notes, [code]] = await Promise.all([
    text(soak.stdout as NodeJS.ReadableStream),
    text(soak.stderr as NodeJS.ReadableStream),
    once(soak, 'exit'),
  ]);
  process.stderr.write(page);
  expect([code, page.includes('| wrong bytes | 0 |') ? '' : notes]).toEqual([0, '']);
  expect(page).toContain('| hangs | 0 |');
  expect(page).toContain('| lost downloads and files | 0 |');
});

test('a plan of faults is that of its seed, spares the first edge, and leaves time to mend', () => {
  const plan = (inOrder: boolean, ...left: FaultKind[]) =>
    planFaults(seededRandom(seed), TARGETS, 600_000, { inOrder, without: new Set(left) });
  expect(plan(false)).toEqual(plan(false));
  const faults = plan(true);
  expect(faults.slice(0, 7).map(({ kind }) => kind)).toEqual([
    ...['kill-edge', 'kill-daemon', 'change-file', 'kill-command'],
    ...['fill-disk', 'stop-edge', 'kill-background'],
  ]);
  for (const { at, kind, target } of [...faults, ...plan(false)]) {
    expect(at).toBeLessThan(kind === 'kill-daemon' ? 300_001 : 540_000);
    if (kind.endsWith('-edge')) expect([1, 2, 3]).toContain(target);
  }
  const kinds = new Set(plan(false, 'kill-daemon', 'fill-disk').map(({ kind }) => kind));
  expect(kinds.size).toBe(5);
  expect([kinds.has('kill-daemon'), kinds.has('fill-disk')]).toEqual([false, false]);
});

test('a fault explains failures of its kind, at its target, while it lasts and shortly after', () => {
  const fault = { kind: 'kill-edge', target: 2, from: 1000, until: 2000 } as const;
  const failure: Failure = {
    ...{ work: 'read' as const, code: 'refused', from: 1500, until: 1600, detail: '' },
    strikes: [{ kind: 'kill-edge', target: 2 }],
  };
  expect(causeOf(failure, [fault])).toBe(fault);
  expect(causeOf({ ...failure, code: 'disk-full' }, [fault])).toBeUndefined();
  expect(
    causeOf({ ...failure, strikes: [{ kind: 'kill-edge', target: 1 }] }, [fault]),
  ).toBeUndefined();
  expect(causeOf({ ...failure, from: 500, until: 999 }, [fault])).toBeUndefined();
  expect(causeOf({ ...failure, from: 60_000, until: 61_000 }, [fault])).toBeUndefined();
});

test('a file is right if a version of its time has its digest', () => {
  const versions = [
    { digest: 'old', from: 0, until: 10_000 },
    { digest: 'new', from: 10_000, until: Number.POSITIVE_INFINITY },
  ];
  expect(judgeFile('new', versions, 500_000)).toBe('right');
  expect(judgeFile('old', versions, 12_000)).toBe('right');
  expect(judgeFile('old', versions, 500_000)).toBe('stale');
  expect(judgeFile('mixed', versions, 12_000)).toBe('wrong');
});

test('memory that grows shows as a slope, without the warm-up and of the longest life', () => {
  const minutes = Array.from({ length: 30 }, (_, i) => i);
  const sample = (name: string, pid: number, minute: number, residentBytes: number) => ({
    ...{ name, pid, at: minute * 60_000, residentBytes, descriptors: 20 },
  });
  const lives = longestLives([
    ...minutes.map((minute) => sample('grows', 1, minute, 1000 + 10 * minute)),
    ...minutes.map((minute) => sample('warms up', 2, minute, minute < 10 ? 100 * minute : 1000)),
    ...minutes.slice(0, 3).map((minute) => sample('warms up', 3, minute, 5)),
  ]);
  expect(lives.map(({ name, residentBytes }) => [name, residentBytes.perMinute])).toEqual([
    ['grows', expect.closeTo(10)],
    ['warms up', expect.closeTo(0)],
  ]);
  expect(lives[0]?.descriptors).toEqual({ mean: 20, most: 20, perMinute: 0 });
});
