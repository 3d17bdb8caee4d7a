/** The list of edges as lines of text. */

import type { EdgeRow, EdgeState } from '../../engine/edges/edge-table.ts';
import { printable } from '../text/printable.ts';
import { table } from '../text/table.ts';

const STATES: Readonly<Record<EdgeState, string>> = {
  ready: 'ready',
  unhealthy: 'gets no clients',
  silent: 'no answer',
};

const COLUMNS = [
  { title: 'EDGE', cut: 'middle', min: 20 },
  { title: 'NAME', cut: 'end', min: 8, drop: 2 },
  { title: 'ROUND TRIP', align: 'right' },
  { title: 'LOAD', align: 'right', drop: 1 },
  { title: 'ROOM', align: 'right' },
  { title: 'STATE' },
] as const;

/** Returns the table. @param width of the terminal, columns; undefined: no limit */
export function edgeTable(edges: readonly EdgeRow[], width: number | undefined): string[] {
  const rows = edges.map(({ url, name, rttMs, load, room, state }) => [
    printable(url),
    printable(name),
    rttMs === undefined ? '' : rttText(rttMs),
    load === undefined ? '' : String(load),
    room === undefined ? '' : `${Math.round(room * 100)}%`,
    STATES[state],
  ]);
  return table(COLUMNS, rows, width);
}

function rttText(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
