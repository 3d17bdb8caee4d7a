/** How long to wait before connecting again. */

const FIRST_MS = 250;
const MAX_MS = 8000;

/**
 * Returns the wait, ms: doubled with each attempt, and up to a quarter longer at random.
 *
 * @param attempt from 0
 */
export function retryDelay(attempt: number, random: () => number): number {
  const base = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
  return Math.round(base * (1 + random() / 4));
}
