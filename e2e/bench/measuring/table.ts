/** Formats results for people: our figures beside the other side's, and the ratio. */

import type { BarChart } from '../../charts/chart.ts';
import { ranged, type Spread } from '../../charts/spread.ts';
import type { Sample } from './measure.ts';

/** Figures of several runs: the medians, and the range of each. */
export interface Summary extends Sample {
  readonly low: Sample;
  readonly high: Sample;
  /** Number of runs. */
  readonly runs: number;
}

/** One line of the result. */
export interface Row {
  readonly name: string;
  readonly ours: Summary;
  readonly theirs: Summary;
}

/** Result of a benchmark, for people and for pictures. */
export interface Result {
  /** Tables in Markdown. */
  readonly text: string;
  /** All figures, for programs. */
  readonly rows: readonly unknown[];
  readonly charts: readonly BarChart[];
}

const FIGURES: readonly (readonly [figure: keyof Sample, unit: string, better: 'more' | 'less'])[] =
  [
    ['throughput', 'GB/s', 'more'],
    ['cpuPerGb', 'CPU-s/GB', 'less'],
    ['originShare', 'origin bytes / file', 'less'],
  ];

/** Returns the median of each figure, and its range. @throws RangeError without samples */
export function median(samples: readonly Sample[]): Summary {
  if (samples.length === 0) throw new RangeError('no samples');
  const ranked = (share: number): Sample => {
    const at = (figure: keyof Sample) =>
      samples.map((s) => s[figure]).sort((a, b) => a - b)[
        Math.min(samples.length - 1, Math.floor(share * samples.length))
      ] as number;
    return {
      throughput: at('throughput'),
      cpuPerGb: at('cpuPerGb'),
      originShare: at('originShare'),
    };
  };
  return { ...ranked(0.5), low: ranked(0), high: ranked(1), runs: samples.length };
}

/** Writes rows as a Markdown table, with ranges, and ratios of our medians to theirs. */
function table(rows: readonly Row[], theirName: string): string {
  const heads = FIGURES.flatMap(([, unit]) => [
    `Millrace ${unit}`,
    `${theirName} ${unit}`,
    'ratio',
  ]);
  return [
    `| | ${heads.join(' | ')} |`,
    `|---|${'---|'.repeat(heads.length)}`,
    ...rows.map(({ name, ours, theirs }) => {
      const cells = FIGURES.flatMap(([figure]) => compared(ours, theirs, figure));
      return `| ${name} | ${cells.join(' | ')} |`;
    }),
  ].join('\n');
}

/**
 * Returns the result of a contest: its table, and a picture for each figure.
 *
 * @param title what is compared, without the name of the figure
 */
export function contestResult(rows: readonly Row[], theirName: string, title: string): Result {
  const runs = rows[0]?.ours.runs ?? 0;
  const charts = FIGURES.map(
    ([figure, unit, better]): BarChart => ({
      title,
      unit,
      better,
      range: runs > 1 ? `least and most of ${runs} runs` : undefined,
      series: ['Millrace', theirName],
      groups: rows.map(({ name, ours, theirs }) => ({
        name,
        bars: [spreadOf(ours, figure), spreadOf(theirs, figure)],
      })),
    }),
  );
  return { text: table(rows, theirName), rows, charts };
}

function spreadOf({ low, high, ...middle }: Summary, figure: keyof Sample): Spread {
  return { value: middle[figure], low: low[figure], high: high[figure] };
}

function compared(ours: Summary, theirs: Summary, figure: keyof Sample): string[] {
  // Zero has no ratio: a hit costs the origin no bytes.
  const ratio = theirs[figure] === 0 ? '' : `${(ours[figure] / theirs[figure]).toFixed(2)}x`;
  return [ours, theirs].map((side) => ranged(spreadOf(side, figure), 2)).concat(ratio);
}
