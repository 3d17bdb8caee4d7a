/** Tells what depots are needed beyond those that are named, so that an augmentation can be completed. */

import { Augmentation } from './augment.ts';
import type { Exnode } from './exnode.ts';
import type { Findings } from './findings.ts';

/** A number of depots, and the most bytes that one of them is to store. */
export interface DepotNeed {
  readonly depots: number;
  readonly bytes: number;
}

/**
 * Returns what an augmentation lacks. Depots that are new to the file can store any part of it.
 *
 * @param named addresses of the depots that may store replicas
 * @returns undefined: these are enough
 * @throws MillraceError as `Augmentation`
 */
export function needOf(
  exnode: Exnode,
  findings: Findings,
  copies: number,
  named: readonly string[],
): DepotNeed | undefined {
  const { shortage } = new Augmentation(exnode, findings, copies, named);
  if (shortage === undefined) return undefined;
  const { depots } = shortage;
  const news = Array.from({ length: depots }, (_, i) => `new ${i}`);
  const plan = new Augmentation(exnode, findings, copies, [...named, ...news]);
  plan.place();
  const bytes = new Map(news.map((depot) => [depot, 0]));
  for (const fill of plan.fills) {
    const before = bytes.get(fill.depot);
    if (before !== undefined) bytes.set(fill.depot, before + fill.bytes);
  }
  return { depots, bytes: Math.max(...bytes.values()) };
}
