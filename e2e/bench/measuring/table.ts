/** Formats results for people: our figures beside the other side's, and the ratio. */

import type { Sample } from './measure.ts';

/** One line of the result. */
export interface Row {
  readonly name: string;
  readonly ours: Sample;
  readonly theirs: Sample;
}

const FIGURES: readonly (readonly [keyof Sample, unit: string])[] = [
  ['throughput', 'GB/s'],
  ['cpuPerGb', 'CPU-s/GB'],
  ['originShare', 'origin bytes / file'],
];

/** Returns the median of each figure. */
export function median(samples: readonly Sample[]): Sample {
  const middle = (figure: keyof Sample) =>
    samples.map((s) => s[figure]).sort((a, b) => a - b)[samples.length >> 1] as number;
  return {
    throughput: middle('throughput'),
    cpuPerGb: middle('cpuPerGb'),
    originShare: middle('originShare'),
  };
}

/** Writes rows as a Markdown table with ratios of our figures to theirs. */
export function table(rows: readonly Row[], theirName: string): string {
  const heads = FIGURES.flatMap(([, unit]) => [
    `Millrace ${unit}`,
    `${theirName} ${unit}`,
    'ratio',
  ]);
  return [
    `| | ${heads.join(' | ')} |`,
    `|---|${'---|'.repeat(heads.length)}`,
    ...rows.map(({ name, ours, theirs }) => {
      const cells = FIGURES.flatMap(([figure]) => compared(ours[figure], theirs[figure]));
      return `| ${name} | ${cells.join(' | ')} |`;
    }),
  ].join('\n');
}

function compared(ours: number, theirs: number): string[] {
  // Zero has no ratio: a hit costs the origin no bytes.
  const ratio = theirs === 0 ? '' : `${(ours / theirs).toFixed(2)}x`;
  return [ours.toFixed(2), theirs.toFixed(2), ratio];
}
