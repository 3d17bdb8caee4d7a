/** Tables of plain text that fit their terminal. */

import { cutEnd, cutMiddle, displayWidth, pad } from './display.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** How a cell is shortened where there is no room; without it the column keeps its width. */
  readonly cut?: 'middle' | 'end';
  /** Narrowest width, terminal columns, of a column that can be cut. */
  readonly min?: number;
  /** Order in which columns are left out of a table that is still too wide: 1 first, then 2 ... */
  readonly drop?: number;
}

/** Styles a cell, for example with a colour; must not change the cell's width. */
export type Paint = (text: string, row: number, column: number) => string;

const GAP = 2;
const DEFAULT_MIN = 8;

/**
 * Returns the lines of a table: a head, then the rows. Empty columns are left out.
 *
 * @param width columns of the terminal; lines are shorter than that as far as cutting and leaving
 * out columns allows. Undefined: the output is for a program, which gets every column, and a tab
 * between cells
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
  paint: Paint = (text) => text,
): string[] {
  const cell = (row: readonly string[], index: number) => row[index] ?? '';
  const head = columns.map(({ title }) => title);
  if (width === undefined) {
    return [head, ...rows].map((row) => columns.map((_, i) => cell(row, i)).join('\t'));
  }
  let shown = columns.flatMap((column, index) =>
    rows.some((row) => cell(row, index) !== '') ? [{ column, index }] : [],
  );
  const natural = columns.map(({ title }, index) =>
    Math.max(displayWidth(title), ...rows.map((row) => displayWidth(cell(row, index)))),
  );
  let widths: number[];
  for (;;) {
    widths = shown.map(({ index }) => natural[index] as number);
    const fitting = shown.map(({ column }) => column);
    if (shrink(fitting, widths, width - 1)) break;
    const next = Math.min(...fitting.map(({ drop = Infinity }) => drop));
    if (next === Infinity) break;
    shown = shown.filter(({ column }) => column.drop !== next);
  }
  const line = (cells: readonly string[], row: number) =>
    shown
      .map(({ column, index }, i) => {
        const text = shorten(cell(cells, index), widths[i] as number, column.cut);
        // The last column needs no trailing spaces.
        const last = i === shown.length - 1 && column.align !== 'right';
        const padded = last ? text : pad(text, widths[i] as number, column.align ?? 'left');
        return row < 0 ? padded : paint(padded, row, index);
      })
      .join(' '.repeat(GAP));
  return [line(head, -1), ...rows.map(line)].map((text) => text.trimEnd());
}

/** Narrows the columns that can be cut, the widest first; returns false if that is not enough. */
function shrink(columns: readonly Column[], widths: number[], room: number): boolean {
  let over = widths.reduce((sum, w) => sum + w, 0) + GAP * Math.max(0, widths.length - 1) - room;
  for (; over > 0; over--) {
    let widest: number | undefined;
    for (const [i, { cut, min = DEFAULT_MIN }] of columns.entries()) {
      const current = widths[i] as number;
      if (cut === undefined || current <= min) continue;
      if (widest === undefined || current > (widths[widest] as number)) widest = i;
    }
    if (widest === undefined) return false;
    widths[widest] = (widths[widest] as number) - 1;
  }
  return true;
}

function shorten(text: string, width: number, cut: Column['cut']): string {
  if (cut === undefined) return text;
  return cut === 'middle' ? cutMiddle(text, width) : cutEnd(text, width);
}
