/** Reports of experiments: figures as JSON, and as Markdown for people. */

import type { BarChart } from '../charts/chart.ts';

export interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** Bars, one per value. */
interface Plot {
  readonly caption: string;
  readonly bars: readonly (readonly [label: string, value: number])[];
}

export interface Report {
  readonly title: string;
  readonly tables: readonly Table[];
  readonly plots?: readonly Plot[];
  /** Figures of one unit that can be compared; only the JSON has them, for pictures. */
  readonly charts?: readonly BarChart[];
  /** Facts that a reader needs to understand the figures. */
  readonly notes: readonly string[];
}

const BAR_CHARS = 50;

export function markdown(report: Report, command: string): string {
  const parts = [`# ${report.title}`, `\`${command}\``];
  for (const { caption, columns, rows } of report.tables) {
    parts.push(
      `**${caption}**`,
      [columns, columns.map((_, i) => (i === 0 ? '---' : '---:')), ...rows]
        .map((cells) => `| ${cells.map(cell).join(' | ')} |`)
        .join('\n'),
    );
  }
  for (const { caption, bars } of report.plots ?? []) {
    const most = Math.max(...bars.map(([, value]) => value));
    const width = Math.max(...bars.map(([label]) => label.length));
    const lines = bars.map(([label, value]) => {
      const bar = '#'.repeat(most === 0 ? 0 : Math.round((value / most) * BAR_CHARS));
      return `${label.padStart(width)} ${bar} ${cell(value)}`;
    });
    parts.push(`**${caption}**`, ['```', ...lines, '```'].join('\n'));
  }
  parts.push(report.notes.map((note) => `- ${note}`).join('\n'));
  return `${parts.join('\n\n')}\n`;
}

function cell(value: string | number): string {
  if (typeof value === 'string' || Number.isInteger(value)) return String(value);
  return value.toFixed(Math.abs(value) < 0.1 ? 3 : 2);
}

/** Returns the value below which a share of the values lie; 0 for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, v) => sum + v, 0) / values.length;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 2 : 1)}%`;
}
