/** The columns of the list: which are shown, how wide they are, and which fit. */

import type { SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';

/** Columns beside the name, in their order on the page. */
export const COLUMNS = ['size', 'progress', 'speed', 'eta', 'host', 'added', 'finished'] as const;
export type ColumnName = (typeof COLUMNS)[number];

export interface Column {
  readonly name: ColumnName;
  /** Pixels, from MIN_PX to MAX_PX. */
  readonly px: number;
}

export const MIN_PX = 48;
export const MAX_PX = 400;
/** Pixels by which one press of a key changes a width. */
export const STEP_PX = 8;
/** Width of the name, pixels, below which columns give way to it. */
const NAME_PX = 200;
/** Gap between columns, pixels, as the style sheet has it. */
export const GAP_PX = 12;

const USUAL_PX: Readonly<Record<ColumnName, number>> = {
  size: 72,
  progress: 84,
  speed: 88,
  eta: 64,
  host: 150,
  added: 130,
  finished: 130,
};
export const USUAL: readonly Column[] = (['size', 'progress', 'speed', 'eta'] as const).map(
  (name) => ({ name, px: USUAL_PX[name] }),
);

/** Columns from the one that is kept longest in a narrow list to the one that goes first. */
const WEIGHT: readonly ColumnName[] = [
  'progress',
  'speed',
  'eta',
  'size',
  'host',
  'added',
  'finished',
];

/** Name of the preference by which the daemon remembers the columns. */
const KEPT = 'list.columns';

/** Reads columns as they are kept: `size:76,speed:88`. What cannot be read is left out. */
export function columnsOf(
  preferences: Readonly<Record<string, unknown>> | undefined,
): readonly Column[] {
  const kept = preferences?.[KEPT];
  if (typeof kept !== 'string') return USUAL;
  const px = new Map(
    kept.split(',').map((part) => {
      const [name = '', width = ''] = part.split(':');
      return [name, Number(width)];
    }),
  );
  return COLUMNS.flatMap((name) => {
    const width = px.get(name);
    return width === undefined || !Number.isFinite(width) ? [] : [{ name, px: within(width) }];
  });
}

/** Returns the change of the settings that keeps columns; those of the start need no place. */
export function keep(columns: readonly Column[] | undefined): SettingsChange {
  const value = columns?.map(({ name, px }) => `${name}:${px}`).join(',') ?? null;
  return { preferences: { [KEPT]: value } };
}

/** Shows a column that is hidden, with its usual width, or hides one that is shown. */
export function toggled(columns: readonly Column[], name: ColumnName): readonly Column[] {
  const isShown = columns.some((one) => one.name === name);
  return COLUMNS.flatMap((one) => {
    if (one === name) return isShown ? [] : [{ name, px: USUAL_PX[name] }];
    return columns.find((column) => column.name === one) ?? [];
  });
}

/** Makes a column wider, within bounds. @param byPx pixels; below 0: narrower */
export function widened(
  columns: readonly Column[],
  name: ColumnName,
  byPx: number,
): readonly Column[] {
  return columns.map((one) => (one.name === name ? { name, px: within(one.px + byPx) } : one));
}

/** Changes the width of a column, within bounds. @param px pixels */
export function resized(
  columns: readonly Column[],
  name: ColumnName,
  px: number,
): readonly Column[] {
  return columns.map((one) => (one.name === name ? { name, px: within(px) } : one));
}

/**
 * Returns the columns that leave room for the name.
 *
 * @param px width of the list, pixels
 * @param besidesPx pixels that icons and actions take
 */
export function fitting(
  columns: readonly Column[],
  px: number,
  besidesPx: number,
): readonly Column[] {
  const left = [...columns];
  const taken = () => left.reduce((sum, one) => sum + one.px + GAP_PX, besidesPx + NAME_PX);
  for (const name of [...WEIGHT].reverse()) {
    if (taken() <= px) break;
    const at = left.findIndex((one) => one.name === name);
    if (at >= 0) left.splice(at, 1);
  }
  return left;
}

function within(px: number): number {
  return Math.round(Math.min(MAX_PX, Math.max(MIN_PX, px)));
}
