/** The interface's words in one language: from the catalogues, with numbers and dates as usual there. */

import { Catalogue } from '@millrace/shared/text/catalogue';
import { errorWords } from '@millrace/shared/text/error-words';
import type { ErrorWords } from '@millrace/shared/text/errors-en';
import type { Language } from '@millrace/shared/text/language';
import { de } from './de.ts';
import { en, type Key } from './en.ts';

export { ERROR_WORDS } from '@millrace/shared/text/error-words';
export {
  chooseLanguage,
  LANGUAGES,
  type Language,
  localeFor,
} from '@millrace/shared/text/language';
export type { Key } from './en.ts';

/** What languages call themselves. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' };

export const CATALOGUES: Readonly<Record<Language, Readonly<Record<Key, string>>>> = { en, de };

export class Text extends Catalogue<typeof en> {
  constructor(language: Language, locale: string = language) {
    super(language, CATALOGUES[language], locale);
  }

  /** The words for an error; those of the daemon where the code is of another version. */
  error(error: Parameters<typeof errorWords>[1]): ErrorWords {
    return errorWords(this.language, error);
  }
}
