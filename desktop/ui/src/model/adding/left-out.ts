/** Links that answers of servers leave out: unchecked, until the user checks them. */

import type { ProbedLink } from '@millrace/shared/bridge/rpc/adding-api';

/**
 * Problems after which nothing can be fetched from a link as it is. The others may pass, or need a
 * log-in, so that the link stays checked.
 */
const MISSING: ReadonlySet<string> = new Set([
  'origin-not-found',
  'origin-gone',
  'origin-unknown',
  'origin-refused',
]);

/** The links of one text that answers have left out, and those that the user has decided on. */
export interface LeftOut {
  readonly byAnswers: ReadonlySet<string>;
  readonly byUser: ReadonlySet<string>;
}

export const NOTHING_LEFT_OUT: LeftOut = { byAnswers: new Set(), byUser: new Set() };

interface Change {
  readonly leftOut: LeftOut;
  /** URLs to uncheck. */
  readonly out: readonly string[];
  /** URLs to check again: another answer gives no reason against them any more. */
  readonly back: readonly string[];
}

/** Returns true for a link whose file is here already, or cannot be fetched. */
function isAgainst({ here, problem }: ProbedLink): boolean {
  return here !== undefined || (problem !== undefined && MISSING.has(problem));
}

/**
 * Returns what answers change about the links that are checked: nothing about those that the user has
 * checked or unchecked. A link without an answer stays as it is.
 *
 * @param answers by URL
 */
export function afterAnswers(leftOut: LeftOut, answers: ReadonlyMap<string, ProbedLink>): Change {
  const byAnswers = new Set(leftOut.byAnswers);
  const out: string[] = [];
  const back: string[] = [];
  for (const [url, answer] of answers) {
    if (leftOut.byUser.has(url)) continue;
    const wasOut = byAnswers.has(url);
    if (isAgainst(answer) && !wasOut) {
      byAnswers.add(url);
      out.push(url);
    } else if (wasOut && answer.problem === undefined && answer.here === undefined) {
      byAnswers.delete(url);
      back.push(url);
    }
  }
  return { leftOut: { ...leftOut, byAnswers }, out, back };
}

/**
 * Returns the unchecked links after the user has checked or unchecked some.
 *
 * @param left unchecked links of that moment, which answers may have changed since the click
 */
export function leftAfter(
  left: ReadonlySet<string>,
  keys: readonly string[],
  isChecked: boolean,
): ReadonlySet<string> {
  const next = new Set(left);
  for (const key of keys) {
    if (isChecked) next.delete(key);
    else next.add(key);
  }
  return next;
}

/** Takes links that the user has checked or unchecked: answers change nothing about them. */
export function afterChoice(leftOut: LeftOut, urls: readonly string[]): LeftOut {
  return { ...leftOut, byUser: new Set([...leftOut.byUser, ...urls]) };
}
