/** Texts of the shell itself: menus, tray, notifications, questions. The page has its own. */

import { de } from './words-de.ts';
import { en, type Words } from './words-en.ts';

const CATALOGUES: Readonly<Record<string, Words>> = { en, de };

/**
 * Returns the texts in a language.
 *
 * @param tags language tags such as `de-AT`, the best first; `system` and unknown ones are skipped
 */
export function wordsFor(tags: readonly string[]): Words {
  for (const tag of tags) {
    const words = CATALOGUES[tag.toLowerCase().split(/[-_]/)[0] as string];
    if (words !== undefined) return words;
  }
  return en;
}
