/** Makes text safe to show on a terminal. */

/**
 * Control characters, and characters that hide or change the direction of text: names come from
 * strangers.
 */
const UNSAFE = /[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Replaces characters that would move the cursor, colour the screen or disguise a name. */
export function printable(text: string): string {
  return text.replace(UNSAFE, '\u{fffd}');
}
