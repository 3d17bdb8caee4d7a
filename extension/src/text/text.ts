/** The words of the extension's pages, in the language of the browser. */

import { Catalogue } from '@millrace/shared/text/catalogue';
import { chooseLanguage, type Language, localeFor } from '@millrace/shared/text/language';
import { de } from './de.ts';
import { en, type Key } from './en.ts';

export type { Key } from './en.ts';

export const CATALOGUES: Readonly<Record<Language, Readonly<Record<Key, string>>>> = { en, de };

export type Text = Catalogue<typeof en>;

/** @param preferred the browser's languages, best first */
export function textFor(preferred: readonly string[]): Text {
  const language = chooseLanguage('system', preferred);
  return new Catalogue<typeof en>(language, CATALOGUES[language], localeFor(language, preferred));
}
