/**
 * Fills in the texts of an interface in one language, with numbers as usual in that language. The
 * texts themselves are JSON files, one per language: translators need no other file.
 */

import { fill } from '../base/error-table/fill.ts';
import { LANGUAGE_FACTS, type Language } from './language.ts';

/** Texts by their key; placeholders stand between braces. */
export type Texts<Key extends string = string> = Readonly<Record<Key, string>>;

type Value = string | number;
/** Values for the placeholders of a text; `Names` has the placeholders of all texts with any. */
type Values<Names, Key> = Key extends keyof Names
  ? [values: Readonly<Record<Names[Key] & string, Value>>]
  : [];

/** Keys of texts that depend on a number: they have a form `.one` and a form `.other`. */
type PluralKey<Key> = BaseOf<Key, 'one'> & BaseOf<Key, 'other'>;
type BaseOf<Key, Form extends string> = Key extends `${infer Base}.${Form}` ? Base : never;
/** Values for a text that depends on a number, except the number itself. */
type PluralValues<Names, Key extends string> = `${Key}.other` extends keyof Names
  ? [Exclude<Names[`${Key}.other`], 'n'>] extends [never]
    ? []
    : [values: Readonly<Record<Exclude<Names[`${Key}.other`], 'n'> & string, Value>>]
  : [];

/**
 * The texts of one language.
 *
 * @typeParam Key keys of the texts
 * @typeParam Names placeholders of the texts that have any, by key
 */
export class Catalogue<Key extends string, Names> {
  readonly language: Language;
  /** Direction in which its lines are read. */
  readonly direction: 'ltr' | 'rtl';
  /** Locale for numbers and dates: the language as it is used in the reader's country. */
  readonly locale: string;
  readonly #texts: Texts;
  readonly #plurals: Intl.PluralRules;
  readonly #numbers = new Map<number, Intl.NumberFormat>();
  readonly #dates = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();
  #percent: Intl.NumberFormat | undefined;
  #relative: Intl.RelativeTimeFormat | undefined;

  constructor(language: Language, texts: Texts<Key>, locale: string) {
    this.language = language;
    this.direction = LANGUAGE_FACTS[language].direction;
    this.locale = locale;
    this.#texts = texts;
    this.#plurals = new Intl.PluralRules(locale);
  }

  /** Returns a text, filled in. */
  t<K extends Key>(key: K, ...[values]: Values<Names, K>): string {
    return fill(this.#texts[key] ?? key, values ?? {});
  }

  /** Returns a text in the plural form for a number, which replaces `{n}`. */
  n<K extends PluralKey<Key>>(key: K, n: number, ...[values]: PluralValues<Names, K>): string {
    const form = this.#texts[`${key}.${this.#plurals.select(n)}`] ?? this.#texts[`${key}.other`];
    return fill(form ?? key, { ...values, n: this.number(n) });
  }

  /** Writes a number. @param digits most digits after the decimal point */
  number(value: number, digits = 0): string {
    let format = this.#numbers.get(digits);
    if (format === undefined) {
      format = new Intl.NumberFormat(this.locale, { maximumFractionDigits: digits });
      this.#numbers.set(digits, format);
    }
    return format.format(value);
  }

  /** Writes a share as a percentage. @param share from 0 to 1 */
  percent(share: number): string {
    this.#percent ??= new Intl.NumberFormat(this.locale, { style: 'percent' });
    return this.#percent.format(share);
  }

  /**
   * Writes a date in a style. Keeps the formatters: making one costs more than drawing a row.
   *
   * @param at Unix milliseconds
   * @param style a constant: formatters are found by its identity
   */
  date(at: number, style: Readonly<Intl.DateTimeFormatOptions>): string {
    let format = this.#dates.get(style);
    if (format === undefined) {
      format = new Intl.DateTimeFormat(this.locale, style);
      this.#dates.set(style, format);
    }
    return format.format(at);
  }

  /** Writes an age in minutes in words. */
  minutesAgo(minutes: number): string {
    this.#relative ??= new Intl.RelativeTimeFormat(this.locale, { numeric: 'always' });
    return this.#relative.format(-minutes, 'minute');
  }
}
