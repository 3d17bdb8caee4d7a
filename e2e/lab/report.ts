/**
 * Writes an experiment's measurements as JSON, and as Markdown with tables and pictures of curves.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Plot, plotSvg } from './plot.ts';

export type { Plot } from './plot.ts';

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  /** Rows; numbers are written with three significant digits, undefined as a dash. */
  readonly rows: readonly (readonly (string | number | undefined)[])[];
}

/** Findings of an experiment; medians if it was measured more than once. */
export interface Findings {
  /** Conditions of the measurement. */
  readonly conditions: Readonly<Record<string, string | number>>;
  readonly tables: readonly Table[];
  readonly plots: readonly Plot[];
  /** Facts that a reader needs in addition to the figures. */
  readonly notes: readonly string[];
  /** Every single measurement. */
  readonly raw: unknown;
}

/** Findings, and their experiment. */
export interface Report extends Findings {
  /** Name on the command line and of the files. */
  readonly experiment: string;
  readonly title: string;
  readonly seed: number;
  /** Number of measurements. */
  readonly runs: number;
}

/** Returns the middle value, or the mean of the middle two; NaN for an empty list. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Returns the quantile of a share, 0 to 1, by linear interpolation; NaN for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Writes NAME.json, NAME.md and NAME-N.svg into a folder. @returns the Markdown */
export async function writeReport(folder: string, report: Report): Promise<string> {
  await mkdir(folder, { recursive: true });
  const pictures = report.plots.map((plot, i) => ({
    name: `${report.experiment}-${i + 1}.svg`,
    plot,
  }));
  const markdown = markdownOf(report, pictures);
  const json = JSON.stringify(report, null, 1);
  await writeFile(join(folder, `${report.experiment}.json`), `${json}\n`);
  await writeFile(join(folder, `${report.experiment}.md`), markdown);
  for (const { name, plot } of pictures) await writeFile(join(folder, name), plotSvg(plot));
  return markdown;
}

function markdownOf(
  report: Report,
  pictures: readonly { readonly name: string; readonly plot: Plot }[],
): string {
  const conditions = Object.entries({
    ...report.conditions,
    runs: report.runs,
    seed: report.seed,
  }).map(([name, value]) => `${name}: ${value}`);
  return [
    `## ${report.title}`,
    `${conditions.join('; ')}.`,
    ...report.tables.map(({ title, columns, rows }) => `${title}:\n\n${grid(columns, rows)}`),
    ...pictures.map(({ name, plot }) => `![${plot.title}](${name})`),
    ...report.notes,
    '',
  ].join('\n\n');
}

function grid(
  columns: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns),
    `|${'---|'.repeat(columns.length)}`,
    ...rows.map((row) => line(row.map(cell))),
  ].join('\n');
}

function cell(value: string | number | undefined): string {
  if (value === undefined) return '–';
  if (typeof value === 'string') return value.replaceAll('|', '\\|');
  return rounded(value);
}

/** Rounds to three significant digits, written as people do: 1234, 12.3, 0.0123. */
export function rounded(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return value.toFixed(0);
  const digits = 2 - Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(6, Math.max(0, digits)));
}
