/** The chosen columns, as the daemon keeps them. */

import { useMemo } from 'react';
import { type Column, columnsOf, GAP_PX, keep } from '../../model/columns/columns.ts';
import { useApp, useAppState } from '../common/context.tsx';

/** Returns all chosen columns, and a function that changes them; undefined: to the usual ones. */
export function useColumns(): {
  all: readonly Column[];
  change: (next: ((now: readonly Column[]) => readonly Column[]) | undefined) => void;
} {
  const app = useApp();
  const preferences = useAppState(({ settings }) => settings?.preferences);
  const all = useMemo(() => columnsOf(preferences), [preferences]);
  const change = (next: ((now: readonly Column[]) => readonly Column[]) | undefined) =>
    void app.changeSettings((now) => keep(next?.(columnsOf(now?.preferences))));
  return { all, change };
}

/**
 * Returns the width of all columns beside the name, pixels, with the gaps before them: a name ends
 * there, while the line below it goes on.
 */
export function figuresPx(columns: readonly Column[]): string {
  return `${columns.reduce((sum, { px }) => sum + px + GAP_PX, 0)}px`;
}

/** Returns the columns of the list's grid. @param actionsPx width of the actions; 0: none */
export function gridColumns(columns: readonly Column[], actionsPx: number): string {
  const sized = columns.map(({ px }) => `${px}px`).join(' ');
  return `28px minmax(0, 1fr) ${sized}${actionsPx > 0 ? ` ${actionsPx}px` : ''}`;
}
