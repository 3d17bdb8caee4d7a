/** The texts of the extension's pages, in the language of the browser. */

import { Catalogue, type Texts } from '@millrace/shared/text/catalogue';
import { chooseLanguage, type Language, localeFor } from '@millrace/shared/text/language';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import type { Placeholders } from './placeholders.ts';

export type Key = keyof typeof en;

/** Texts by language. English has every key; other languages may have more plural forms. */
export const CATALOGUES: Readonly<Record<Language, Texts<Key>>> = { en, de };

export type Text = Catalogue<Key, Placeholders>;

/** Returns the texts for a reader. @param preferred the browser's languages, best first */
export function textFor(preferred: readonly string[]): Text {
  const language = chooseLanguage('system', preferred);
  return new Catalogue<Key, Placeholders>(
    language,
    CATALOGUES[language],
    localeFor(language, preferred),
  );
}
