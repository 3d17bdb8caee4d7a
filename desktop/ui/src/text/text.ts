/** The interface's words in one language: from the catalogues, with numbers and dates as usual there. */

import type { ErrorCode } from '@millrace/shared/base/errors';
import type { NoteCode, NoteValues } from '@millrace/shared/base/notes';
import { de } from './de.ts';
import { en, type Key } from './en.ts';
import { errorsDe } from './errors-de.ts';
import { type ErrorWords, errorsEn } from './errors-en.ts';

export type { Key } from './en.ts';

export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** What languages call themselves. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' };

export const CATALOGUES: Readonly<Record<Language, Readonly<Record<Key, string>>>> = { en, de };
export const ERROR_WORDS: Readonly<Record<Language, Readonly<Record<ErrorCode, ErrorWords>>>> = {
  en: errorsEn,
  de: errorsDe,
};

/** Names between braces in a text. */
type Names<S extends string> = S extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;
type Values<K extends Key> = [Names<(typeof en)[K]>] extends [never]
  ? []
  : [values: Readonly<Record<Names<(typeof en)[K]>, string | number>>];

/** Keys that come as `.one` and `.other`. */
export type PluralKey = BaseOf<Key, '.one'> & BaseOf<Key, '.other'>;
type BaseOf<K extends string, End extends string> = K extends `${infer Base}${End}` ? Base : never;

interface NoteWords {
  readonly note?: string | undefined;
  readonly values?: NoteValues | undefined;
  /** In English. */
  readonly text?: string | undefined;
}

export class Text {
  readonly language: Language;
  /** For numbers and dates: the language as it is used in the reader's country. */
  readonly locale: string;
  readonly #numbers = new Map<number, Intl.NumberFormat>();

  constructor(language: Language, locale: string = language) {
    this.language = language;
    this.locale = locale;
  }

  /** A text of the catalogue, filled in. */
  t<K extends Key>(key: K, ...[values]: Values<K>): string {
    return fill(CATALOGUES[this.language][key], values ?? {});
  }

  /** A text that depends on a number, `{n}` in it. */
  n(key: PluralKey, n: number, values: Readonly<Record<string, string | number>> = {}): string {
    const form = n === 1 ? 'one' : 'other';
    const text = CATALOGUES[this.language][`${key}.${form}` as Key];
    return fill(text, { ...values, n: this.number(n) });
  }

  /** The words for an error; those of the daemon where the code is of another version. */
  error(error: {
    readonly code: string;
    readonly message?: string;
    readonly advice?: string;
  }): ErrorWords {
    const known = ERROR_WORDS[this.language][error.code as ErrorCode] as
      | Partial<ErrorWords>
      | undefined;
    // What every object has by birth is no entry.
    if (known?.title !== undefined) return known as ErrorWords;
    return { title: error.message ?? error.code, help: error.advice ?? '' };
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

  /** @param digits after the decimal point, at most */
  number(value: number, digits = 0): string {
    let format = this.#numbers.get(digits);
    if (format === undefined) {
      format = new Intl.NumberFormat(this.locale, { maximumFractionDigits: digits });
      this.#numbers.set(digits, format);
    }
    return format.format(value);
  }
}

function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** The first of the browser's languages that is of a language, with its country. */
export function localeFor(language: Language, preferred: readonly string[]): string {
  return preferred.find((tag) => tag.toLowerCase().split('-')[0] === language) ?? language;
}

/**
 * @param wanted language tag, or `system`
 * @param preferred the browser's languages, best first
 */
export function chooseLanguage(wanted: string, preferred: readonly string[]): Language {
  for (const tag of wanted === 'system' ? preferred : [wanted]) {
    const base = tag.toLowerCase().split('-')[0];
    const found = LANGUAGES.find((language) => language === base);
    if (found !== undefined) return found;
  }
  return 'en';
}
