/** Counts in words, as English has them. */

/**
 * Returns a count with its noun: `1 file`, `2 files`.
 *
 * @param noun singular
 * @param plural default: the singular with an s
 */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
