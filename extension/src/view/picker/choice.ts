/** The chosen links, and the position of the keyboard. A place is an index into the whole list. */

export interface Choice {
  readonly chosen: ReadonlySet<number>;
  /** Place of the keyboard's focus; undefined if there is none yet. */
  readonly focus: number | undefined;
  /** Place at which a range begins. */
  readonly anchor: number | undefined;
}

export const NOTHING: Choice = { chosen: new Set(), focus: undefined, anchor: undefined };

/** Chooses the link at a place, or drops it if it was chosen. */
export function toggled({ chosen }: Choice, place: number): Choice {
  const next = new Set(chosen);
  if (!next.delete(place)) next.add(place);
  return { chosen: next, focus: place, anchor: place };
}

/**
 * Makes all links from the anchor to a place chosen or not, like the link at the anchor.
 *
 * @param shown places that are listed now, in order: others stay as they are
 */
export function ranged(choice: Choice, shown: readonly number[], place: number): Choice {
  const from = choice.anchor === undefined ? -1 : shown.indexOf(choice.anchor);
  const to = shown.indexOf(place);
  if (from < 0 || to < 0 || choice.anchor === undefined) return toggled(choice, place);
  const wanted = choice.chosen.has(choice.anchor);
  const chosen = new Set(choice.chosen);
  for (const one of shown.slice(Math.min(from, to), Math.max(from, to) + 1)) {
    if (wanted) chosen.add(one);
    else chosen.delete(one);
  }
  return { chosen, focus: place, anchor: choice.anchor };
}

/** Moves the focus to another shown place. @param by rows to move, possibly more than there are */
export function moved(choice: Choice, shown: readonly number[], by: number): Choice {
  const from = choice.focus === undefined ? -1 : shown.indexOf(choice.focus);
  const to = from < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, from + by));
  const focus = shown[to];
  return focus === undefined ? choice : { ...choice, focus };
}

export function allOf(choice: Choice, shown: readonly number[]): Choice {
  return { ...choice, chosen: new Set([...choice.chosen, ...shown]) };
}

export function without(choice: Choice): Choice {
  return { ...choice, chosen: new Set() };
}
