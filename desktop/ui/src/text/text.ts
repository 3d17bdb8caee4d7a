/** The interface's words in one language: from the catalogues, with numbers and dates as usual there. */

import type { NoteCode, NoteValues } from '@millrace/shared/base/notes';
import { Catalogue, fill } from '@millrace/shared/text/catalogue';
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

/** Languages' own names. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' };

export const CATALOGUES: Readonly<Record<Language, Readonly<Record<Key, string>>>> = { en, de };

interface NoteWords {
  readonly note?: string | undefined;
  readonly values?: NoteValues | undefined;
  /** In English. */
  readonly text?: string | undefined;
}

export class Text extends Catalogue<typeof en> {
  constructor(language: Language, locale: string = language) {
    super(language, CATALOGUES[language], locale);
  }

  /** The words for an error; those of the daemon where the code is of another version. */
  error(error: Parameters<typeof errorWords>[1]): ErrorWords {
    return errorWords(this.language, error);
  }

  /** The words for a note; those of the daemon where it is of another version. */
  note({ note, values = {}, text = '' }: NoteWords): string {
    const words: string | undefined = CATALOGUES[this.language][`note.${note as NoteCode}`];
    if (words === undefined) return text;
    const { why, code } = values;
    if (code === undefined) return fill(words, values);
    return fill(words, { ...values, why: this.reason(String(code), String(why)) ?? '' });
  }

  /** Why a source is not in use: what is said of downloads does not always fit one source of many. */
  reason(code: string | undefined, message: string | undefined): string | undefined {
    if (code === 'different-file') return this.t('source.different');
    return code === undefined ? message : this.error({ code, message: message ?? code }).title;
  }
}
