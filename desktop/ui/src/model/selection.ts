/** The selected downloads, and the row with the keyboard's focus. */

import { EMPTY_WINDOW, gidAt, gidsBetween, indexOf, type ListWindow } from './list-window.ts';

export interface Selection {
  readonly gids: ReadonlySet<string>;
  /** Gid at which a range begins. */
  readonly anchor?: string | undefined;
  /** Gid of the row with the focus. */
  readonly focus?: string | undefined;
  /**
   * Place in the list of the row that had the focus before it went: the next row has taken it, and a
   * step begins there.
   */
  readonly place?: number | undefined;
}

export const NO_SELECTION: Selection = { gids: new Set() };

export interface Modifiers {
  /** Select the range up to this row. */
  readonly shift: boolean;
  /** Add the row, or take it away. */
  readonly toggle: boolean;
}

/** Returns the selection after a row has been chosen by pointer or keyboard. */
export function choose(
  selection: Selection,
  list: ListWindow,
  gid: string,
  { shift, toggle }: Modifiers,
): Selection {
  if (shift) {
    const from = indexOf(list, selection.anchor ?? selection.focus ?? gid);
    const range = gidsBetween(list, from < 0 ? indexOf(list, gid) : from, indexOf(list, gid));
    const kept = toggle ? selection.gids : [];
    return { gids: new Set([...kept, ...range]), anchor: selection.anchor ?? gid, focus: gid };
  }
  if (!toggle) return { gids: new Set([gid]), anchor: gid, focus: gid };
  const gids = new Set(selection.gids);
  if (!gids.delete(gid)) gids.add(gid);
  return { gids, anchor: gid, focus: gid };
}

/**
 * Returns the place that a step of the keyboard leads to, whether its row is loaded or not.
 *
 * @param by number of rows, down if positive; may be more than there are
 */
export function placeAfter({ focus, place }: Selection, list: ListWindow, by: number): number {
  const from = focus === undefined ? -1 : indexOf(list, focus);
  // Without a focus, a step down goes to the row at the place, a step up to the one above it.
  const start = place ?? (by > 0 ? 0 : list.total);
  const wanted = from >= 0 ? from + by : start + (by > 0 ? by - 1 : by);
  return Math.min(list.total - 1, Math.max(0, wanted));
}

/**
 * Returns the selection after the keyboard has gone some rows up or down; with `toggle`, only the
 * focus moves.
 *
 * @param by number of rows, down if positive; may be more than there are
 */
export function step(
  selection: Selection,
  list: ListWindow,
  by: number,
  modifiers: Modifiers,
): Selection {
  if (list.total === 0) return selection;
  const from = selection.focus === undefined ? -1 : indexOf(list, selection.focus);
  let to = placeAfter(selection, list, by);
  // Rows that are not loaded cannot be chosen: the nearest loaded row is.
  const towards = to >= from ? -1 : 1;
  while (gidAt(list, to) === undefined && to !== from && to >= 0 && to < list.total) to += towards;
  const gid = gidAt(list, to);
  if (gid === undefined) return selection;
  if (modifiers.toggle && !modifiers.shift) return { ...selection, focus: gid };
  return choose(selection, list, gid, { shift: modifiers.shift, toggle: false });
}

/**
 * Returns the selection without downloads that are in no list any more.
 *
 * @param list the list as it still has them: the place of the focused one is remembered
 */
export function without(
  selection: Selection,
  gone: readonly string[],
  list: ListWindow = EMPTY_WINDOW,
): Selection {
  const { anchor, focus } = selection;
  const matters = (gid: string) => selection.gids.has(gid) || focus === gid || anchor === gid;
  if (!gone.some(matters)) return selection;
  const gids = new Set(selection.gids);
  for (const gid of gone) gids.delete(gid);
  const keep = (gid: string | undefined) =>
    gid !== undefined && gone.includes(gid) ? undefined : gid;
  const kept = keep(focus);
  const place = kept === focus ? selection.place : placeWithout(list, focus ?? '', gone);
  return { gids, anchor: keep(anchor), focus: kept, ...(place === undefined ? {} : { place }) };
}

/** Returns the place of a download that goes, once the others before it have gone too. */
function placeWithout(list: ListWindow, gid: string, gone: readonly string[]): number | undefined {
  const at = indexOf(list, gid);
  if (at < 0) return undefined;
  const before = gone.filter((one) => {
    const other = indexOf(list, one);
    return other >= 0 && other < at;
  });
  return at - new Set(before).size;
}

/** Returns the selection reduced to the downloads of a list, all of which are known. */
export function within(selection: Selection, gids: ReadonlySet<string>): Selection {
  const all = [...selection.gids, selection.anchor, selection.focus];
  const gone = all.filter((gid): gid is string => gid !== undefined && !gids.has(gid));
  return without(selection, gone);
}

/** Returns the downloads that a command applies to: the selected ones, or the focused one. */
export function targets({ gids, focus }: Selection): string[] {
  if (gids.size > 0) return [...gids];
  return focus === undefined ? [] : [focus];
}
