/** Decides whether and when to restart a process that has ended unexpectedly. */

/** Age from which an end no longer counts. */
const WINDOW_MS = 120_000;
/**
 * Number of ends within the window after which the process is not restarted: further restarts would
 * not help.
 */
const MAX_ENDS = 5;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8000;

/** Times at which the process ended, Unix or other milliseconds, oldest first. */
export type Ends = readonly number[];

export type AfterEnd =
  | { readonly kind: 'restart'; readonly afterMs: number }
  | { readonly kind: 'give-up' };

/**
 * Decides about a process that has ended or could not be started. It is restarted at once the first
 * time, then after pauses that double, and not any more after five ends in two minutes.
 *
 * @param now on the same clock as the ends
 */
export function afterEnd(ends: Ends, now: number): { ends: Ends; next: AfterEnd } {
  const recent = [...ends.filter((at) => at > now - WINDOW_MS), now];
  if (recent.length >= MAX_ENDS) return { ends: recent, next: { kind: 'give-up' } };
  const pauses = recent.length - 2;
  const afterMs = pauses < 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** pauses, MAX_DELAY_MS);
  return { ends: recent, next: { kind: 'restart', afterMs } };
}
