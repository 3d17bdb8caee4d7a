import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { median, percentile, type Report, rounded, writeReport } from '../../lab/report.ts';
import { spread } from '../../lab/topologies.ts';
import { bencoded, torrentOf } from '../../lab/torrent.ts';
import { runAgent } from '../../lab/windows/agent-run.ts';
import { KINDS } from '../../lab/windows/growths.ts';

describe('reports of the laboratory', () => {
  test('medians and percentiles are those of the sorted values', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([1, 2, 3, 10])).toBe(2.5);
    expect(percentile([30, 10, 20], 0.9)).toBeCloseTo(28);
    expect(median([])).toBeNaN();
  });

  test.each([
    [12345.6, '12346'],
    [12.345, '12.3'],
    [0.012345, '0.0123'],
    [7, '7'],
    [Number.NaN, '–'],
  ])('writes %p as %s', (value, text) => expect(rounded(value)).toBe(text));

  test('come as data, as a table, and as a picture', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-report-'));
    const points: [number, number][] = [
      [0, 1],
      [10, 4],
    ];
    const report: Report = {
      experiment: 'name',
      title: 'Title',
      seed: 5,
      runs: 1,
      conditions: { links: 'good' },
      tables: [{ title: 'Table', columns: ['a', 'b'], rows: [['x|y', 1.2345]] }],
      plots: [{ title: 'A & B', x: 'x', y: 'y', series: [{ name: '<one>', points }] }],
      notes: ['A note.'],
      raw: [1, 2],
    };
    try {
      const markdown = await writeReport(folder, report);
      expect(markdown).toContain('| x\\|y | 1.23 |');
      expect(markdown).toContain('links: good; runs: 1; seed: 5.');
      expect(markdown).toContain('![A & B](name-1.svg)');
      expect(JSON.parse(await readFile(join(folder, 'name.json'), 'utf8'))).toEqual(report);
      const picture = await readFile(join(folder, 'name-1.svg'), 'utf8');
      expect(picture).toContain('A &amp; B');
      expect(picture).toContain('&lt;one&gt;');
      expect(picture).not.toMatch(/NaN|Infinity/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

test('links are spread evenly, in an order that the seed decides', () => {
  const values = spread(10, 80, 8, 3);
  expect([...values].sort((a, b) => a - b)).toEqual([10, 20, 30, 40, 50, 60, 70, 80]);
  expect(spread(10, 80, 8, 3)).toEqual(values);
  expect(spread(10, 80, 8, 4)).not.toEqual(values);
});

test('a torrent describes a file by the digests of its pieces', () => {
  const text = torrentOf('f', Buffer.from('abcde'), 4, 'http://t/').toString('latin1');
  expect(text).toMatch(/^d8:announce9:http:\/\/t\/4:infod6:lengthi5e4:name1:f12:piece lengthi4e/);
  expect(text).toMatch(/6:pieces40:[\s\S]{40}ee$/);
  expect(bencoded({ b: 1, a: 'x' }).toString()).toBe('d1:a1:x1:bi1ee');
});

test('in virtual time the agent is faster, the faster its window opens', () => {
  const download = (make: (typeof KINDS)[number]['make']) => {
    const random = seededRandom(11);
    return runAgent({
      chunks: 400,
      chunkBytes: 60_000,
      lineRate: 1000,
      window: make(60, 1),
      // Every attempt meets the same conditions: only the window differs.
      peer: (chunk) => ({ rate: 100 + (chunk % 7) * 10, rttMs: 80 }),
      random,
    });
  };
  const results = KINDS.map(({ make }) => download(make));
  for (const { complete } of results) expect(complete).toBe(true);
  const times = results.map(({ ms }) => ms);
  expect(times).toEqual([...times].sort((a, b) => b - a));
  expect(KINDS.map(({ make }) => download(make).ms)).toEqual(times);
  // The line's rate is never exceeded.
  for (const ms of times) expect((400 * 60_000) / ms).toBeLessThanOrEqual(1000);
});
