/** Texts of the shell itself: menus, tray, notifications, questions. The page has its own. */

import { Catalogue, type Texts } from '@millrace/shared/text/catalogue';
import { LANGUAGES, type Language } from '@millrace/shared/text/language';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import type { Placeholders } from './placeholders.ts';

type Key = keyof typeof en;

/** English has every key; other languages may have further forms of plurals. */
export const CATALOGUES: Readonly<Record<Language, Texts<Key>>> = { en, de };

export class Words extends Catalogue<Key, Placeholders> {
  constructor(language: Language) {
    super(language, CATALOGUES[language], language);
  }

  /** Returns a notice: its title, and the text below it. */
  notice(key: 'engineRestarted' | 'inTray'): { readonly title: string; readonly body: string } {
    return { title: this.t(key), body: this.t(`${key}.text`) };
  }
}

const ENGLISH = new Words('en');
const WORDS: ReadonlyMap<string, Words> = new Map(
  LANGUAGES.map((language) => [language, language === 'en' ? ENGLISH : new Words(language)]),
);

/**
 * Returns the texts in a language: the same object each time, so that a change can be noticed.
 *
 * @param tags language tags such as `de-AT`, the best first; `system` and unknown ones are skipped
 */
export function wordsFor(tags: readonly string[]): Words {
  for (const tag of tags) {
    const words = WORDS.get(tag.toLowerCase().split(/[-_]/)[0] as string);
    if (words !== undefined) return words;
  }
  return ENGLISH;
}
