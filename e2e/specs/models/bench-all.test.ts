/** `npm run bench -- all`: what it runs, in which time, and the page and pictures that it writes. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MEASUREMENTS, type Measurement } from '../../bench/all/list.ts';
import { pageOf, type Section } from '../../bench/all/page.ts';
import { planned, timeFor, unknownName } from '../../bench/all/plan.ts';
import { runOne } from '../../bench/all/run-one.ts';
import { contestResult, median } from '../../bench/measuring/table.ts';
import { barsSvg } from '../../charts/bars.ts';
import type { BarChart } from '../../charts/chart.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const RUN = join(ROOT, 'scripts/run.mjs');

const one = (name: string, more: Partial<Measurement> = {}): Measurement => ({
  ...{ name, command: ['sim', name], title: `Title of ${name}`, page: 'BENCHMARKS.md' },
  ...{ minutes: 1, needs: [], writes: true, ...more },
});

describe('the plan', () => {
  const none = { without: [] };
  const all = [
    one('a'),
    one('b', { needs: ['nginx', 'git'] }),
    one('c', { byHand: 'takes hours' }),
  ];

  test('leaves nothing out without a reason', () => {
    const { run, leftOut } = planned(all, none, (need) => `${need} lacks`);
    expect(run.map(({ name }) => name)).toEqual(['a']);
    expect(leftOut.map(({ measurement, reason }) => [measurement.name, reason])).toEqual([
      ['b', 'nginx lacks'],
      ['c', 'takes hours'],
    ]);
  });

  test('follows --only and --without, and keeps the order of the list', () => {
    const choice = { only: ['c', 'b', 'a'], without: ['a'] };
    const { run, leftOut } = planned(all, choice, () => undefined);
    expect(run.map(({ name }) => name)).toEqual(['b']);
    expect(leftOut.map(({ reason }) => reason)).toEqual(['left out with --without', 'takes hours']);
    expect(planned(all, { ...none, only: ['a'] }, () => undefined).leftOut).toHaveLength(2);
  });

  test('finds names that no measurement has', () => {
    expect(unknownName(all, { only: ['a'], without: ['x'] })).toBe('x');
    expect(unknownName(all, { only: ['a'], without: ['b'] })).toBeUndefined();
  });

  test('begins what fits into the time that is left, and limits it to that', () => {
    expect(timeFor({ minutes: 5 }, 60)).toEqual({ limit: 15 });
    expect(timeFor({ minutes: 5 }, 6)).toEqual({ limit: 6 });
    expect(timeFor({ minutes: 0.1 }, 60)).toEqual({ limit: 2 });
    expect(timeFor({ minutes: 5 }, 4.96)).toEqual({
      reason: 'takes about 5 min, and 5.0 were left (--minutes)',
    });
    expect(timeFor({ minutes: 5 }, -1)).toHaveProperty('reason', expect.stringContaining('0.0'));
  });
});

describe('the list', () => {
  test('names each measurement once, and shows where our figures are', async () => {
    const names = MEASUREMENTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const page of new Set(MEASUREMENTS.map((measurement) => measurement.page))) {
      const [file = '', heading] = page.split('#');
      const markdown = await readFile(join(ROOT, file), 'utf8');
      const headings = [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => anchor(text));
      if (heading !== undefined) expect(headings).toContain(heading);
    }
  });

  test.each([
    ['bench', /^Benchmarks: (.*)$/m, /, /],
    ['lab', /\n\n((?: {2}\S+ .*\n)+)/, /\n/],
    ['sim', /\n\n((?: {2}\S+ .*\n)+)/, /\n/],
  ] as const)('knows every measurement of npm run %s', async (script, pattern, between) => {
    const main = join(ROOT, 'e2e', script, 'main.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [main, '--help']);
    const known = (pattern.exec(stdout)?.[1] ?? '')
      .split(between)
      .map((line) => line.trim().split(' ')[0] ?? '')
      .filter((name) => name !== '' && name !== 'all');
    expect(known.length).toBeGreaterThan(5);
    const ours = MEASUREMENTS.filter(({ command }) => command[0] === script);
    expect(ours.map(({ name }) => name).sort()).toEqual(known.sort());
  });
});

/** Returns the anchor that GitHub gives a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

describe('pictures', () => {
  const chart: BarChart = {
    ...{ title: 'A & B', unit: 'GB/s', better: 'more', range: 'least and most of 5 runs' },
    series: ['<ours>', 'theirs'],
    groups: [
      { name: 'hit', bars: [{ value: 10, low: 5, high: 20 }, { value: 1.25 }] },
      { name: 'cold', bars: [undefined, { value: Number.NaN }] },
      { name: 'none', bars: [{ value: 0, low: 0, high: 0 }, { value: 0.001 }] },
    ],
  };
  const svg = barsSvg(chart);

  test('have bars in proportion, a line where a range is known, and units', () => {
    const widths = [
      ...svg.matchAll(/<rect class="fill\d" x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="18"/g),
    ].map(([, width]) => Number(width));
    expect(widths).toHaveLength(4);
    expect((widths[0] as number) / (widths[1] as number)).toBeCloseTo(8, 1);
    expect(svg.match(/class="whisker"/g)).toHaveLength(1);
    expect(svg).toContain('GB/s, more is better; lines: least and most of 5 runs');
    for (const figure of ['10.0 (5.0 to 20.0)', '1.3', '0.001', '–']) {
      expect(svg).toContain(`>${figure}</text>`);
    }
  });

  test('are well-formed for any names, and have no figures that are not numbers', () => {
    expect(svg).toContain('A &amp; B');
    expect(svg).toContain('&lt;ours&gt;');
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(barsSvg({ ...chart, title: 'a\u0000"b' })).toContain('a\ufffd&quot;b');
    expect(barsSvg({ ...chart, groups: [] })).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('are for light and dark pages, and tell readers who do not see them all figures', () => {
    expect(svg).toContain('@media (prefers-color-scheme: dark)');
    expect(svg).toContain(
      '<desc>hit: &lt;ours&gt; 10.0 (5.0 to 20.0) GB/s, theirs 1.3 GB/s. cold:',
    );
  });

  test('are refused for more series than there are colours', () => {
    const series = Array.from({ length: 9 }, (_, i) => `${i}`);
    expect(() => barsSvg({ ...chart, series })).toThrow(RangeError);
  });
});

test('a contest has medians with their ranges, in its table and for its pictures', () => {
  const sample = (throughput: number) => ({ throughput, cpuPerGb: 1, originShare: 0 });
  const ours = median([3, 1, 2, 5, 4].map(sample));
  const { text, charts } = contestResult(
    [{ name: 'hit', ours, theirs: median([sample(2)]) }],
    'nginx',
    'Both',
  );
  expect(text).toContain(
    '| hit | 3.00 (1.00 to 5.00) | 2.00 | 1.50x | 1.00 | 1.00 | 1.00x | 0.00 |',
  );
  expect(charts[0]).toMatchObject({
    ...{ unit: 'GB/s', better: 'more', series: ['Millrace', 'nginx'] },
    groups: [{ name: 'hit', bars: [{ value: 3, low: 1, high: 5 }, { value: 2 }] }],
  });
});

test('the page names what failed, with the end of its log, and what is still to come', () => {
  const section = (measurement: Measurement, ending: 'done' | 'failed'): Section => ({
    outcome: {
      ...{ measurement, ending, minutes: 1.23, output: '# Heading\n\n| a |\n|---|\n| 1 |\n' },
      ...{ log: 'nginx: ``` broke', load: ['0.1, 0.2', '1.5, 0.4'] },
    },
    pictures: [],
  });
  const page = pageOf({
    ...{ command: 'npm run bench -- all', facts: [['cores', '2']], root: '../..' },
    sections: [section(one('good'), 'done'), section(one('bad'), 'failed')],
    leftOut: [{ measurement: one('late'), reason: 'no time' }],
    waiting: ['next'],
  });
  expect(page).toContain('**Without a complete result:** [bad](#bad) (failed).');
  expect(page).toContain('````text\nnginx: ``` broke\n````');
  expect(page).toContain('Still to come: next.');
  expect(page).toContain('| no time | late |');
  expect(page).toContain('| `npm run -s sim -- good` | 1.2 | 0.1, 0.2 | 1.5, 0.4 | done |');
  expect(page).toContain('\n### Heading\n');
});

describe('a run', () => {
  let parent: string;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'millrace-bench-all-'));
  });
  afterEach(() => rm(parent, { recursive: true }));

  /** Folder of the page, which the run makes. */
  const folder = () => join(parent, 'page');
  const page = () => readFile(join(folder(), 'README.md'), 'utf8');
  const start = (...args: string[]) =>
    spawn(process.execPath, [RUN, 'bench', 'all', '--to', folder(), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  test('writes the tables that the command prints, a picture of them, and the machine', async () => {
    const run = start('--only', 'churn');
    const [code] = await once(run, 'exit');
    const [text, table] = [await page(), await readFile(join(folder(), 'churn.md'), 'utf8')];
    expect({ code, text }).toMatchObject({ code: 0 });
    expect(text).toContain(table.slice(table.indexOf('**By rate**')).trim());
    expect(text).toContain(`| Node | ${process.version} |`);
    expect(text).toContain('](churn-bars-1.svg)');
    expect(text).not.toContain('Not finished');
    const svg = await readFile(join(folder(), 'churn-bars-1.svg'), 'utf8');
    expect(svg).toContain('Downloads that fail while 30 nodes come, leave and fail');
    // The folder has figures now, which another run leaves alone.
    const again = start('--only', 'churn');
    expect((await once(again, 'exit'))[0]).toBe(2);
    expect(await page()).toBe(text);
  });

  test('that is stopped ends its measurement, and has the page of what there is', async () => {
    const run = start('--only', 'flash,balance');
    await new Promise<void>((resolve) => {
      run.stderr.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('balance, seed')) resolve();
      });
    });
    run.kill('SIGINT');
    expect((await once(run, 'exit'))[0]).toBe(130);
    const text = await page();
    expect(text).toContain('[balance](#balance) (stopped)');
    expect(text).toContain('| the run was stopped before | flash |');
    expect(await readdir(folder())).toEqual(['README.md']);
  });

  test('ends a measurement that takes longer than its limit', async () => {
    const flash = MEASUREMENTS.find(({ name }) => name === 'flash') as Measurement;
    const stop = new AbortController().signal;
    const outcome = await runOne(flash, { root: ROOT, folder: parent, limit: 0.00123, stop });
    expect(outcome).toMatchObject({ measurement: flash, ending: 'out of time', output: '' });
  });

  test('without the time for anything fails, and says what did not fit', async () => {
    const run = start('--only', 'flash', '--minutes', '0.5');
    expect((await once(run, 'exit'))[0]).toBe(1);
    expect(await page()).toContain('takes about 8 min, and 0.5 were left (--minutes)');
  });
});
