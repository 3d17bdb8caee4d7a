/** The selected downloads, and the place of the keyboard. */

import { gidAt, gidsBetween, indexOf, type ListWindow } from './list-window.ts';

export interface Selection {
  readonly gids: ReadonlySet<string>;
  /** Where a range begins. */
  readonly anchor?: string | undefined;
  /** Where the keyboard is. */
  readonly focus?: string | undefined;
}

export const NO_SELECTION: Selection = { gids: new Set() };

export interface Modifiers {
  /** As far as here. */
  readonly shift: boolean;
  /** Add or take away. */
  readonly toggle: boolean;
}

/** A row has been chosen by pointer or keyboard. */
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
 * The keyboard goes some rows up or down; only the focus moves where `toggle` is set.
 *
 * @param by rows, also more than there are
 */
export function step(
  selection: Selection,
  list: ListWindow,
  by: number,
  modifiers: Modifiers,
): Selection {
  if (list.total === 0) return selection;
  const from = selection.focus === undefined ? -1 : indexOf(list, selection.focus);
  // From nowhere, the first step down is to the first row, the first one up to the last.
  const wanted = from < 0 ? (by > 0 ? by - 1 : list.total + by) : from + by;
  let to = Math.min(list.total - 1, Math.max(0, wanted));
  // Rows that are not loaded cannot be chosen: the nearest loaded one is.
  const towards = to >= from ? -1 : 1;
  while (gidAt(list, to) === undefined && to !== from && to >= 0 && to < list.total) to += towards;
  const gid = gidAt(list, to);
  if (gid === undefined) return selection;
  if (modifiers.toggle && !modifiers.shift) return { ...selection, focus: gid };
  return choose(selection, list, gid, { shift: modifiers.shift, toggle: false });
}

/** Without downloads that are in no list any more. */
export function without(selection: Selection, gone: readonly string[]): Selection {
  const { anchor, focus } = selection;
  const matters = (gid: string) => selection.gids.has(gid) || focus === gid || anchor === gid;
  if (!gone.some(matters)) return selection;
  const gids = new Set(selection.gids);
  for (const gid of gone) gids.delete(gid);
  const keep = (gid: string | undefined) =>
    gid !== undefined && gone.includes(gid) ? undefined : gid;
  return { gids, anchor: keep(selection.anchor), focus: keep(selection.focus) };
}

/** Reduced to downloads of a list, all of which is known. */
export function within(selection: Selection, gids: ReadonlySet<string>): Selection {
  const all = [...selection.gids, selection.anchor, selection.focus];
  const gone = all.filter((gid): gid is string => gid !== undefined && !gids.has(gid));
  return without(selection, gone);
}

/** Downloads that a command applies to: the selected ones, or the one with the focus. */
export function targets({ gids, focus }: Selection): string[] {
  if (gids.size > 0) return [...gids];
  return focus === undefined ? [] : [focus];
}
