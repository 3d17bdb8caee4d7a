/** Uniform samples of lists, such as the nodes that heartbeats tell of. */

import type { Random } from '../../base/clock.ts';

/**
 * Draws a uniform sample without repeats, in random order if anything is left out.
 *
 * @param count most items to draw
 */
export function sample<T>(items: readonly T[], count: number, random: Random): readonly T[] {
  if (items.length <= count) return items;
  const drawn = [...items];
  for (let i = 0; i < count; i++) {
    const j = i + Math.floor(random() * (drawn.length - i));
    [drawn[i], drawn[j]] = [drawn[j] as T, drawn[i] as T];
  }
  return drawn.slice(0, count);
}
