/**
 * The interface's words in one language, with numbers and dates as usual in the reader's country.
 */

import { fill } from '@millrace/shared/base/error-table/fill';
import type { TextFaultCode } from '@millrace/shared/base/error-table/text-faults';
import type { NoteCode, NoteValues } from '@millrace/shared/base/notes';
import type { TextFault } from '@millrace/shared/bridge/rpc/adding-api';
import { Catalogue, type Texts } from '@millrace/shared/text/catalogue';
import { detailWords } from '@millrace/shared/text/detail-words';
import { type ErrorWords, errorWords } from '@millrace/shared/text/error-words';
import { bytes } from '@millrace/shared/text/figures';
import { chooseLanguage, type Language, localeFor } from '@millrace/shared/text/language';
import { readableBytes, type SizeWriter } from '@millrace/shared/text/readable-bytes';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import type { Placeholders } from './placeholders.ts';

export { ERROR_WORDS } from '@millrace/shared/text/error-words';
export {
  chooseLanguage,
  LANGUAGE_FACTS,
  LANGUAGES,
  type Language,
  localeFor,
} from '@millrace/shared/text/language';

export type Key = keyof typeof en;

/** English has every key; other languages may have further forms of plurals. */
export const CATALOGUES: Readonly<Record<Language, Texts<Key>>> = { en, de };

interface NoteWords {
  readonly note?: string | undefined;
  readonly values?: NoteValues | undefined;
  /** The note in English. */
  readonly text?: string | undefined;
}

export class Text extends Catalogue<Key, Placeholders> {
  constructor(language: Language, locale: string = language) {
    super(language, CATALOGUES[language], locale);
  }

  /**
   * Returns the words for a reader.
   *
   * @param wanted a language's tag, or `system`: the first one of the reader's that there is
   * @param languages what the reader reads, as the browser tells it
   */
  static for(wanted: string, languages: readonly string[]): Text {
    const language = chooseLanguage(wanted, languages);
    return new Text(language, localeFor(language, languages));
  }

  /** Returns the words for an error; the daemon's own where another version's code is not known. */
  error(error: Parameters<typeof errorWords>[1]): ErrorWords {
    return errorWords(this.language, error);
  }

  /** Returns the detail of an error, with readable sizes; in quotes if nobody translates it. */
  detail(sent: Parameters<typeof detailWords>[1]): string {
    return detailWords(this.language, sent, this.#sizes());
  }

  /** Returns the title of an error with its detail, if it has one. */
  why(error: Parameters<typeof errorWords>[1] & Parameters<typeof detailWords>[1]): string {
    const { title } = this.error(error);
    const detail = this.detail(error);
    return detail === '' ? title : `${title}: ${detail}`;
  }

  #sizes(): SizeWriter {
    return {
      size: (value) => bytes(this, value),
      exact: (value) => this.t('size.exact', { bytes: this.number(value) }),
    };
  }

  /** Returns the words for a note; the daemon's own where another version's note is not known. */
  note({ note, values = {}, text = '' }: NoteWords): string {
    const words: string | undefined = CATALOGUES[this.language][`note.${note as NoteCode}`];
    if (words === undefined) return text;
    const { why, code, reason } = values;
    if (why !== undefined && reason !== undefined) {
      const particulars = { code: String(reason) };
      return fill(words, { ...values, why: this.detail({ detail: String(why), particulars }) });
    }
    if (why !== undefined && code === undefined) {
      return fill(words, { ...values, why: readableBytes(String(why), this.#sizes()) });
    }
    if (code === undefined) return fill(words, values);
    return fill(words, { ...values, why: this.reason(String(code), String(why)) ?? '' });
  }

  /** Returns why a part of a typed text is not taken; the daemon's words for another version's code. */
  fault({ fault, values, text }: TextFault): string {
    const words: string | undefined = CATALOGUES[this.language][`fault.${fault as TextFaultCode}`];
    return words === undefined ? text : fill(words, values);
  }

  /**
   * Returns the reason why a source is not used: the words for downloads do not always fit one
   * source of many.
   */
  reason(code: string | undefined, message: string | undefined): string | undefined {
    if (code === 'different-file') return this.t('source.different');
    if (code !== undefined) return this.error({ code, message: message ?? code }).title;
    return message === undefined ? undefined : readableBytes(message, this.#sizes());
  }
}
