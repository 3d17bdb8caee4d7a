/** Writes the page of all measurements. */

import type { BarChart } from '../../charts/chart.ts';
import type { Facts } from './machine.ts';
import type { LeftOut } from './plan.ts';
import { type Outcome, typed } from './run-one.ts';

/** A picture in the folder of the page. */
export interface Picture {
  readonly file: string;
  readonly chart: Pick<BarChart, 'title' | 'unit'>;
}

/** A measurement with its pictures. */
export interface Section {
  readonly outcome: Outcome;
  readonly pictures: readonly Picture[];
  /** File with the figures, in the folder of the page; undefined: there is none. */
  readonly figures?: string | undefined;
}

export interface Page {
  readonly command: string;
  readonly facts: Facts;
  readonly sections: readonly Section[];
  readonly leftOut: readonly LeftOut[];
  /** Names of measurements that are still to come. */
  readonly waiting: readonly string[];
  /** Path from the page's folder to the repository. */
  readonly root: string;
}

/** Returns the page as Markdown. */
export function pageOf({ command, facts, sections, leftOut, waiting, root }: Page): string {
  const failed = sections.filter(({ outcome }) => outcome.ending !== 'done');
  const parts = [
    '# Millrace, measured on this machine',
    `\`${command}\` has written this page. Each section has the command that repeats it, and a link to the page with our own figures. Ratios between programs that ran in turn can be compared between machines; absolute figures say little. A load average far above the number of cores, or one that differs before and after, means that other work was going on.`,
    waiting.length === 0 ? '' : `**Not finished.** Still to come: ${waiting.join(', ')}.`,
    failed.length === 0
      ? ''
      : `**Without a complete result:** ${failed.map(({ outcome }) => `[${outcome.measurement.name}](#${outcome.measurement.name}) (${outcome.ending})`).join(', ')}.`,
    '## Machine',
    grid(['', ''], facts),
    '## Measurements',
    grid(
      ['', 'command', 'min', 'load before (1, 5 min)', 'after', 'ended'],
      sections.map(({ outcome }) => [
        `[${outcome.measurement.name}](#${outcome.measurement.name})`,
        `\`${typed(outcome.measurement)}\``,
        outcome.minutes.toFixed(1),
        ...outcome.load,
        outcome.ending,
      ]),
    ),
    leftOut.length === 0 ? '' : '## Not measured',
    leftOut.length === 0 ? '' : grid(['reason', 'measurements'], byReason(leftOut)),
    ...sections.map((section) => sectionOf(section, root)),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Groups measurements by the reason why they were left out, in order. */
function byReason(leftOut: readonly LeftOut[]): [reason: string, names: string][] {
  const groups = new Map<string, string[]>();
  for (const { measurement, reason } of leftOut) {
    groups.set(reason, [...(groups.get(reason) ?? []), measurement.name]);
  }
  return [...groups].map(([reason, names]) => [reason, names.join(', ')]);
}

function sectionOf({ outcome, pictures, figures }: Section, root: string): string {
  const { measurement, ending, minutes, output, log, load } = outcome;
  const { name, title, page, writes } = measurement;
  const [before, after] = load;
  const parts = [
    `## ${name}`,
    `${title}. \`${typed(measurement)}\`, ${minutes.toFixed(1)} min, load ${before} before and ${after} after. Ours: [${page}](${root}/${page}).${figures === undefined ? '' : ` Figures as data: [${figures}](${figures}).`}`,
    ending === 'done' ? '' : `**${sentence(ending)}** The end of its log:\n\n${fenced(log)}`,
    ...pictures.map(({ file, chart }) => `![${text(`${chart.title}, ${chart.unit}`)}](${file})`),
    output.trim() === '' ? '' : writes ? lowered(output.trim()) : fenced(output),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function sentence(ending: Outcome['ending']): string {
  if (ending === 'out of time') return 'Ended, because it took longer than its time limit.';
  return ending === 'stopped' ? 'Stopped by the user.' : 'Failed.';
}

/** Lowers all headings below those of the page's sections. */
function lowered(markdown: string): string {
  let isCode = false;
  return markdown
    .split('\n')
    .map((line) => {
      if (line.startsWith('```')) isCode = !isCode;
      return isCode ? line : line.replace(/^#{1,3} /, '### ');
    })
    .join('\n');
}

/** Returns a text as it is, in a fence that it does not end. */
function fenced(content: string): string {
  const longest = Math.max(2, ...(content.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${content.trim()}\n${fence}`;
}

function grid(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns),
    `|${'---|'.repeat(columns.length)}`,
    ...rows.map((row) => line(row.map((cell) => cell.replaceAll('|', '\\|')))),
  ].join('\n');
}

const text = (content: string) => content.replace(/[[\]]/g, '');
